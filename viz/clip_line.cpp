#include "viz/clip_line.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace refit {

std::optional<Line> clip_line(const Line& line, const Rect& to) {
    const float dx = line.x1 - line.x0;
    const float dy = line.y1 - line.y0;
    float enters = 0;
    float leaves = 1;
    // Each side lets the line in or out where `step * t == room`.
    const auto side = [&](float step, float room) {
        if (step == 0) return room >= 0;
        const float t = room / step;
        if (step < 0) {
            enters = std::max(enters, t);
        } else {
            leaves = std::min(leaves, t);
        }
        return enters < leaves;
    };
    const bool meets = side(-dx, line.x0 - to.x0) && side(dx, to.x1 - line.x0) &&
                       side(-dy, line.y0 - to.y0) && side(dy, to.y1 - line.y0);
    if (!meets) return std::nullopt;
    return Line{line.x0 + enters * dx, line.y0 + enters * dy, line.x0 + leaves * dx,
                line.y0 + leaves * dy};
}

std::vector<Line> hatch_lines(const Rect& rect, float angle, float gap) {
    const float radians = angle * std::numbers::pi_v<float> / 180;
    const float along_x = std::cos(radians);
    const float along_y = -std::sin(radians);
    // Every line is at a multiple of the gap from the picture's corner, along its normal.
    const auto distance = [&](float x, float y) { return -x * along_y + y * along_x; };
    const auto [low, high] = std::minmax({distance(rect.x0, rect.y0), distance(rect.x1, rect.y0),
                                          distance(rect.x0, rect.y1), distance(rect.x1, rect.y1)});
    const float reach = rect.width() + rect.height() + std::abs(rect.x0) + std::abs(rect.y0) +
                        std::abs(low) + std::abs(high);
    std::vector<Line> lines;
    for (float at = std::ceil(low / gap) * gap; at <= high; at += gap) {
        const float x = -along_y * at;
        const float y = along_x * at;
        const auto inside = clip_line(
            {x - reach * along_x, y - reach * along_y, x + reach * along_x, y + reach * along_y},
            rect);
        if (inside) lines.push_back(*inside);
    }
    return lines;
}

}  // namespace refit
