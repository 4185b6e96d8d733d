#include <cmath>

#include "viz/panels/cells.hpp"
#include "viz/rate_map_view.hpp"
#include "viz/report/html.hpp"

namespace refit {

namespace {

constexpr float kMeans = 50;   // pixels right of the cells
constexpr float kLayers = 24;  // below them: the means of layers
constexpr float kFoot = 24;    // below those: scale and legend
constexpr float kLeast = 0.1F;
constexpr TextStyle kSoft{.color = "soft", .size = 12};
constexpr Hatch kMissed{"line", 45, 5};

/// Opacity of a share: changed words are seen even where they are few.
float depth(double share, double most) {
    if (share <= 0 || most <= 0) return 0;
    return kLeast + (1 - kLeast) * static_cast<float>(share / most);
}

/// As WCAG 2 has it, of a colour that the theme mixes.
double lightness(const ImVec4& color) {
    const auto linear = [](float share) {
        return share <= 0.04045F ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(color.x) + 0.7152 * linear(color.y) + 0.0722 * linear(color.z);
}

/// Which of two names can be read better on a share's ground.
const char* color_on(const Theme& theme, float opacity) {
    const ImVec4 page = theme.vector("page");
    const ImVec4 accent = theme.vector("accent");
    const auto mix = [opacity](float a, float b) { return a + opacity * (b - a); };
    const double ground =
        lightness({mix(page.x, accent.x), mix(page.y, accent.y), mix(page.z, accent.z), 1}) + 0.05;
    const auto contrast = [&](const char* name) {
        const double text = lightness(theme.vector(name)) + 0.05;
        return std::max(text, ground) / std::min(text, ground);
    };
    return contrast("text") >= contrast("page") ? "text" : "page";
}

void draw_share(Pen& pen, const Rect& rect, const std::optional<double>& share, double most) {
    if (!share) return pen.hatch(rect, kMissed);
    const float opacity = depth(*share, most);
    pen.fill(rect, "page");
    pen.fill(rect, "accent", opacity);
    const TextStyle style{
        .color = color_on(pen.theme(), opacity), .size = 12, .align = Align::center};
    const std::string text = share_text(*share);
    if (pen.width(text, style) + pen.px(4) > rect.width() || rect.height() < pen.px(12)) return;
    pen.text(rect.middle_x(), rect.middle_y(), text, style);
}

void draw_means(const PanelView& view, const Cells& cells, const RateMap& rates) {
    Pen& pen = view.pen;
    const TensorMap& map = view.scene.map;
    const auto every = static_cast<std::size_t>(pen.px(12.5F) / cells.height) + 1;
    TextStyle style{.size = 12, .digits = true, .align = Align::right};
    pen.text(view.box.x1, cells.y - pen.px(9), "mean",
             {.color = "soft", .size = 12, .align = Align::right});
    for (std::size_t kind = 0; kind < map.columns.size(); kind += every) {
        if (!rates.of_kind[kind]) continue;
        pen.text(view.box.x1, cells.at(0, kind).middle_y(), share_text(*rates.of_kind[kind]),
                 style);
    }
    Cells strip = cells;
    strip.y += cells.height * static_cast<float>(map.columns.size()) + pen.px(4);
    strip.height = pen.px(16);
    pen.text(cells.x - pen.px(8), strip.at(0, 0).middle_y(), "all of a layer",
             {.color = "soft", .size = 12, .align = Align::right});
    for (std::size_t row = 0; row < map.rows.size(); ++row)
        draw_share(pen, strip.at(row, 0), rates.of_layer[row], rates.most);
}

/// From nothing to the most that a cell has.
void draw_scale_of(const PanelView& view, const RateMap& rates) {
    Pen& pen = view.pen;
    const float y0 = view.box.y1 - pen.px(15);
    const float y1 = view.box.y1 - pen.px(4);
    const float middle = (y0 + y1) / 2;
    float x = view.box.x0;
    pen.text(x, middle, "0", kSoft);
    x += pen.width("0", kSoft) + pen.px(6);
    constexpr int kSteps = 24;
    const float step = std::round(pen.px(150) / kSteps);  // whole pixels: no seams
    x = std::round(x);
    const Rect bar{x, y0, x + step * kSteps, y1};
    pen.fill(bar, "page");
    for (int i = 0; i < kSteps; ++i) {
        const double share = rates.most * (i + 0.5) / kSteps;
        const float left = bar.x0 + step * static_cast<float>(i);
        pen.fill({left, y0, left + step, y1}, "accent", depth(share, rates.most));
    }
    pen.frame(bar, "line");
    x = bar.x1 + pen.px(6);
    const std::string most = share_text(rates.most) + " % of words";
    pen.text(x, middle, most, kSoft);
    x += pen.width(most, kSoft) + pen.px(18);
    if (rates.measured < rates.cells.size()) {
        pen.hatch({x, y0, x + pen.px(20), y1}, kMissed);
        const std::string missed = "not in the sample";
        pen.text(x + pen.px(25), middle, missed, kSoft);
        x += pen.px(25) + pen.width(missed, kSoft) + pen.px(18);
    }
    const TextStyle right{.color = "soft", .size = 12, .align = Align::right};
    const std::string provenance = view.scene.run.record["changed"]["provenance"];
    pen.text(view.box.x1, middle, pen.fitted(rates.of + ", " + provenance, view.box.x1 - x, right),
             right);
}

}  // namespace

void draw_rates(const PanelView& view) {
    Pen& pen = view.pen;
    const TensorMap& map = view.scene.map;
    const RateMap rates = rate_map(view.scene.run.record, map, view.now.version());
    if (rates.measured == 0) {
        const char* why = view.scene.run.record.is_object()
                              ? "The record has no shares by layer: it is of an older program."
                              : "no record";
        pen.text(view.box.x0, view.box.y0 + pen.px(10), why, {.color = "soft"});
        return;
    }
    const Cells cells = make_cells(view, {pen.px(kMeans), pen.px(kLayers + kFoot), 34});
    draw_cell_names(view, cells);
    for (std::size_t i = 0; i < map.cells.size(); ++i)
        draw_share(pen, cells.at(map.cells[i].row, map.cells[i].column), rates.cells[i],
                   rates.most);
    draw_means(view, cells, rates);
    draw_scale_of(view, rates);
}

}  // namespace refit
