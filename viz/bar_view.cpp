#include "viz/bar_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "viz/report/html.hpp"

namespace refit {

std::vector<Bar> bars_of(const SavedRun& run, const std::vector<PublishedRow>& marks) {
    const auto& record = run.record;
    std::vector<Bar> bars;
    for (const auto& baseline : record["full"]["baselines"]) {
        const auto& seconds = baseline["seconds"];
        bars.push_back(
            {baseline["codec"], seconds["value"],
             fmt::format("{}, achieved {}", seconds["provenance"].get<std::string>(),
                         report::quantity(baseline["bits_per_second"]["value"], "bit/s")),
             false, false});
    }
    const auto& seconds = record["refit"]["seconds"];
    bars.push_back({"this run, " + record["codec"]["name"].get<std::string>(), seconds["value"],
                    seconds["provenance"], false, true});
    for (const PublishedRow& row : marks) {
        const std::string who = row.system + " (" + row.source + ")";
        for (const Interval& full : row.full_seconds)
            bars.push_back({row.system + ", full", full.low, who, true, false});
        if (row.seconds) bars.push_back({row.system, row.seconds->low, who, true, false});
    }
    return bars;
}

double LogAxis::share(double seconds) const {
    return std::clamp((std::log10(seconds) - first) / decades, 0.0, 1.0);
}

LogAxis log_axis(const std::vector<Bar>& bars) {
    double low = 1e300;
    double high = 0;
    for (const Bar& bar : bars) {
        if (bar.seconds <= 0) continue;
        low = std::min(low, bar.seconds);
        high = std::max(high, bar.seconds);
    }
    return high == 0 ? LogAxis{} : log_axis(low, high);
}

LogAxis log_axis(double low, double high) {
    const double first = std::floor(std::log10(low));
    return {first, std::max(1.0, std::ceil(std::log10(high)) - first)};
}

}  // namespace refit
