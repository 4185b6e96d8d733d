// How fast chunks came in: bytes a bin of pixels, for every site of the run.
//
// Spread    a chunk took the time since the one before it arrived at the same node; the first of a
//           delta since it was sent. So a bin shows the rate of the link, not the size of chunks.
//
// Counted   chunks kept by the relays and replicas of a site that came from another site, or from
//           the source: what crossed into it. Inside the trainer's site: what the source's own
//           network carried.
#pragma once

#include <cstdint>
#include <vector>

#include "viz/lane_view.hpp"

namespace refit {

struct Throughput {
    std::size_t site = 0;
    std::vector<double> bytes;  // a bin; all together what arrived in the window
};

/// Sites that received nothing are left out. Bins are equally wide on the scale and cover it.
std::vector<Throughput> throughput(const SavedRun& run, const TimeScale& scale, std::size_t bins);

/// Bits a second in each bin of a site; a bin inside a squeezed quiet is long.
std::vector<double> bit_rates(const Throughput& site, const TimeScale& scale);

}  // namespace refit
