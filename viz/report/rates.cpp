#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

#include "viz/report/html.hpp"
#include "viz/report/pictures.hpp"
#include "viz/throughput_view.hpp"

namespace refit::report {

namespace {

constexpr std::size_t kBins = 425;  // two units of the plot each
constexpr double kBandHeight = 56;

/// As steps: a bin is a mean, nothing is between two of them.
std::string area(const std::vector<double>& rates, double peak, double bottom) {
    std::string path = fmt::format("M{} {:.1f}", kLeft, bottom);
    const double width = kPlot / static_cast<double>(rates.size());
    double before = bottom;
    for (const double rate : rates) {
        const double y = bottom - (kBandHeight - 14) * rate / peak;
        if (y != before) path += fmt::format("V{:.1f}", y);
        path += fmt::format("h{:.2f}", width);
        before = y;
    }
    return path + fmt::format("V{:.1f}z", bottom);
}

}  // namespace

void write_rates(const SavedRun& run, const TimeScale& scale, std::ostream& out) {
    const std::vector<Throughput> sites = throughput(run, scale, kBins);

    // Links of a run on few words are scaled down with them; people think of the model's.
    const double of_model = run.record.is_object() ? 1 / run.record["link_scale"].get<double>() : 1;
    const double bottom = kTop + kBandHeight * static_cast<double>(sites.size());
    out << fmt::format(
               "<figure><svg data-time viewBox=\"0 0 {} {:.0f}\" role=\"img\" "
               "aria-label=\"Throughput into each site\">",
               kWidth, bottom + 6)
        << time_axis(scale, bottom);
    for (std::size_t i = 0; i < sites.size(); ++i) {
        const std::vector<double> rates = bit_rates(sites[i], scale);
        const double peak = std::max(1.0, *std::ranges::max_element(rates));
        const double base = kTop + kBandHeight * static_cast<double>(i + 1) - 2;
        out << fmt::format(
            "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
            "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">into {5}</text><text "
            "class=\"soft\" x=\"{3}\" y=\"{6:.1f}\" text-anchor=\"end\">at most {7}</text>"
            "<path class=\"receive\" d=\"{8}\"/>",
            kLeft, kLeft + kPlot, base, kLeft - 8, base - 26,
            escaped(run.recording.cast.sites[sites[i].site]), base - 10,
            quantity(peak * of_model, "bit/s"), area(rates, peak, base));
    }
    out << "</svg>"
        << caption(of_model > 1 ? "Chunks kept that crossed into each site, at the scale of the "
                                  "model; every site has its own axis."
                                : "Chunks kept that crossed into each site; every site has its "
                                  "own axis.")
        << "</figure>\n";
}

}  // namespace refit::report
