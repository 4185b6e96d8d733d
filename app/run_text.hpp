// The text result of a run: both times and the link, then five lines, one per system.
#pragma once

#include <string>
#include <vector>

#include "engine/record.hpp"

namespace refit {

std::vector<std::string> run_text(const RunRecord& record);

}  // namespace refit
