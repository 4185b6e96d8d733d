#include "scenarios/shipped.hpp"

#include <algorithm>

namespace refit {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> toml_names(const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code failure;
    for (const auto& entry : fs::directory_iterator(folder, failure)) {
        if (entry.path().extension() == ".toml" && is_file(entry.path()))
            names.push_back(entry.path().stem().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

/// A name that is no path: it may stand for something shipped.
bool is_plain_name(const std::string& name) {
    return !name.empty() && name.find('/') == std::string::npos && name.front() != '.';
}

Error unknown(const std::string& name,
              const std::string& kind,
              const std::vector<std::string>& known) {
    std::string what = "no such file";
    if (is_plain_name(name)) what += " and no such shipped " + kind + " (" + joined(known) + ")";
    return Error{ErrorCode::not_found, what, name};
}

}  // namespace

bool is_file(const fs::path& path) {
    std::error_code failure;
    return fs::is_regular_file(path, failure);
}

std::vector<std::string> shipped_scenarios(const fs::path& data_root) {
    return toml_names(data_root / "scenarios");
}

std::vector<std::string> shipped_topologies(const fs::path& data_root) {
    return toml_names(data_root / "scenarios" / "topologies");
}

std::vector<std::string> shipped_traces(const fs::path& data_root) {
    std::vector<std::string> names;
    std::error_code failure;
    for (const auto& entry : fs::directory_iterator(data_root / "workloads" / "traces", failure)) {
        if (is_file(entry.path() / "trace.toml")) names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

std::vector<std::string> shipped_architectures(const fs::path& data_root) {
    return toml_names(data_root / "workloads" / "architectures");
}

Result<fs::path> find_scenario(const std::string& name, const fs::path& data_root) {
    const fs::path path(name);
    if (fs::exists(path)) return path;
    if (path.is_relative() && is_file(data_root / path)) return data_root / path;
    if (is_plain_name(name)) {
        for (const std::string& file : {name, name + ".toml"}) {
            const fs::path shipped = data_root / "scenarios" / file;
            if (is_file(shipped)) return shipped;
        }
    }
    return unknown(name, "scenario", shipped_scenarios(data_root));
}

Result<fs::path> find_topology(const std::string& name,
                               const fs::path& folder,
                               const fs::path& data_root) {
    if (is_file(folder / name)) return folder / name;
    const fs::path shipped = data_root / "scenarios" / "topologies" / (name + ".toml");
    if (is_plain_name(name) && is_file(shipped)) return shipped;
    return unknown(name, "topology", shipped_topologies(data_root));
}

Result<fs::path> find_trace(const std::string& name,
                            const fs::path& folder,
                            const fs::path& data_root) {
    const fs::path shipped = data_root / "workloads" / "traces" / name / "trace.toml";
    if (is_plain_name(name) && is_file(shipped)) return shipped;
    if (is_file(folder / name)) return folder / name;
    return unknown(name, "trace", shipped_traces(data_root));
}

Result<fs::path> find_architecture(const std::string& name,
                                   const fs::path& folder,
                                   const fs::path& data_root) {
    const fs::path shipped = data_root / "workloads" / "architectures" / (name + ".toml");
    if (is_plain_name(name) && is_file(shipped)) return shipped;
    if (is_file(folder / name)) return folder / name;
    return unknown(name, "architecture", shipped_architectures(data_root));
}

fs::path published_file(const fs::path& data_root) {
    return data_root / "workloads" / "published.csv";
}

}  // namespace refit
