// A run as one HTML file: opens from a disk or any static host, plays, scrubs, prints.
//
// Needs     nothing: style, script, pictures and data are in the file; no request is made.
// Truth     every figure says on hover whether it is measured, simulated or extrapolated; what
//           others published is drawn hollow. No state is told by colour alone.
// Size      script under 40 KiB; pictures and data grow with nodes, layers and kinds, not with
//           words: a run of a 1T model stays below 8 MB.
#pragma once

#include <iosfwd>
#include <vector>

#include "viz/saved_run.hpp"
#include "workloads/published.hpp"

namespace refit {

/// `published`: rows drawn beside this run, chosen by the caller.
void write_html(const SavedRun& run, const std::vector<PublishedRow>& published, std::ostream& out);

/// Those with seconds whose model is as large as what the run's times stand for, within 10 %.
std::vector<PublishedRow> comparable(const std::vector<PublishedRow>& rows,
                                     const nlohmann::ordered_json& record);

}  // namespace refit
