#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "viz/bar_view.hpp"
#include "viz/report/html.hpp"
#include "viz/report/pictures.hpp"

namespace refit::report {

void write_scale(const SavedRun& run, const std::vector<PublishedRow>& marks, std::ostream& out) {
    const std::vector<Bar> bars = bars_of(run, marks);
    const LogAxis axis = log_axis(bars);
    if (axis.decades == 0) return;
    const auto x_of = [&](double seconds) { return kLeft + (kPlot - 70) * axis.share(seconds); };
    const double bottom = kTop + (kRow + 6) * static_cast<double>(bars.size());
    out << fmt::format(
        "<figure><svg viewBox=\"0 0 {} {:.0f}\" role=\"img\" aria-label=\"Seconds "
        "of a full transfer and of a refit, log axis\">",
        kWidth, bottom + 6);
    for (int decade = 0; decade <= static_cast<int>(axis.decades); ++decade) {
        const double seconds = std::pow(10, axis.first + decade);
        out << fmt::format(
            "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2:.1f}\"/><text "
            "class=\"soft\" x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4} s</text>",
            x_of(seconds), kTop - 6, bottom, kTop - 12, number(seconds));
    }
    for (std::size_t i = 0; i < bars.size(); ++i) {
        const Bar& bar = bars[i];
        if (bar.seconds <= 0) continue;
        const double y = kTop + (kRow + 6) * static_cast<double>(i);
        const char* style = bar.published ? "fill=\"none\" stroke=\"var(--text)\" "
                                            "stroke-dasharray=\"4 3\""
                            : bar.ours    ? "fill=\"var(--accent)\""
                                          : "fill=\"var(--bubble)\"";
        out << fmt::format(
            "<g><title>{0}</title><text x=\"{1}\" y=\"{2:.1f}\" "
            "text-anchor=\"end\">{3}</text><rect "
            "{4} x=\"{5}\" y=\"{6:.1f}\" width=\"{7:.1f}\" height=\"{8}\"/><text x=\"{9:.1f}\" "
            "y=\"{2:.1f}\">{10}</text></g>",
            escaped(bar.hover), kLeft - 8, y + 14, escaped(bar.name), style, kLeft, y + 2,
            std::max(2.0, x_of(bar.seconds) - kLeft), kRow - 2,
            std::max(kLeft + 2, x_of(bar.seconds)) + 8, seconds_text(bar.seconds));
    }
    out << "</svg>"
        << caption(
               marks.empty()
                   ? "Seconds, log axis. Full transfers went over the same tree without faults."
                   : "Seconds, log axis. Full transfers went over the same tree without faults. "
                     "Hollow and dashed: published by others for a model of this size, not "
                     "ours.")
        << "</figure>\n";
}

}  // namespace refit::report
