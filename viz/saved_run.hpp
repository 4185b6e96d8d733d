// A run as its folder keeps it: the recording and the record, with what every view folds from them.
//
// Errors    as read_recording() and check_record() (record_shape.hpp). A folder without a
//           record is that of a run that did not end: `record` is null, and `missing` says so.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/observe/recording.hpp"
#include "engine/observe/traffic.hpp"
#include "viz/spans.hpp"

namespace refit {

struct SavedRun {
    Recording recording;
    nlohmann::ordered_json record;     // null when there is none
    std::vector<std::string> missing;  // a sentence for each thing that is not there or not whole
    IdleAccount idle;
    Nanoseconds stolen{0};
    std::vector<EdgeTraffic> edges;
    std::vector<Span> spans;

    Nanoseconds end() const;  // of the last event
    const std::string& node_name(NodeId node) const;
};

/// What follows from a recording and its record, which is null or has passed check_record().
SavedRun make_saved_run(Recording recording, nlohmann::ordered_json record);

Result<SavedRun> load_run(const std::filesystem::path& folder);

}  // namespace refit
