// Composition: from a scenario to a finished run. The only place that picks real or simulated.
//
// Main run     real bits; the wire and the clock are simulated; a directory object store and a
//              SQLite register in `folder`, where its recording is written as it goes.
// Baselines    `full` and `full-zstd` over the same plan without its faults (which can only help
//              them), one refit each, store and register in memory.
// Errors       as the scenario's files, layouts and World::run(); Interrupted passes through.
#pragma once

#include <filesystem>

#include "app/console.hpp"
#include "engine/record.hpp"
#include "kernels/device.hpp"
#include "scenarios/scenario.hpp"

namespace refit {

Result<RunRecord> run_scenario(const Console& console,
                               const Scenario& scenario,
                               Device& device,
                               const std::filesystem::path& folder);

}  // namespace refit
