#include <fmt/format.h>

#include <algorithm>

#include "viz/panels/panel.hpp"
#include "viz/report/html.hpp"
#include "viz/report/pictures.hpp"

namespace refit {

namespace {

constexpr float kAxis = 32;   // pixels above the rows
constexpr float kShare = 58;  // pixels right of the rows
constexpr float kRowMost = 40;
constexpr float kRowLeast = 5;
constexpr TextStyle kSoft{.color = "soft", .size = 12};

const char* color_of(SpanKind kind) {
    switch (kind) {
        case SpanKind::stage:
            return "stage";
        case SpanKind::encode:
            return "encode";
        case SpanKind::receive:
            return "receive";
        case SpanKind::send:
            return "send";
        default:
            return "busy";
    }
}

void fill_span(Pen& pen, const Rect& rect, SpanKind kind, IdleCause cause) {
    if (kind == SpanKind::idle || kind == SpanKind::down) {
        pen.hatch(rect, kind == SpanKind::down ? kDownHatch : hatch_of(cause));
    } else {
        pen.fill(rect, color_of(kind));
    }
}

/// Where the rows are, and how many fit.
struct RowGrid {
    Rect plot;
    float row = 0;  // height
    std::size_t rows = 0;
};

RowGrid make_grid(const PanelView& view, float legend) {
    const auto& rows = view.scene.rows;
    RowGrid grid;
    grid.plot = time_plot(view);
    grid.plot.y0 = view.box.y0 + view.pen.px(kAxis);
    grid.plot.y1 = view.box.y1 - legend;
    const float room = grid.plot.height();
    const auto count = static_cast<float>(std::max<std::size_t>(1, rows.size()));
    grid.row = std::clamp(room / count, view.pen.px(kRowLeast), view.pen.px(kRowMost));
    grid.rows = std::min(rows.size(), static_cast<std::size_t>(room / grid.row + 0.01F));
    grid.plot.y1 = grid.plot.y0 + grid.row * static_cast<float>(grid.rows);
    return grid;
}

void draw_axis(const PanelView& view, const RowGrid& grid, const TimeScale& scale) {
    Pen& pen = view.pen;
    const TimeAxis axis = time_ticks(scale);
    const float top = grid.plot.y0 - pen.px(2);
    for (const TimeTick& tick : axis.ticks) {
        const float x = grid.plot.x0 + static_cast<float>(tick.x);
        pen.line({x, top, x, grid.plot.y1}, "line");
        pen.text(x, top - pen.px(8), tick.label,
                 {.color = "soft", .size = 12, .align = Align::center});
    }
    for (const QuietNote& quiet : axis.quiet) {
        const float x0 = grid.plot.x0 + static_cast<float>(quiet.x0);
        const float x1 = grid.plot.x0 + static_cast<float>(quiet.x1);
        pen.fill({x0, top, x1, grid.plot.y1}, "line", 0.6F);
        if (quiet.labelled)
            pen.text((x0 + x1) / 2, top - pen.px(22), quiet.length + " of quiet",
                     {.color = "soft", .size = 12, .align = Align::center});
    }
}

void draw_labels(const PanelView& view, const RowGrid& grid) {
    Pen& pen = view.pen;
    const auto every = static_cast<std::size_t>(pen.px(11.5F) / grid.row) + 1;
    for (std::size_t row = 0; row < grid.rows; row += every) {
        const LaneRow& lane = view.scene.rows[row];
        const float y = grid.plot.y0 + grid.row * (static_cast<float>(row) + 0.5F);
        TextStyle style{.size = 12, .align = Align::right};
        const float room = grid.plot.x0 - view.box.x0 - pen.px(8);
        pen.text(grid.plot.x0 - pen.px(8), y, pen.fitted(lane.label, room, style), style);
        if (lane.track != Track::rollouts) continue;
        style = {.color = "soft", .size = 12, .digits = true, .align = Align::right};
        const IdleUntil until = idle_until(view.scene.run, lane, view.now.at);
        if (until.all.count > 0)
            pen.text(view.box.x1, y, fmt::format("{:.2f} %", 100 * until.share()), style);
    }
}

/// The kinds of span that the rows show, in the order of the report's legend.
std::vector<report::SpanStyle> styles_used(const PanelView& view) {
    const auto& styles = report::span_styles();
    std::vector<bool> used(styles.size());
    for (const LaneRow& row : view.scene.rows)
        for (const Span& span : std::span(view.scene.run.spans).subspan(row.first, row.count))
            used[report::style_of(span.kind, span.cause)] = true;
    std::vector<report::SpanStyle> shown;
    for (std::size_t i = 0; i < styles.size(); ++i)
        if (used[i]) shown.push_back(styles[i]);
    return shown;
}

float legend_height(const PanelView& view, const std::vector<report::SpanStyle>& styles) {
    std::vector<std::string> names;
    for (const report::SpanStyle& style : styles) names.push_back(style.name);
    return view.pen.px(Legend::kLine * static_cast<float>(Legend::lines(view, names)) + 8);
}

/// What lies behind the moment is drawn, but faint.
void draw_cursor(const PanelView& view, const RowGrid& grid, const TimeScale& scale) {
    Pen& pen = view.pen;
    const float x = grid.plot.x0 + scale.x(view.now.at);
    pen.fill({x, grid.plot.y0, grid.plot.x1, grid.plot.y1}, "panel", 0.72F);
    pen.line({x, grid.plot.y0 - pen.px(2), x, grid.plot.y1}, "text", 1.5F);
}

}  // namespace

Rect time_plot(const PanelView& view) {
    float label = 0;
    for (const LaneRow& row : view.scene.rows)
        label = std::max(label, view.pen.width(row.label, kSoft));
    label = std::min(label, view.box.width() * 0.28F);
    return {view.box.x0 + label + view.pen.px(8), view.box.y0, view.box.x1 - view.pen.px(kShare),
            view.box.y1};
}

void draw_lanes(const PanelView& view) {
    Pen& pen = view.pen;
    const std::vector<report::SpanStyle> styles = styles_used(view);
    const float legend = legend_height(view, styles);
    const RowGrid grid = make_grid(view, legend);
    const TimeScale scale =
        TimeScale::squeezed(view.scene.run.recording.timeline, grid.plot.width());
    draw_axis(view, grid, scale);
    draw_labels(view, grid);
    pen.text(view.box.x1, grid.plot.y0 - pen.px(10), "idle",
             {.color = "soft", .size = 12, .align = Align::right});
    const std::vector<LaneBox> boxes =
        lane_boxes(view.scene.run, std::span(view.scene.rows).first(grid.rows), scale);
    const float inset = grid.row > pen.px(9) ? pen.px(1.5F) : pen.px(0.5F);
    for (const LaneBox& box : boxes) {
        const float y = grid.plot.y0 + grid.row * static_cast<float>(box.row);
        fill_span(pen,
                  {grid.plot.x0 + box.x0, y + inset, grid.plot.x0 + box.x1, y + grid.row - inset},
                  box.kind, box.cause);
    }
    draw_cursor(view, grid, scale);
    if (grid.rows < view.scene.rows.size())
        pen.text(grid.plot.x0, grid.plot.y1 + pen.px(8),
                 fmt::format("and {} more rows", view.scene.rows.size() - grid.rows), kSoft);
    Legend names(view, view.box.x0, view.box.y1 - legend + pen.px(8));
    for (const report::SpanStyle& style : styles)
        fill_span(pen, names.next(style.name), style.kind, style.cause);
}

}  // namespace refit
