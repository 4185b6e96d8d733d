#include "viz/panels/pen.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace refit {

namespace {

constexpr float kDash = 5;
constexpr float kHatchWidth = 1.6F;

}  // namespace

ImFont* Pen::font(const TextStyle& style) const {
    return style.digits ? theme_.digits() : theme_.text();
}

void Pen::text(float x, float y, std::string_view text, const TextStyle& style) {
    const float size = px(style.size);
    if (style.align != Align::left)
        x -= width(text, style) * (style.align == Align::right ? 1.0F : 0.5F);
    // On whole pixels, where glyphs are sharp.
    list_->AddText(font(style), size, {std::round(x), std::round(y - size / 2)},
                   theme_.color(style.color), text.data(), text.data() + text.size());
}

float Pen::width(std::string_view text, const TextStyle& style) const {
    return font(style)
        ->CalcTextSizeA(px(style.size), FLT_MAX, 0, text.data(), text.data() + text.size())
        .x;
}

std::string Pen::fitted(std::string_view text, float room, const TextStyle& style) const {
    if (width(text, style) <= room) return std::string(text);
    while (!text.empty()) {
        text.remove_suffix(1);
        const std::string cut = std::string(text) + "..";
        if (width(cut, style) <= room) return cut;
    }
    return "";
}

float Pen::paragraph(const Rect& box, std::string_view words, const TextStyle& style) {
    const float step = px(style.size * 1.3F);
    float y = box.y0 + step / 2;
    while (!words.empty()) {
        std::size_t taken = words.size();
        while (width(words.substr(0, taken), style) > box.width()) {
            const std::size_t space = words.rfind(' ', taken - 1);
            if (space == std::string_view::npos || space == 0) break;
            taken = space;
        }
        text(box.x0, y, fitted(words.substr(0, taken), box.width(), style), style);
        y += step;
        words.remove_prefix(std::min(words.size(), taken + 1));
    }
    return y;
}

void Pen::fill(const Rect& rect, const char* color, float opacity, float round) {
    list_->AddRectFilled({rect.x0, rect.y0}, {rect.x1, rect.y1}, theme_.color(color, opacity),
                         px(round));
}

void Pen::frame(const Rect& rect, const char* color, float thickness, float round) {
    list_->AddRect({rect.x0, rect.y0}, {rect.x1, rect.y1}, theme_.color(color), px(round),
                   px(thickness));
}

void Pen::line(const Line& line, const char* color, float thickness, float opacity) {
    list_->AddLine({line.x0, line.y0}, {line.x1, line.y1}, theme_.color(color, opacity),
                   px(thickness));
}

void Pen::dashed_line(const Line& line, const char* color, float opacity) {
    const float length = std::hypot(line.x1 - line.x0, line.y1 - line.y0);
    const float dash = px(kDash);
    for (float at = 0; at < length; at += 2 * dash) {
        const float from = at / length;
        const float to = std::min(1.0F, (at + dash) / length);
        const float dx = line.x1 - line.x0;
        const float dy = line.y1 - line.y0;
        this->line({line.x0 + from * dx, line.y0 + from * dy, line.x0 + to * dx, line.y0 + to * dy},
                   color, 1.2F, opacity);
    }
}

void Pen::dashed_frame(const Rect& rect, const char* color) {
    dashed_line({rect.x0, rect.y0, rect.x1, rect.y0}, color);
    dashed_line({rect.x1, rect.y0, rect.x1, rect.y1}, color);
    dashed_line({rect.x0, rect.y1, rect.x1, rect.y1}, color);
    dashed_line({rect.x0, rect.y0, rect.x0, rect.y1}, color);
}

void Pen::hatch(const Rect& rect, const Hatch& hatch) {
    fill(rect, hatch.color, 0.28F);
    const float gap = px(static_cast<float>(hatch.gap));
    for (const Line& line : hatch_lines(rect, static_cast<float>(hatch.angle), gap))
        this->line(line, hatch.color, kHatchWidth);
}

void Pen::cross(const Rect& rect, const char* color, float thickness) {
    line({rect.x0, rect.y0, rect.x1, rect.y1}, color, thickness);
    line({rect.x0, rect.y1, rect.x1, rect.y0}, color, thickness);
}

}  // namespace refit
