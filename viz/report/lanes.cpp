#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "viz/hatches.hpp"
#include "viz/report/html.hpp"
#include "viz/report/pictures.hpp"

namespace refit::report {

namespace {

std::string legend_entry(const SpanStyle& style) {
    return fmt::format(
        "<span><svg viewBox=\"0 0 22 12\"><rect class=\"{}\" width=\"22\" height=\"12\"/></svg> "
        "{}</span>",
        style.css, escaped(style.name));
}

/// One path a style: a box costs twenty bytes, not a hundred.
std::string row_paths(std::span<const LaneBox> boxes, double y) {
    std::map<std::size_t, std::string> paths;
    for (const LaneBox& box : boxes)
        paths[style_of(box.kind, box.cause)] +=
            fmt::format("M{:.1f} {:.0f}h{:.1f}v{:.0f}h-{:.1f}z", kLeft + double{box.x0}, y + 2,
                        double{box.x1 - box.x0}, kRow - 4, double{box.x1 - box.x0});
    std::string all;
    for (const auto& [style, path] : paths)
        all += fmt::format("<path class=\"{}\" d=\"{}\"/>", span_styles()[style].css, path);
    return all;
}

/// The share of its time that a replica was idle, behind its row.
std::string idle_text(const SavedRun& run, const LaneRow& row) {
    if (row.track != Track::rollouts) return "";
    Nanoseconds idle{0};
    Nanoseconds all{0};
    for (const Span& span : std::span(run.spans).subspan(row.first, row.count)) {
        if (span.kind == SpanKind::down) return "";
        if (span.kind == SpanKind::idle) idle += span.to - span.from;
        all += span.to - span.from;
    }
    return all.count == 0 ? ""
                          : fmt::format("{:.2f} % idle", 100 * to_seconds(idle) / to_seconds(all));
}

}  // namespace

const std::vector<SpanStyle>& span_styles() {
    static const std::vector<SpanStyle> styles = [] {
        std::vector<SpanStyle> all = {{"rollouts", "busy", SpanKind::busy, {}},
                                      {"stage", "stage", SpanKind::stage, {}},
                                      {"encode", "encode", SpanKind::encode, {}},
                                      {"receive", "receive", SpanKind::receive, {}},
                                      {"send", "send", SpanKind::send, {}},
                                      {"down", "down", SpanKind::down, {}}};
        for (std::uint8_t c = 0; c <= static_cast<std::uint8_t>(IdleCause::straggler); ++c) {
            const auto cause = static_cast<IdleCause>(c);
            std::string name(cause_name(cause));
            std::ranges::replace(name, '_', ' ');
            all.push_back({"idle: " + name, std::string("idle i-") + kHatches[c].color,
                           SpanKind::idle, cause});
        }
        return all;
    }();
    return styles;
}

std::size_t style_of(SpanKind kind, IdleCause cause) {
    const auto& styles = span_styles();
    const auto style = std::ranges::find_if(styles, [&](const SpanStyle& candidate) {
        return candidate.kind == kind && (kind != SpanKind::idle || candidate.cause == cause);
    });
    return static_cast<std::size_t>(style - styles.begin());
}

void write_patterns(std::ostream& out) {
    out << "<svg width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\"><defs>";
    for (const Hatch& hatch : kHatches) {
        out << fmt::format(
            "<pattern id=\"h-{0}\" width=\"{2}\" height=\"{2}\" patternUnits=\"userSpaceOnUse\" "
            "patternTransform=\"rotate({1})\"><rect width=\"{2}\" height=\"{2}\" "
            "fill=\"var(--{0})\" opacity=\".28\"/><rect width=\"{3}\" height=\"{2}\" "
            "fill=\"var(--{0})\"/></pattern>",
            hatch.color, hatch.angle, hatch.gap, hatch.gap * 0.4);
    }
    const auto mark = [&](const char* id, const char* back, const char* path, const char* ink) {
        out << fmt::format(
            "<pattern id=\"{}\" width=\"10\" height=\"10\" patternUnits=\"userSpaceOnUse\"><rect "
            "width=\"10\" height=\"10\" fill=\"var(--{})\"/><path d=\"{}\" stroke=\"var(--{})\" "
            "stroke-width=\"2\"/></pattern>",
            id, back, path, ink);
    };
    mark("m-encoded", "pending", "M0 5h4", "encode");
    mark("m-staged", "pending", "M0 3h10M0 8h10", "receive");
    mark("m-wrong", "page", "M1 1l8 8M9 1l-8 8", "wrong");
    out << "</defs><style>";
    for (const Hatch& hatch : kHatches)
        out << fmt::format(".i-{0}{{fill:url(#h-{0})}}", hatch.color);
    out << "</style></svg>\n";
}

void write_lanes(const SavedRun& run,
                 const std::vector<LaneRow>& rows,
                 const TimeScale& scale,
                 std::ostream& out) {
    const std::vector<LaneBox> boxes = lane_boxes(run, rows, scale);
    const double bottom = kTop + kRow * static_cast<double>(rows.size());
    out << fmt::format(
        "<figure><svg id=\"lanes\" data-time viewBox=\"0 0 {} {:.0f}\" role=\"img\" "
        "aria-label=\"Lanes of the trainer, relays and replicas over time\">",
        kWidth, bottom + 6);
    out << time_axis(scale, bottom);
    std::vector<bool> used(span_styles().size());
    for (const LaneBox& box : boxes) used[style_of(box.kind, box.cause)] = true;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        const double y = kTop + kRow * static_cast<double>(row);
        out << fmt::format(
            "<text x=\"{}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text><text class=\"soft\" "
            "x=\"{}\" "
            "y=\"{:.0f}\">{}</text>",
            kLeft - 8, y + 13, escaped(rows[row].label), kLeft + kPlot + 6, y + 13,
            idle_text(run, rows[row]));
        out << row_paths(boxes_of_row(boxes, row), y);
    }
    out << "</svg><div class=\"legend\">";
    for (std::size_t style = 0; style < used.size(); ++style)
        if (used[style]) out << legend_entry(span_styles()[style]);
    out << "</div>"
        << caption(
               "Idle is hatched, each cause its own way. What is thinner than a pixel shares "
               "one with its neighbours. Where a run is quiet, time is squeezed. Click to set "
               "the time.")
        << "</figure>\n";
}

}  // namespace refit::report
