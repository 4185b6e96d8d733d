#include "viz/bar_view.hpp"
#include "viz/panels/panel.hpp"
#include "viz/report/html.hpp"

namespace refit {

namespace {

constexpr float kHead = 18;
constexpr float kFoot = 18;
constexpr TextStyle kSoft{.color = "soft", .size = 12};
constexpr TextStyle kName{.size = 12, .align = Align::right};

void draw_bar(Pen& pen, const Bar& bar, const Rect& box) {
    if (bar.published) {
        pen.dashed_frame(box, "text");
    } else {
        pen.fill(box, bar.ours ? "accent" : "bubble");
    }
    pen.text(box.x1 + pen.px(6), box.middle_y(), report::seconds_text(bar.seconds),
             {.size = 12, .digits = true});
}

}  // namespace

void draw_scale(const PanelView& view) {
    Pen& pen = view.pen;
    const auto& record = view.scene.run.record;
    if (!record.is_object()) {
        pen.text(view.box.x0, view.box.y0 + pen.px(10), "no record", {.color = "soft"});
        return;
    }
    const std::vector<Bar> bars = bars_of(view.scene.run, view.scene.published);
    const LogAxis axis = log_axis(bars);
    if (axis.decades == 0) return;
    float label = 0;
    for (const Bar& bar : bars) label = std::max(label, pen.width(bar.name, kName));
    label = std::min(label, view.box.width() * 0.42F) + pen.px(8);
    const Rect plot{view.box.x0 + label, view.box.y0 + pen.px(kHead), view.box.x1 - pen.px(76),
                    view.box.y1 - pen.px(kFoot)};
    draw_log_axis(view, plot, axis, "s");
    const float row = std::min(pen.px(34), plot.height() / static_cast<float>(bars.size()));
    bool theirs = false;
    for (std::size_t i = 0; i < bars.size(); ++i) {
        const Bar& bar = bars[i];
        if (bar.seconds <= 0) continue;
        theirs = theirs || bar.published;
        const float y = plot.y0 + row * static_cast<float>(i);
        const float x = plot.x0 + plot.width() * static_cast<float>(axis.share(bar.seconds));
        pen.text(plot.x0 - pen.px(8), y + row / 2, pen.fitted(bar.name, label - pen.px(8), kName),
                 kName);
        draw_bar(pen, bar, {plot.x0, y + row * 0.14F, std::max(x, plot.x0 + 2), y + row * 0.86F});
    }
    const std::string provenance = record["refit"]["seconds"]["provenance"];
    std::string note = "Ours: " + provenance + ".";
    if (theirs) note += " Dashed: published by others.";
    pen.text(view.box.x0, view.box.y1 - pen.px(8), pen.fitted(note, view.box.width(), kSoft),
             kSoft);
}

}  // namespace refit
