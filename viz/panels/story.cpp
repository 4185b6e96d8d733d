#include "viz/story_view.hpp"

#include <fmt/format.h>

#include "viz/panels/panel.hpp"

namespace refit {

namespace {

constexpr float kLine = 19;
constexpr float kTime = 74;
constexpr float kSign = 16;

/// "11.46 s", "15:04.2": as wide for every line.
std::string clock_text(Nanoseconds at) {
    const double seconds = to_seconds(at);
    if (seconds < 120) return fmt::format("{:.2f} s", seconds);
    const auto minutes = static_cast<std::uint64_t>(seconds / 60);
    return fmt::format("{}:{:04.1f}", minutes, seconds - 60 * static_cast<double>(minutes));
}

}  // namespace

void draw_story(const PanelView& view) {
    Pen& pen = view.pen;
    const auto lines = static_cast<std::size_t>(view.box.height() / pen.px(kLine));
    float y = view.box.y0 + pen.px(kLine / 2);
    for (const StoryLine& line : tell_story(view.scene.run, view.now.at, lines)) {
        pen.text(view.box.x0 + pen.px(kTime - 10), y, clock_text(line.at),
                 {.color = "soft", .size = 12, .digits = true, .align = Align::right});
        float x = view.box.x0 + pen.px(kTime);
        if (line.trouble) {
            const float half = pen.px(4.5F);
            pen.cross({x, y - half, x + 2 * half, y + half}, "down", 2);
        }
        x += pen.px(kSign);
        const TextStyle style{.color = line.trouble ? "down" : "text", .size = 12.5F};
        const std::string text = line.who.empty() ? line.what : line.who + " " + line.what;
        pen.text(x, y, pen.fitted(text, view.box.x1 - x, style), style);
        y += pen.px(kLine);
    }
}

}  // namespace refit
