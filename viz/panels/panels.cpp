#include <array>
#include <cmath>

#include "viz/panels/panel.hpp"
#include "viz/report/html.hpp"

namespace refit {

std::span<const Panel> panels(Page page) {
    static constexpr std::array<Panel, 7> kRun = {
        {{PanelId::status, "", draw_status},
         {PanelId::lanes, "Who did what", draw_lanes},
         {PanelId::links, "Into each site, Gbit/s", draw_links},
         {PanelId::tree, "Relay tree", draw_tree},
         {PanelId::map, "Bit-exact map: kinds of tensor by layer", draw_map},
         {PanelId::scale, "Full transfer against refit, log axis", draw_scale},
         {PanelId::story, "What happened", draw_story}}};
    static constexpr std::array<Panel, 5> kWeights = {
        {{PanelId::status, "", draw_status},
         {PanelId::rates, "Changed words, % by kind of tensor and layer", draw_rates},
         {PanelId::codecs, "Bits per parameter against the entropy bound, log axis", draw_codecs},
         {PanelId::cuts, "One tensor: from the trainer's ranks to the serving ranks", draw_cuts},
         {PanelId::words, "One tile of it: bits before and after", draw_words}}};
    return page == Page::run ? std::span<const Panel>(kRun) : std::span<const Panel>(kWeights);
}

namespace {

constexpr TextStyle kLegendStyle{.color = "soft", .size = 12};
constexpr float kLegendBox = 20;
constexpr float kLegendGap = 5;     // between a box and its name
constexpr float kLegendSpace = 14;  // between entries

float entry_width(const Pen& pen, std::string_view name) {
    return pen.px(kLegendBox + kLegendGap) + pen.width(name, kLegendStyle);
}

}  // namespace

void draw_log_axis(const PanelView& view, const Rect& plot, const LogAxis& axis, const char* unit) {
    constexpr TextStyle kSoft{.color = "soft", .size = 12};
    Pen& pen = view.pen;
    float free = view.box.x0;
    for (int decade = 0; decade <= static_cast<int>(axis.decades); ++decade) {
        const double value = std::pow(10, axis.first + decade);
        const float x = plot.x0 + plot.width() * static_cast<float>(axis.share(value));
        pen.line({x, plot.y0, x, plot.y1}, "line");
        const std::string text = report::number(value) + " " + unit;
        const float half = pen.width(text, kSoft) / 2;
        if (x - half < free) continue;
        pen.text(x - half, plot.y0 - pen.px(9), text, kSoft);
        free = x + half + pen.px(8);
    }
}

Rect Legend::next(std::string_view name) {
    Pen& pen = view_.pen;
    const float length = entry_width(pen, name);
    if (x_ > left_ && x_ + length > view_.box.x1) {
        x_ = left_;
        y_ += pen.px(kLine);
    }
    const Rect rect{x_, y_ + pen.px(3), x_ + pen.px(kLegendBox), y_ + pen.px(14)};
    pen.text(rect.x1 + pen.px(kLegendGap), y_ + pen.px(8.5F), name, kLegendStyle);
    x_ += length + pen.px(kLegendSpace);
    return rect;
}

std::size_t Legend::lines(const PanelView& view, const std::vector<std::string>& names) {
    std::size_t lines = 1;
    float x = 0;
    for (const std::string& name : names) {
        const float length = entry_width(view.pen, name);
        if (x > 0 && x + length > view.box.width()) {
            x = 0;
            ++lines;
        }
        x += length + view.pen.px(kLegendSpace);
    }
    return lines;
}

}  // namespace refit
