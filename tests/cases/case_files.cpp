#include "tests/cases/case_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tests/support/files.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;
using Header = nlohmann::ordered_json;

constexpr const char* kMetadata = "__metadata__";
constexpr const char* kIndex = "model.safetensors.index.json";

/// A file taken apart.
struct Parts {
    Header header;
    bool escaped = false;    // has \u escapes
    std::size_t spaces = 0;  // behind the JSON
    std::string data;
};

Parts take_apart(const std::string& file) {
    Parts parts;
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof(length));
    const std::string json = file.substr(sizeof(length), length);
    parts.header = Header::parse(json);
    parts.escaped = json.find("\\u") != json.npos;
    parts.spaces = json.size() - 1 - json.find_last_of('}');
    parts.data = file.substr(sizeof(length) + length);
    return parts;
}

/// Tensor names in the order of their bytes, those without bytes among them.
std::vector<std::string> in_data_order(const Header& header) {
    std::vector<std::pair<std::vector<std::uint64_t>, std::string>> found;
    for (const auto& [name, entry] : header.items())
        if (name != kMetadata) found.emplace_back(entry["data_offsets"], name);
    std::sort(found.begin(), found.end());
    std::vector<std::string> names;
    for (auto& [offsets, name] : found) names.push_back(std::move(name));
    return names;
}

/// The file that holds every `shards`-th tensor, beginning with number `first`.
std::string shard_of(const Parts& parts,
                     const std::vector<std::string>& names,
                     std::size_t first,
                     std::size_t shards) {
    std::string data;
    nlohmann::json offsets = nlohmann::json::object();
    for (std::size_t i = first; i < names.size(); i += shards) {
        const auto& range = parts.header[names[i]]["data_offsets"];
        const std::size_t bytes = range[1].get<std::size_t>() - range[0].get<std::size_t>();
        offsets[names[i]] = {data.size(), data.size() + bytes};
        data += parts.data.substr(range[0].get<std::size_t>(), bytes);
    }
    Header header = Header::object();
    for (const auto& [name, entry] : parts.header.items()) {
        if (name != kMetadata && !offsets.contains(name)) continue;
        header[name] = entry;
        if (name != kMetadata) header[name]["data_offsets"] = offsets[name];
    }
    return safetensors_header(header.dump(-1, ' ', parts.escaped) +
                              std::string(parts.spaces, ' ')) +
           data;
}

}  // namespace

fs::path cases_folder() { return fs::path(REFIT_SOURCE_DIR) / ".." / "shared" / "cases" / "files"; }

std::vector<nlohmann::json> checks_of(const std::string& kind) {
    std::vector<nlohmann::json> checks;
    if (!fs::exists(cases_folder() / "manifest.json")) return checks;
    const auto manifest = nlohmann::json::parse(read_text_file(cases_folder() / "manifest.json"));
    for (const auto& check : manifest)
        if (check["kind"] == kind) checks.push_back(check);
    return checks;
}

void write_sharded(const fs::path& file, const fs::path& folder, std::size_t shards) {
    const Parts parts = take_apart(read_text_file(file));
    const std::vector<std::string> names = in_data_order(parts.header);
    shards = std::min(shards, names.size());
    nlohmann::json map = nlohmann::json::object();
    for (std::size_t shard = 0; shard < shards; ++shard) {
        const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", shard + 1, shards);
        for (std::size_t i = shard; i < names.size(); i += shards) map[names[i]] = name;
        write_text_file(folder / name, shard_of(parts, names, shard, shards));
    }
    const nlohmann::json index{{"metadata", {{"total_size", parts.data.size()}}},
                               {"weight_map", map}};
    write_text_file(folder / kIndex, index.dump(2) + "\n");
}

void write_with_shard(const fs::path& file, const fs::path& folder) {
    fs::create_directories(folder);
    fs::copy_file(file, folder / kGivenShard);
    write_text_file(folder / "model-00002-of-00002.safetensors", small_safetensors("z", 1, 8));
    const nlohmann::json index{
        {"weight_map", {{"a", kGivenShard}, {"z", "model-00002-of-00002.safetensors"}}}};
    write_text_file(folder / kIndex, index.dump());
}

std::vector<std::pair<std::string, std::string>> contents(const fs::path& path) {
    std::vector<std::pair<std::string, std::string>> found;
    if (!fs::is_directory(path)) return {{"", read_text_file(path)}};
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
        if (entry.is_directory()) continue;
        found.emplace_back(entry.path().lexically_relative(path).string(),
                           read_text_file(entry.path()));
    }
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace refit
