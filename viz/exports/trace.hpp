// A run as Chrome trace JSON, which Perfetto opens: nodes are processes, their tracks threads.
//
// Spans     complete events ("X") of every span; `args` has the bytes, the version, the cause.
// Events    every event of the timeline is one instant ("i") on the track it belongs to, with all
//           of its fields in `args`.
// Counters  "C": gigabits a second each node received, in 200 bins of the run.
// Arrows    "s" to "f", each pair with an id of its own: from the sender's span of every chunk that
//           arrived to the receiver's, and from there to the span that stages its part.
// Times     microseconds with three decimals: the nanoseconds of the run, exactly.
// Source    Trace Event Format (Google); https://perfetto.dev/docs/getting-started/other-formats
#pragma once

#include <iosfwd>

#include "viz/saved_run.hpp"

namespace refit {

void write_trace(const SavedRun& run, std::ostream& out);

}  // namespace refit
