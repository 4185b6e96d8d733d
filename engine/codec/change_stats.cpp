#include "engine/codec/change_stats.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "engine/codec/xc_tables.hpp"

namespace refit {

namespace {

constexpr std::size_t kExponents = 256;
constexpr std::size_t kClasses = 16;

/// Counts of one tensor: everything the bound needs.
struct Counts {
    std::array<std::uint64_t, kExponents> words{};
    std::array<std::uint64_t, kExponents> changed{};
    std::array<std::array<std::uint64_t, kClasses>, kExponents> magnitude{};
};

void count(std::uint16_t base, std::uint16_t next, XcContext context, Counts& counts) {
    const std::size_t exponent = context.exponent(base);
    ++counts.words[exponent];
    if (base == next) return;
    ++counts.changed[exponent];
    const std::uint16_t size = xc_step_size(xc_step(base, next));
    ++counts.magnitude[exponent][static_cast<std::size_t>(std::bit_width(size)) - 1];
}

/// -n log2(n / total), the share of one outcome in a plug-in entropy.
double entropy_term(std::uint64_t n, std::uint64_t total) {
    if (n == 0 || n == total) return 0;
    return -static_cast<double>(n) * std::log2(static_cast<double>(n) / static_cast<double>(total));
}

double bound_bits(const Counts& counts) {
    double bits = 0;
    for (std::size_t e = 0; e < kExponents; ++e) {
        const std::uint64_t changed = counts.changed[e];
        bits += entropy_term(changed, counts.words[e]) +
                entropy_term(counts.words[e] - changed, counts.words[e]);
        for (std::size_t c = 0; c < kClasses; ++c) {
            const std::uint64_t n = counts.magnitude[e][c];
            bits += entropy_term(n, changed) + static_cast<double>(n) * static_cast<double>(c + 1);
        }
    }
    return bits;
}

}  // namespace

ChangeStats measure_change(Device& device,
                           const Catalog& catalog,
                           const Grid& grid,
                           const Weights& base,
                           const Weights& next) {
    std::vector<std::vector<const Piece*>> pieces(catalog.tensors().size());
    for (const Tile& tile : grid.tiles())
        for (const Piece& piece : tile.pieces) pieces[piece.tensor].push_back(&piece);

    std::vector<Counts> lanes(device.lanes());
    std::vector<double> bits(catalog.tensors().size());
    std::vector<std::uint64_t> changed(catalog.tensors().size());
    device.for_each(catalog.tensors().size(), [&](std::uint64_t t, unsigned lane) {
        Counts& counts = lanes[lane] = Counts{};
        const XcContext context{
            xc_mantissa_bits(catalog.tensor(static_cast<std::uint32_t>(t)).type), 0};
        std::vector<std::uint16_t> from;
        std::vector<std::uint16_t> to;
        for (const Piece* piece : pieces[t]) {
            from.resize(piece->words);
            to.resize(piece->words);
            base.read(piece->tensor, piece->tensor_first, from);
            next.read(piece->tensor, piece->tensor_first, to);
            for (std::size_t i = 0; i < from.size(); ++i) count(from[i], to[i], context, counts);
        }
        bits[t] = bound_bits(counts);
        for (const std::uint64_t n : counts.changed) changed[t] += n;
    });

    ChangeStats stats;
    for (std::size_t t = 0; t < catalog.tensors().size(); ++t) {
        const Tensor& tensor = catalog.tensors()[t];
        KindChange& kind = stats.kinds[tensor_kind(tensor.name)];
        kind.words += tensor.words;
        kind.changed += changed[t];
        stats.words += tensor.words;
        stats.changed += changed[t];
        stats.bound_bits += bits[t];
    }
    return stats;
}

}  // namespace refit
