// What a user reads when the command line is wrong or empty.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "app/command.hpp"

namespace refit {

/// One line for a command line that did not parse, with the nearest known name for a typo.
std::string usage_error(const CLI::App& program, const CLI::ParseError& error);

/// Bare `refit`: who asks what, and the commands that answer; rows without one are left out.
std::string overview(const std::vector<Command>& commands);

}  // namespace refit
