// Full transfers, this run and what others published of the same size, as bars of seconds: what is
// drawn on a log axis.
#pragma once

#include <string>
#include <vector>

#include "viz/saved_run.hpp"
#include "workloads/published.hpp"

namespace refit {

struct Bar {
    std::string name;
    double seconds = 0;
    std::string hover;
    bool published = false;  // theirs: drawn hollow
    bool ours = false;
};

/// The run has a record.
std::vector<Bar> bars_of(const SavedRun& run, const std::vector<PublishedRow>& marks);

/// A log axis of whole decades around them.
struct LogAxis {
    double first = 0;    // exponent of ten at its left end
    double decades = 0;  // at least 1; 0: no bar has seconds

    /// Where it is, 0 left to 1 right; clamped.
    double share(double seconds) const;
};
LogAxis log_axis(const std::vector<Bar>& bars);
/// From the least to the most of some values above 0.
LogAxis log_axis(double low, double high);

}  // namespace refit
