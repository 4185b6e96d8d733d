// What was asked of a run, kept in its folder: a scenario and what overrides it. Who resumes a full
// run asks for it again; who shows words of a finished one makes them from it.
//
// File      JSON, schema "refit.request/1": `scenario`, `overrides` (pairs), `require`, and
//           `versions` where checkpoints were named; paths are absolute.
// Errors    invalid_input: the file is not there or is none of these; what load_scenario() says.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/scenario.hpp"

namespace refit {

struct RunRequest {
    std::filesystem::path file;
    std::vector<std::pair<std::string, std::string>> overrides;
    std::vector<std::string> require;
    std::vector<std::filesystem::path> versions;  // base, next, ...; empty: the scenario's source

    /// The scenario with its overrides and versions; nobody has validated it.
    Result<Scenario> scenario(const std::filesystem::path& data_root) const;
};

std::string to_text(const RunRequest& request);
Result<RunRequest> load_request(const std::filesystem::path& file);

}  // namespace refit
