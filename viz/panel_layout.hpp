// Which panels a page has, and where they stand: a pure function of the picture's size. Made for
// 1600 x 900; other sizes keep the proportions.
#pragma once

#include <array>

#include "viz/image.hpp"

namespace refit {

/// Pixels, from the upper left corner.
struct Rect {
    float x0 = 0;
    float y0 = 0;
    float x1 = 0;
    float y1 = 0;

    float width() const { return x1 - x0; }
    float height() const { return y1 - y0; }
    float middle_x() const { return (x0 + x1) / 2; }
    float middle_y() const { return (y0 + y1) / 2; }

    friend bool operator==(const Rect&, const Rect&) = default;
};

/// `run`: who did what and what crossed the links. `weights`: which words changed, and where.
enum class Page : std::uint8_t { run, weights };

enum class PanelId : std::uint8_t {
    status,
    lanes,
    links,
    tree,
    map,
    scale,
    story,
    rates,
    codecs,
    cuts,
    words
};
inline constexpr std::size_t kPanels = 11;

struct PanelLayout {
    float scale = 1;                   // of text and lines; 1 at 1600 x 900
    std::array<Rect, kPanels> panels;  // empty: not on this page

    const Rect& of(PanelId id) const { return panels[static_cast<std::size_t>(id)]; }
};

PanelLayout lay_out_panels(const PixelSize& size, Page page = Page::run);

}  // namespace refit
