#include <fmt/format.h>
#include <implot.h>

#include <algorithm>
#include <array>

#include "viz/panels/panel.hpp"
#include "viz/report/html.hpp"

namespace refit {

namespace {

constexpr float kLeast = 34;  // pixels of one site's plot
constexpr float kGap = 5;

/// The ends of the bins in pixels of the plot, and the rates in Gbit/s.
struct Steps {
    std::vector<double> x;
    std::vector<double> y;
    double peak = 1e-9;
};

Steps steps_of(const Scene::SiteRates& site, const TimeScale& bins, const TimeScale& plot) {
    Steps steps;
    for (std::size_t bin = 0; bin < site.bits_per_second.size(); ++bin) {
        steps.x.push_back(double{plot.x(bins.at(static_cast<float>(bin)))});
        steps.y.push_back(site.bits_per_second[bin] / 1e9);
        steps.peak = std::max(steps.peak, steps.y.back());
    }
    return steps;
}

void set_up_axes(const TimeScale& scale, double peak) {
    std::vector<double> times;
    for (const TimeTick& tick : time_ticks(scale).ticks) times.push_back(tick.x);
    const auto flags = ImPlotAxisFlags_NoTickLabels | ImPlotAxisFlags_NoTickMarks |
                       ImPlotAxisFlags_NoHighlight | ImPlotAxisFlags_NoMenus;
    ImPlot::SetupAxes(nullptr, nullptr, flags, flags);
    ImPlot::SetupAxesLimits(0, double{scale.width()}, 0, 1.1 * peak, ImPlotCond_Always);
    if (!times.empty())
        ImPlot::SetupAxisTicks(ImAxis_X1, times.data(), static_cast<int>(times.size()));
    const std::array<double, 2> ends = {0, peak};
    ImPlot::SetupAxisTicks(ImAxis_Y1, ends.data(), static_cast<int>(ends.size()));
}

/// Where the quiet is squeezed, and what lies behind the moment.
void draw_over(const PanelView& view, const TimeScale& scale, const Rect& box) {
    ImPlot::PushPlotClipRect();
    Pen pen(view.pen.theme(), ImPlot::GetPlotDrawList());
    for (const QuietNote& quiet : time_ticks(scale).quiet)
        pen.fill({box.x0 + static_cast<float>(quiet.x0), box.y0,
                  box.x0 + static_cast<float>(quiet.x1), box.y1},
                 "line", 0.6F);
    const float x = box.x0 + scale.x(view.now.at);
    pen.fill({x, box.y0, box.x1, box.y1}, "page", 0.72F);
    pen.line({x, box.y0, x, box.y1}, "text", 1.5F);
    ImPlot::PopPlotClipRect();
}

/// Every site has its own axis, from nothing to its peak: a trainer's network and an ocean's
/// differ by a hundred.
void draw_site(const PanelView& view, std::size_t index, const TimeScale& scale, const Rect& box) {
    const Scene::SiteRates& site = view.scene.rates[index];
    const Steps steps = steps_of(site, view.scene.rate_scale, scale);
    Pen& pen = view.pen;
    TextStyle style{.size = 12, .align = Align::right};
    const float right = box.x0 - pen.px(8);
    const std::string name = "into " + view.scene.run.recording.cast.sites[site.site];
    pen.text(right, box.middle_y() - pen.px(7), pen.fitted(name, right - view.box.x0, style),
             style);
    style.color = "soft";
    pen.text(right, box.middle_y() + pen.px(7), "at most " + report::number(steps.peak), style);
    const auto now = static_cast<std::size_t>(view.scene.rate_scale.x(view.now.at));
    pen.text(view.box.x1, box.middle_y(),
             report::number(steps.y[std::min(now, steps.y.size() - 1)]),
             {.size = 12, .digits = true, .align = Align::right});
    const auto flags =
        ImPlotFlags_NoInputs | ImPlotFlags_NoMouseText | ImPlotFlags_NoTitle | ImPlotFlags_NoLegend;
    const std::string id = fmt::format("##links{}", index);
    ImGui::SetCursorScreenPos({box.x0, box.y0});
    if (!ImPlot::BeginPlot(id.c_str(), {box.width(), box.height()}, flags)) return;
    set_up_axes(scale, steps.peak);
    ImPlotSpec spec;
    spec.LineColor = view.pen.theme().vector("receive");
    spec.LineWeight = view.pen.px(1.5F);
    spec.FillColor = spec.LineColor;
    spec.FillAlpha = 0.35F;
    spec.Flags = ImPlotStairsFlags_Shaded;  // a bin is a mean: steps
    ImPlot::PlotStairs("##rate", steps.x.data(), steps.y.data(), static_cast<int>(steps.x.size()),
                       spec);
    draw_over(view, scale, box);
    ImPlot::EndPlot();
}

}  // namespace

void draw_links(const PanelView& view) {
    const std::size_t sites = view.scene.rates.size();
    if (sites == 0) return;
    const auto fit =
        static_cast<std::size_t>(std::max(1.0F, view.box.height() / view.pen.px(kLeast)));
    const std::size_t shown = std::min(sites, fit);
    const std::string note =
        shown < sites ? fmt::format("and {} more sites; now", sites - shown) : "now";
    view.pen.text(view.box.x1, view.box.y0 - view.pen.px(13), note,
                  {.color = "soft", .size = 12, .align = Align::right});
    const Rect plot = time_plot(view);
    const TimeScale scale = TimeScale::squeezed(view.scene.run.recording.timeline, plot.width());
    const float height = plot.height() / static_cast<float>(shown);
    ImPlot::PushStyleVar(ImPlotStyleVar_PlotPadding, ImVec2(0, 0));
    for (std::size_t i = 0; i < shown; ++i) {
        const float top = plot.y0 + height * static_cast<float>(i);
        draw_site(view, i, scale, {plot.x0, top, plot.x1, top + height - view.pen.px(kGap)});
    }
    ImPlot::PopStyleVar();
}

}  // namespace refit
