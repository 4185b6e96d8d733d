#include "workloads/compute_load.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/base/rng.hpp"

namespace refit {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t kPassesPerStep = 3;
constexpr std::uint64_t kLeftWords = std::uint64_t{16} << 20;
constexpr std::uint64_t kRightWords = std::uint64_t{32} << 20;
constexpr std::uint64_t kOutputNumbers = std::uint64_t{16} << 20;
constexpr std::uint64_t kCutUnit = 64;  // of the output's dimension that is not tokens

std::uint64_t divided_up(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

/// The share of the widest rank, as workloads/layouts.cpp cuts tp.
void cut_tensor_parallel(GemmShape& shape, std::uint64_t ranks) {
    constexpr std::array<std::string_view, 6> kByRows = {"q_proj",    "k_proj",  "v_proj",
                                                         "gate_proj", "up_proj", "lm_head"};
    constexpr std::array<std::string_view, 2> kByColumns = {"o_proj", "down_proj"};
    const std::string_view name = shape.name;
    const std::string_view kind = name.substr(name.rfind('.') + 1);
    if (std::ranges::find(kByRows, kind) != kByRows.end())
        shape.rows = divided_up(shape.rows, ranks);
    if (std::ranges::find(kByColumns, kind) != kByColumns.end())
        shape.columns = divided_up(shape.columns, ranks);
}

GemmSize size_of(const GemmShape& shape, ProductKind kind, std::uint64_t tokens) {
    switch (kind) {
        case ProductKind::forward:
            return {tokens, shape.rows, shape.columns};
        case ProductKind::input_gradient:
            return {tokens, shape.columns, shape.rows};
        case ProductKind::weight_gradient:
            break;
    }
    return {shape.rows, shape.columns, tokens};
}

/// So many products, of so many tokens each.
struct TokenGroup {
    std::uint64_t products;
    std::uint64_t tokens;
};

/// All tokens pass a weight of their layer together; experts have their visits dealt out evenly.
std::array<TokenGroup, 2> token_groups(const GemmShape& shape,
                                       const Architecture& architecture,
                                       const RankShare& share,
                                       std::uint64_t tokens) {
    if (!shape.name.starts_with("mlp.experts.")) return {TokenGroup{1, tokens}, TokenGroup{0, 0}};
    const std::uint64_t held = divided_up(architecture.experts->count, share.experts);
    const std::uint64_t visits = tokens * shape.count;
    const std::uint64_t more = visits % held;
    return {TokenGroup{more, visits / held + 1}, TokenGroup{held - more, visits / held}};
}

class ProductList {
public:
    void add(const std::string& name, ProductKind kind, const GemmSize& size, std::uint64_t count) {
        const auto same = std::ranges::find_if(products_, [&](const StepProduct& product) {
            return product.kind == kind && product.size == size;
        });
        if (same == products_.end()) {
            products_.push_back({name, kind, size, count});
        } else {
            same->count += count;
        }
    }
    std::vector<StepProduct> take() && { return std::move(products_); }

private:
    std::vector<StepProduct> products_;
};

std::vector<StepProduct> products_of(const Architecture& architecture,
                                     const RankShare& share,
                                     std::uint64_t tokens,
                                     std::initializer_list<ProductKind> kinds) {
    REFIT_ASSERT(tokens > 0 && share.tensor > 0 && share.experts > 0);
    ProductList list;
    for (const ProductKind kind : kinds) {
        for (GemmShape shape : gemm_shapes(architecture)) {
            cut_tensor_parallel(shape, share.tensor);
            for (const TokenGroup& group : token_groups(shape, architecture, share, tokens)) {
                if (group.products == 0 || group.tokens == 0) continue;
                list.add(shape.name, kind, size_of(shape, kind, group.tokens),
                         group.products * shape.layers);
            }
        }
    }
    return std::move(list).take();
}

/// Words of numbers between 2^-7 and 2^-5 in size, of both signs: sums stay far from overflow.
void fill_words(std::vector<std::uint16_t>& words, std::uint64_t stream) {
    constexpr std::uint64_t kSignAndFraction = 0x80FF'80FF'80FF'80FFu;
    constexpr std::uint64_t kExponents = 0x3C00'3C00'3C00'3C00u;
    for (std::size_t i = 0; i < words.size(); i += 4) {
        const std::uint64_t bits = (draw(1, stream, i) & kSignAndFraction) | kExponents;
        for (std::size_t j = i; j < std::min(i + 4, words.size()); ++j)
            words[j] = static_cast<std::uint16_t>(bits >> (j - i) * 16);
    }
}

}  // namespace

std::string_view to_text(ProductKind kind) {
    switch (kind) {
        case ProductKind::forward:
            return "forward";
        case ProductKind::input_gradient:
            return "input-gradient";
        case ProductKind::weight_gradient:
            break;
    }
    return "weight-gradient";
}

RankShare share_of_layout(std::string_view layout) {
    constexpr std::string_view kTensorParallel = "tp:tp";
    RankShare share;
    if (!layout.starts_with(kTensorParallel)) return share;
    layout.remove_prefix(kTensorParallel.size());
    std::from_chars(layout.data(), layout.data() + layout.size(), share.tensor);
    REFIT_ASSERT(share.tensor > 0);
    return share;
}

std::vector<StepProduct> training_products(const Architecture& architecture,
                                           const RankShare& share,
                                           std::uint64_t tokens) {
    return products_of(
        architecture, share, tokens,
        {ProductKind::forward, ProductKind::input_gradient, ProductKind::weight_gradient});
}

std::vector<StepProduct> generation_products(const Architecture& architecture,
                                             const RankShare& share,
                                             std::uint64_t tokens) {
    return products_of(architecture, share, tokens, {ProductKind::forward});
}

std::uint64_t forward_flop(const Architecture& architecture) {
    std::uint64_t weights = 0;
    for (const GemmShape& shape : gemm_shapes(architecture))
        weights += shape.rows * shape.columns * shape.count * shape.layers;
    return 2 * weights;
}

std::uint64_t training_flop(const Architecture& architecture) {
    return kPassesPerStep * forward_flop(architecture);
}

Result<Nanoseconds> compute_time(std::uint64_t flop, std::uint64_t tokens, FlopPerSecond rate) {
    REFIT_ASSERT(rate.count > 0 && flop < std::uint64_t{1} << 54);
    const Wide all = Wide{flop} * tokens;  // below 2^118
    const Wide whole = all / rate.count;
    constexpr Wide kLimit{std::numeric_limits<std::int64_t>::max()};
    constexpr Wide kNano{1'000'000'000};
    if (whole >= kLimit / kNano)
        return Error{ErrorCode::invalid_input, "so many tokens at this rate take centuries"};
    const Wide time = whole * kNano + (all % rate.count * kNano + rate.count - 1) / rate.count;
    return Nanoseconds{static_cast<std::int64_t>(time)};
}

double LoadRun::flop_per_second() const {
    return wall.count > 0 ? static_cast<double>(flop) / to_seconds(wall) : 0;
}

GemmSize LoadBuffers::fitting(GemmSize size) {
    size.k = std::min<std::size_t>(size.k, kLeftWords);
    size.n = std::min<std::size_t>({size.n, kRightWords / size.k, kOutputNumbers});
    size.m = std::min<std::size_t>({size.m, kLeftWords / size.k, kOutputNumbers / size.n});
    return size;
}

void LoadBuffers::reserve(const GemmSize& size) {
    REFIT_ASSERT(fitting(size) == size);
    const auto grow = [](std::vector<std::uint16_t>& words, std::size_t count, auto stream) {
        if (words.size() >= count) return;
        words.resize(count);
        fill_words(words, stream);
    };
    grow(a_, size.m * size.k, 0u);
    grow(b_, size.k * size.n, 1u);
    if (c_.size() < size.m * size.n) c_.resize(size.m * size.n);
}

void LoadBuffers::multiply(Gemm& gemm, const GemmSize& size) {
    gemm.multiply(size, std::span(a_).first(size.m * size.k), std::span(b_).first(size.k * size.n),
                  std::span(c_).first(size.m * size.n));
}

LoadCheck LoadBuffers::check(const GemmSize& size, std::uint64_t words) const {
    const auto value = [](std::uint16_t word) {
        return static_cast<double>(std::bit_cast<float>(std::uint32_t{word} << 16));
    };
    constexpr double kError = 0x1p-23;
    LoadCheck check;
    Rng rng(1, size.k);
    for (; check.checked < words; ++check.checked) {
        // The first four are the corners.
        const bool corner = check.checked < 4;
        const std::size_t i = corner ? (check.checked & 1) * (size.m - 1) : rng.below(size.m);
        const std::size_t j = corner ? (check.checked >> 1) * (size.n - 1) : rng.below(size.n);
        double sum = 0;
        double magnitude = 0;
        for (std::size_t p = 0; p < size.k; ++p) {
            const double term = value(a_[i * size.k + p]) * value(b_[p * size.n + j]);
            sum += term;
            magnitude += std::abs(term);
        }
        const double off = std::abs(static_cast<double>(c_[i * size.n + j]) - sum);
        if (!(off <= kError * static_cast<double>(size.k) * magnitude)) ++check.wrong;
    }
    return check;
}

Bytes LoadBuffers::bytes() const {
    return Bytes{(a_.size() + b_.size()) * sizeof(std::uint16_t) + c_.size() * sizeof(float)};
}

ComputeLoad::ComputeLoad(Gemm& gemm, const std::vector<StepProduct>& products, MonotonicClock clock)
    : gemm_(gemm), products_(products), clock_(std::move(clock)) {
    REFIT_ASSERT(!products_.empty());
}

GemmSize ComputeLoad::piece(const StepProduct& product) const {
    GemmSize size = product.size;
    const bool by_weight = product.kind == ProductKind::weight_gradient;
    std::size_t& tokens = by_weight ? size.k : size.m;
    std::size_t& other = by_weight ? size.m : size.n;
    tokens = std::min<std::size_t>(tokens, cut_.tokens);
    const double part = std::ceil(cut_.share * static_cast<double>(other) / kCutUnit);
    const auto units = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(part));
    other = std::min<std::size_t>(other, units * kCutUnit);
    return LoadBuffers::fitting(size);
}

std::vector<GemmSize> ComputeLoad::pieces() const {
    std::vector<GemmSize> sizes;
    for (const StepProduct& product : products_) {
        const GemmSize size = piece(product);
        if (std::ranges::find(sizes, size) == sizes.end()) sizes.push_back(size);
    }
    return sizes;
}

std::uint64_t ComputeLoad::pieces_flop() const {
    std::uint64_t flop = 0;
    for (const GemmSize& size : pieces()) flop += size.flop();
    return flop;
}

std::uint64_t ComputeLoad::tokens_max() const {
    std::uint64_t most = kLoadTokensMin;
    for (const StepProduct& product : products_) {
        const bool by_weight = product.kind == ProductKind::weight_gradient;
        most = std::max<std::uint64_t>(most, by_weight ? product.size.k : product.size.m);
    }
    return most;
}

/// The most repeats, tokens, or share that stay below `flop`; the least there is if none do.
void ComputeLoad::cut_to(double flop) {
    const auto fits = [&] { return static_cast<double>(pieces_flop()) <= flop; };
    cut_ = {tokens_max(), 1, 1};
    if (fits()) {
        cut_.repeats = static_cast<std::uint64_t>(flop / static_cast<double>(pieces_flop()));
        return;
    }
    cut_.tokens = kLoadTokensMin;
    if (fits()) {
        std::uint64_t least = kLoadTokensMin;
        std::uint64_t most = tokens_max();
        while (least < most) {
            cut_.tokens = least + (most - least + 1) / 2;
            fits() ? least = cut_.tokens : most = cut_.tokens - 1;
        }
        cut_.tokens = least;
        return;
    }
    double least = 0;
    double most = 1;
    for (int halving = 0; halving < 24; ++halving) {
        cut_.share = (least + most) / 2;
        (fits() ? least : most) = cut_.share;
    }
    cut_.share = least;
}

void ComputeLoad::fit(Nanoseconds about) {
    // The first pass also brings memory and code in, and says little: a second one says more.
    for (int attempt = 0; attempt < 2; ++attempt) {
        const double rate = pass().flop_per_second();
        cut_to(std::max(rate, 1.0) * to_seconds(about));
    }
}

LoadRun ComputeLoad::pass() {
    const std::vector<GemmSize> sizes = pieces();
    for (const GemmSize& size : sizes) buffers_.reserve(size);
    LoadRun run;
    const Nanoseconds start = clock_();
    for (std::uint64_t repeat = 0; repeat < cut_.repeats; ++repeat) {
        for (const GemmSize& size : sizes) {
            buffers_.multiply(gemm_, size);
            run.flop += size.flop();
            ++run.products;
        }
    }
    run.wall = clock_() - start;
    return run;
}

LoadCheck ComputeLoad::check(std::uint64_t words) {
    LoadCheck all;
    for (const GemmSize& size : pieces()) {
        buffers_.reserve(size);
        buffers_.multiply(gemm_, size);
        const LoadCheck one = buffers_.check(size, words);
        all.checked += one.checked;
        all.wrong += one.wrong;
    }
    return all;
}

LoadRun ComputeLoad::run_for(Nanoseconds about) {
    fit(about);
    return pass();
}

}  // namespace refit
