// What the program ships as data: scenarios, topologies, traces and architectures under one root.
//
// Layout   scenarios/<name>.toml, scenarios/topologies/<name>.toml,
//          workloads/traces/<name>/trace.toml, workloads/architectures/<name>.toml, as in the
//          source tree.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/net/topology.hpp"

namespace refit {

/// False also where nobody may look.
bool is_file(const std::filesystem::path& path);

/// Sorted names without ".toml"; empty if the folder is not there.
std::vector<std::string> shipped_scenarios(const std::filesystem::path& data_root);
std::vector<std::string> shipped_topologies(const std::filesystem::path& data_root);
std::vector<std::string> shipped_traces(const std::filesystem::path& data_root);
std::vector<std::string> shipped_architectures(const std::filesystem::path& data_root);

/// What a user means by `name`: a file that exists; else a shipped scenario, written as "smoke",
/// "smoke.toml" or "scenarios/smoke.toml". The error lists the shipped names.
Result<std::filesystem::path> find_scenario(const std::string& name,
                                            const std::filesystem::path& data_root);

/// The same for a topology, relative to `folder` first.
Result<std::filesystem::path> find_topology(const std::string& name,
                                            const std::filesystem::path& folder,
                                            const std::filesystem::path& data_root);

/// The trace.toml that a shipped name or a path (relative to `folder`) stands for.
Result<std::filesystem::path> find_trace(const std::string& name,
                                         const std::filesystem::path& folder,
                                         const std::filesystem::path& data_root);

/// The file of a shipped architecture, or a path (relative to `folder`).
Result<std::filesystem::path> find_architecture(const std::string& name,
                                                const std::filesystem::path& folder,
                                                const std::filesystem::path& data_root);

/// The file of published figures, workloads/published.hpp.
std::filesystem::path published_file(const std::filesystem::path& data_root);

/// Reads and validates a topology file, schema "refit.topology/1".
Result<Topology> load_topology(const std::filesystem::path& file);

}  // namespace refit
