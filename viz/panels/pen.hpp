// What panels draw with: text, boxes, hatches and crosses in the theme's colours. Positions are
// pixels; sizes of text and lines are those of 1600 x 900, which the theme scales.
#pragma once

#include <string>
#include <string_view>

#include "viz/clip_line.hpp"
#include "viz/hatches.hpp"
#include "viz/panel_layout.hpp"
#include "viz/panels/theme.hpp"

namespace refit {

enum class Align : std::uint8_t { left, center, right };

struct TextStyle {
    const char* color = "text";
    float size = 13;
    bool digits = false;
    Align align = Align::left;
};

class Pen {
public:
    Pen(const Theme& theme, ImDrawList* list) : theme_(theme), list_(list) {}

    /// One line whose middle is at y, beside, around or before x.
    void text(float x, float y, std::string_view text, const TextStyle& style = {});
    float width(std::string_view text, const TextStyle& style = {}) const;
    /// The text, or as much of its beginning as fits, with two dots.
    std::string fitted(std::string_view text, float room, const TextStyle& style = {}) const;
    /// Words in as many lines as they take within the box; where the next line's middle would be.
    float paragraph(const Rect& box, std::string_view text, const TextStyle& style = {});

    void fill(const Rect& rect, const char* color, float opacity = 1, float round = 0);
    void frame(const Rect& rect, const char* color, float thickness = 1, float round = 0);
    void dashed_frame(const Rect& rect, const char* color);
    void line(const Line& line, const char* color, float thickness = 1, float opacity = 1);
    void dashed_line(const Line& line, const char* color, float opacity = 1);
    void hatch(const Rect& rect, const Hatch& hatch);
    void cross(const Rect& rect, const char* color, float thickness);

    const Theme& theme() const { return theme_; }
    ImDrawList* list() const { return list_; }
    float px(float length) const { return theme_.px(length); }

private:
    ImFont* font(const TextStyle& style) const;

    const Theme& theme_;
    ImDrawList* list_;
};

}  // namespace refit
