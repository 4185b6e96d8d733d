// A plan for people, for spreadsheets and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/plan/plan.hpp"

namespace refit {

std::string_view objective_name(PlanObjective objective);

std::vector<std::string> plan_text(const RefitPlan& plan);

/// A line a codec, best first, units in the header; a price nobody has is an empty field.
std::vector<std::string> plan_csv(const RefitPlan& plan);

/// Schema refit.plan/1: results/README.md. `explained`: with the lines of explain(), best codec.
nlohmann::ordered_json plan_document(const RefitPlan& plan, bool explained);

}  // namespace refit
