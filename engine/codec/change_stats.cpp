#include "engine/codec/change_stats.hpp"

#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

#include "engine/codec/xc_tables.hpp"
#include "engine/coords/tensor_layer.hpp"

namespace refit {

namespace {

/// -n log2(n / total), the share of one outcome in a plug-in entropy.
double entropy_term(std::uint64_t n, std::uint64_t total) {
    if (n == 0 || n == total) return 0;
    return -static_cast<double>(n) * std::log2(static_cast<double>(n) / static_cast<double>(total));
}

}  // namespace

void ChangeCounter::add(WordType type,
                        std::span<const std::uint16_t> base,
                        std::span<const std::uint16_t> next) {
    const XcContext context{xc_mantissa_bits(type), 0};
    for (std::size_t i = 0; i < base.size(); ++i) {
        const std::size_t exponent = context.exponent(base[i]);
        ++words_[exponent];
        if (base[i] == next[i]) continue;
        ++changed_[exponent];
        const std::uint16_t size = xc_step_size(xc_step(base[i], next[i]));
        ++magnitude_[exponent][static_cast<std::size_t>(std::bit_width(size)) - 1];
    }
}

std::uint64_t ChangeCounter::words() const {
    return std::accumulate(words_.begin(), words_.end(), std::uint64_t{0});
}

std::uint64_t ChangeCounter::changed() const {
    return std::accumulate(changed_.begin(), changed_.end(), std::uint64_t{0});
}

double ChangeCounter::bound_bits() const {
    double bits = 0;
    for (std::size_t e = 0; e < kExponents; ++e) {
        const std::uint64_t changed = changed_[e];
        bits += entropy_term(changed, words_[e]) + entropy_term(words_[e] - changed, words_[e]);
        for (std::size_t c = 0; c < kClasses; ++c) {
            const std::uint64_t n = magnitude_[e][c];
            bits += entropy_term(n, changed) + static_cast<double>(n) * static_cast<double>(c + 1);
        }
    }
    return bits;
}

LayerKind layer_kind(std::string_view tensor_name) {
    return {tensor_layer(tensor_name), tensor_kind(tensor_name)};
}

ChangeStats measure_change(Device& device,
                           const Catalog& catalog,
                           const Grid& grid,
                           const Weights& base,
                           const Weights& next) {
    std::vector<std::vector<const Piece*>> pieces(catalog.tensors().size());
    for (const Tile& tile : grid.tiles())
        for (const Piece& piece : tile.pieces) pieces[piece.tensor].push_back(&piece);

    std::vector<ChangeCounter> lanes(device.lanes());
    std::vector<double> bits(catalog.tensors().size());
    std::vector<std::uint64_t> changed(catalog.tensors().size());
    device.for_each(catalog.tensors().size(), [&](std::uint64_t t, unsigned lane) {
        ChangeCounter& counts = lanes[lane] = ChangeCounter{};
        const WordType type = catalog.tensor(static_cast<std::uint32_t>(t)).type;
        std::vector<std::uint16_t> from;
        std::vector<std::uint16_t> to;
        for (const Piece* piece : pieces[t]) {
            from.resize(piece->words);
            to.resize(piece->words);
            base.read(piece->tensor, piece->tensor_first, from);
            next.read(piece->tensor, piece->tensor_first, to);
            counts.add(type, from, to);
        }
        bits[t] = counts.bound_bits();
        changed[t] = counts.changed();
    });

    ChangeStats stats;
    for (std::size_t t = 0; t < catalog.tensors().size(); ++t) {
        const Tensor& tensor = catalog.tensors()[t];
        const LayerKind place = layer_kind(tensor.name);
        for (KindChange* const sum : {&stats.kinds[place.kind], &stats.layers[place]}) {
            sum->words += tensor.words;
            sum->changed += changed[t];
        }
        stats.words += tensor.words;
        stats.changed += changed[t];
        stats.bound_bits += bits[t];
    }
    return stats;
}

}  // namespace refit
