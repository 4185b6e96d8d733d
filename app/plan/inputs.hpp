// From flags to what a plan is made of: a scenario or two regions, a model, payloads, prices.
//
// Errors   invalid_input, not_found: one line that names the flag or file, with the nearest name
//          where one is near. A missing price is one only when the objective is cost.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/plan/plan.hpp"
#include "engine/base/result.hpp"

namespace refit {

struct PlanFlags {
    std::string scenario;  // empty: the shipped one for models
    std::string model;
    std::string topology;
    std::string from;
    std::vector<std::string> to;
    std::uint32_t paths = 1;
    std::string changed;  // a fraction; empty: the scenario's
    std::string profile;  // a built-in one, or a file of `refit profile -o`; empty: the scenario's
    std::string step;     // empty: the scenario's
    PlanObjective objective = PlanObjective::time;
    std::uint32_t gpus = 32;  // a replica's, where --to says nothing
    std::string gpu = "H200";
    double gpu_price = 0;      // $ an hour; 0: the planning default of `gpu`
    double egress_price = -1;  // $ a GB on every link; below 0: those of the regions
};

Result<PlanInputs> plan_inputs(const PlanFlags& flags, const std::filesystem::path& data_root);

}  // namespace refit
