// What the player of the report moves through, as JSON: times in milliseconds of the run, steps as
// [time, value] pairs that hold until the next one.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "viz/lane_view.hpp"
#include "viz/tensor_view.hpp"
#include "viz/tree_view.hpp"

namespace refit::report {

struct PlayerViews {
    const TreeView& places;
    const std::vector<LaneRow>& rows;
    const TensorMap& map;
    const TimeScale& scale;
};

nlohmann::ordered_json player_data(const SavedRun& run, const PlayerViews& views);

}  // namespace refit::report
