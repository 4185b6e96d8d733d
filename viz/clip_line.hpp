// The part of a line that is inside a rectangle: what hatches are drawn with.
#pragma once

#include <optional>
#include <vector>

#include "viz/panel_layout.hpp"

namespace refit {

struct Line {
    float x0 = 0;
    float y0 = 0;
    float x1 = 0;
    float y1 = 0;
};

/// None where they do not meet.
std::optional<Line> clip_line(const Line& line, const Rect& to);

/// Parallel lines across a rectangle, `gap` pixels apart, at an angle in degrees (0 is horizontal,
/// growing counter-clockwise). Those of neighbouring rectangles continue each other.
std::vector<Line> hatch_lines(const Rect& rect, float angle, float gap);

}  // namespace refit
