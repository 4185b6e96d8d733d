#include "engine/coords/disjoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace refit {

namespace {

/// A box's local words: run k is {first + k * outer_step + j * inner_step}.
struct Footprint {
    std::uint64_t first;
    std::uint64_t outer_count;
    std::uint64_t outer_step;
    std::uint64_t inner_count;
    std::uint64_t inner_step;
    std::uint32_t tensor;

    Progression run(std::uint64_t k) const {
        return {first + k * outer_step, inner_count, inner_step};
    }
    std::uint64_t last() const { return run(outer_count - 1).last(); }
};

/// The wider stride outside; runs that continue each other become one.
Footprint footprint_of(const Box& box) {
    const std::uint64_t row_step = box.row_count > 1 ? box.local_row_stride : 1;
    const std::uint64_t col_step = box.col_count > 1 ? box.local_col_stride : 1;
    Footprint f{box.local_first, box.row_count, row_step, box.col_count, col_step, box.tensor};
    if (f.inner_step > f.outer_step) {
        std::swap(f.inner_step, f.outer_step);
        std::swap(f.inner_count, f.outer_count);
    }
    if (f.inner_count == 1) f.inner_step = f.outer_step;
    if (f.outer_count == 1 || f.inner_count * f.inner_step == f.outer_step) {
        f.inner_count *= f.outer_count;
        f.outer_count = 1;
    }
    return f;
}

/// A local word that the box fills twice.
std::optional<std::uint64_t> own_collision(const Footprint& f) {
    if (f.outer_count == 1) return std::nullopt;
    // Runs d apart meet where d * outer_step is a multiple of inner_step within a run's length.
    const std::uint64_t apart = f.inner_step / std::gcd(f.inner_step, f.outer_step);
    if (apart >= f.outer_count || apart * f.outer_step > (f.inner_count - 1) * f.inner_step)
        return std::nullopt;
    return f.first + apart * f.outer_step;
}

class Collision {
public:
    /// A local word of both. When they interleave too much, nothing, and exhausted() is true.
    std::optional<std::uint64_t> find(const Footprint& a, const Footprint& b) {
        if (a.outer_count > b.outer_count) return find(b, a);
        pairs_ = 0;
        if (a.outer_step == b.outer_step) {
            // Runs i and k meet exactly when runs i - k and 0 do.
            if (const auto word = meet(a.run(0), b)) return word;
            return meet(b.run(0), a);
        }
        for (std::uint64_t i = 0; i < a.outer_count && !exhausted(); ++i) {
            if (const auto word = meet(a.run(i), b)) return word;
            ++pairs_;  // a run that meets nobody is work too
        }
        return std::nullopt;
    }

    bool exhausted() const { return pairs_ > kRunPairsMax; }

private:
    /// Compares one run with those runs of `f` whose hulls it touches.
    std::optional<std::uint64_t> meet(const Progression& run, const Footprint& f) {
        const std::uint64_t first_end = f.run(0).last();
        if (run.last() < f.first) return std::nullopt;
        std::uint64_t k = 0;
        if (run.first > first_end) k = (run.first - first_end - 1) / f.outer_step + 1;
        const std::uint64_t end =
            std::min(f.outer_count, (run.last() - f.first) / f.outer_step + 1);
        for (; k < end && !exhausted(); ++k, ++pairs_)
            if (const auto common = intersect(run, f.run(k))) return common->first;
        return std::nullopt;
    }

    std::uint64_t pairs_ = 0;
};

Error shared_word(const Catalog& catalog,
                  std::uint32_t rank,
                  std::uint64_t word,
                  std::pair<std::uint32_t, std::uint32_t> tensors) {
    return {ErrorCode::invalid_input,
            fmt::format("rank {}: local word {} belongs both to tensor {} and to tensor {}", rank,
                        word, quoted_name(catalog.tensor(tensors.first).name),
                        quoted_name(catalog.tensor(tensors.second).name))};
}

}  // namespace

Status prove_disjoint(const Catalog& catalog, const RankMap& map, std::uint32_t rank) {
    std::vector<Footprint> footprints;
    footprints.reserve(map.boxes.size());
    for (const Box& box : map.boxes) footprints.push_back(footprint_of(box));
    std::ranges::sort(footprints, {}, &Footprint::first);

    Collision collision;
    std::vector<Footprint> open;  // may still reach into what follows
    for (const Footprint& f : footprints) {
        if (const auto word = own_collision(f))
            return shared_word(catalog, rank, *word, {f.tensor, f.tensor});
        std::erase_if(open, [&](const Footprint& o) { return o.last() < f.first; });
        for (const Footprint& o : open) {
            if (const auto word = collision.find(o, f))
                return shared_word(catalog, rank, *word, {o.tensor, f.tensor});
            if (collision.exhausted()) {
                return Error{
                    ErrorCode::unsupported,
                    fmt::format("rank {}: the boxes of tensors {} and {} interleave in too "
                                "many runs to prove",
                                rank, quoted_name(catalog.tensor(o.tensor).name),
                                quoted_name(catalog.tensor(f.tensor).name))};
            }
        }
        open.push_back(f);
    }
    return Done{};
}

}  // namespace refit
