// What every kind of run needs from a scenario, whoever composes it.
#pragma once

#include <string>
#include <vector>

#include "engine/record.hpp"
#include "engine/sim/world.hpp"
#include "kernels/device.hpp"
#include "scenarios/scenario.hpp"

namespace refit {

/// The scenario's plan, link and fleet rates times `scale`.
WorldPlan make_plan(const Scenario& scenario, std::uint64_t refits, double scale);

/// What is said of a run before it begins: rates, codec, backend, machine.
void describe_run(const Scenario& scenario, const Device& device, double scale, RunRecord& record);

/// "encode 8000 GB/s, ...": what drives virtual time.
std::string declared_rates(const Fleet& fleet);

BaselineRecord baseline_of(const std::string& codec, const RefitTimes& refit, double scale);

/// One line for each fault that struck, with its time.
std::vector<std::string> describe_faults(const RunResult& run, const Topology& topology);

}  // namespace refit
