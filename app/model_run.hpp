// A run of a model that no memory holds: a bit pass over its words, then time passes over the
// sizes the bit pass recorded.
//
// Sampled    the source's sample_words go through the bit pass; payload and times are estimates
//            with 95 % intervals. Three time passes: at the estimate and at both ends.
// Full       all words do, and the sample says beside it what it would have said. With its
//            journal an interrupted pass is taken up again.
// Files      in `folder`: the journal of a full pass, the recording of the time pass.
// Baselines  `full` and `full-zstd` from samples, over the same plan without its faults.
// Memory     one unit of words with its windows, the grid, the shard maps; below 4 GiB at 1T.
// Errors     as load_architecture(), make_catalog(), layouts, World::run(); Interrupted passes.
#pragma once

#include <filesystem>

#include "app/console.hpp"
#include "app/model_bits.hpp"
#include "engine/record.hpp"
#include "kernels/device.hpp"
#include "scenarios/scenario.hpp"

namespace refit {

/// Which words of a scenario's model change. Errors: as load_profile().
Result<ChangeSpec> change_of(const Scenario& scenario);

Result<RunRecord> run_model(const Console& console,
                            const Scenario& scenario,
                            Device& device,
                            const std::filesystem::path& folder);

}  // namespace refit
