// At most 255 colours for a film, chosen from some of its frames.
//
// Exact     all colours of the samples when they are few enough. Else the most frequent stay as
//           they are (flat areas: backgrounds, bars, lines), and the rest (edges of letters) is
//           gathered into boxes, cut at their means.
// Same      the same samples in any order give the same palette; no dither.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "viz/image.hpp"

namespace refit {

inline constexpr std::size_t kFilmColors = 255;

using Rgb24 = std::uint32_t;  // 0xRRGGBB

/// How often each colour occurs.
class ColorCounts {
public:
    void add(const Image& image);
    const std::unordered_map<Rgb24, std::uint64_t>& counts() const { return counts_; }

private:
    std::unordered_map<Rgb24, std::uint64_t> counts_;
};

class FilmPalette {
public:
    /// `counts` of at least one pixel.
    explicit FilmPalette(const ColorCounts& counts);

    const std::vector<Rgb24>& colors() const { return colors_; }
    /// Index of the nearest colour, of each pixel.
    std::vector<std::uint8_t> indexed(const Image& image);

private:
    std::uint8_t nearest(Rgb24 color) const;

    std::vector<Rgb24> colors_;
    std::unordered_map<Rgb24, std::uint8_t> known_;  // found before
};

}  // namespace refit
