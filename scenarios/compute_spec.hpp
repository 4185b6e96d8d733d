// The table [compute] of a scenario: a load to run, and times of the loop that follow from FLOP.
//
// Model    loop.step = training FLOP of tokens_per_step tokens / rate of the whole trainer,
//          loop.generation = forward FLOP of them / rate of all rollout GPUs
//          (workloads/compute_load.hpp says which FLOP count). Declared rates: extrapolated.
// Errors   recorded in the tables, at the key they are about.
#pragma once

#include "scenarios/scenario.hpp"
#include "scenarios/toml_document.hpp"

namespace refit {

void read_compute(TomlTable table, ComputeSpec& compute);

/// Fills in the times of the loop that follow; reads the architecture if there are any. `root` is
/// the table of the scenario.
void derive_times(TomlTable& root, Scenario& scenario);

/// What no file is needed for.
Status check_compute(const Scenario& scenario);

}  // namespace refit
