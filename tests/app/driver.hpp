// Runs the built program as a user would and keeps what it said.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/support/files.hpp"

namespace refit {

struct Outcome {
    int code = -1;  // exit code; 1000 + signal if one killed it
    std::string out;
    std::string err;
    std::uint64_t peak_bytes = 0;  // the most memory that was resident

    nlohmann::json document() const { return nlohmann::json::parse(out, nullptr, false); }
    /// Exactly one line on stderr.
    bool one_line() const { return !err.empty() && err.find('\n') == err.size() - 1; }
};

/// How the program is started, apart from its arguments.
struct Start {
    std::filesystem::path folder = ".";
    bool interrupted = false;        // SIGINT is pending when it starts
    std::uint64_t file_limit = 0;    // bytes a file may have; 0: no limit
    std::vector<std::string> extra;  // environment, NAME=value
};

/// Exit code, nothing on stdout, and one line that says this.
void expect_refused(const Outcome& outcome, int code, const std::string& says);

std::set<std::string> keys_of(const nlohmann::json& object);

Outcome run_refit(const std::vector<std::string>& arguments, const Start& start = {});

/// Two consecutive versions of the dense trace; from the shipped delta where the whole trace is
/// not at hand. Lives as long as the process.
struct TracePair {
    std::filesystem::path base;
    std::filesystem::path next;
};
TracePair trace_pair(const TestFolder& folder);

}  // namespace refit
