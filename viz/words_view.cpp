#include "viz/words_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/changes.hpp"

namespace refit {

namespace {

constexpr std::uint64_t kBefore = 3;  // words shown before the first changed one

/// Of the piece's words, where the rows begin.
std::uint64_t first_row(const TileWords& tile, std::size_t rows) {
    std::uint64_t first = 0;
    while (first < tile.piece.words &&
           tile.base[tile.piece.tile_first + first] == tile.next[tile.piece.tile_first + first])
        ++first;
    if (first == tile.piece.words) return 0;
    const std::uint64_t latest = tile.piece.words - std::min<std::uint64_t>(rows, tile.piece.words);
    return std::min(latest, first - std::min(first, kBefore));
}

double half_value(std::uint16_t bits) {
    const int exponent = bits >> 10 & 0x1F;
    const int mantissa = bits & 0x3FF;
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 0x1F) return mantissa == 0 ? sign * INFINITY : NAN;
    if (exponent == 0) return sign * std::ldexp(mantissa, -24);
    return sign * std::ldexp(mantissa + 0x400, exponent - 25);
}

}  // namespace

WordsView view_words(const TileWords& tile, std::size_t rows) {
    WordsView view;
    view.words = tile.base.size();
    view.segments.assign((view.words + kSegmentWords - 1) / kSegmentWords, 0);
    for (std::size_t i = 0; i < tile.base.size(); ++i) {
        if ((tile.base[i] ^ tile.mask[i]) != tile.next[i]) ++view.mismatches;
        if (tile.base[i] == tile.next[i]) continue;
        ++view.changed;
        view.segments[i / kSegmentWords] += 1;
    }
    for (std::size_t s = 0; s < view.segments.size(); ++s)
        view.segments[s] /= static_cast<double>(
            std::min<std::uint64_t>(kSegmentWords, view.words - s * kSegmentWords));
    const std::uint64_t first = first_row(tile, rows);
    view.segment = (tile.piece.tile_first + first) / kSegmentWords;
    for (std::uint64_t i = first; i < tile.piece.words && view.rows.size() < rows; ++i) {
        const std::uint64_t at = tile.piece.tile_first + i;
        view.rows.push_back(
            {tile.piece.tensor_first + i, tile.base[at], tile.mask[at], tile.next[at]});
    }
    return view;
}

std::string word_text(WordType type, std::uint16_t bits) {
    const double value = type == WordType::f16
                             ? half_value(bits)
                             : double{std::bit_cast<float>(std::uint32_t{bits} << 16)};
    return fmt::format("{:.4g}", value);
}

}  // namespace refit
