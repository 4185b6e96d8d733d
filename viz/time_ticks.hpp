// Where a time axis has its ticks: round times, labels only where they have room, and how long the
// quiet is where time is squeezed. A pure function of the scale.
#pragma once

#include <string>
#include <vector>

#include "viz/time_scale.hpp"

namespace refit {

struct TimeTick {
    double x = 0;       // pixels from the left end of the scale
    std::string label;  // "40 s", "5:20"; empty: no room
};

struct QuietNote {
    double x0 = 0;
    double x1 = 0;
    std::string length;    // "14.2 min"
    bool labelled = true;  // it has room above the axis
};

struct TimeAxis {
    std::vector<TimeTick> ticks;
    std::vector<QuietNote> quiet;
};

TimeAxis time_ticks(const TimeScale& scale);

}  // namespace refit
