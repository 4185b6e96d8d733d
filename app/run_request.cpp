#include "app/run_request.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace refit {

namespace {

using Json = nlohmann::json;

bool is_texts(const Json& list) {
    return list.is_array() &&
           std::ranges::all_of(list, [](const Json& text) { return text.is_string(); });
}

bool is_request(const Json& json) {
    const auto is_pair = [](const Json& pair) { return is_texts(pair) && pair.size() == 2; };
    return json.is_object() && json.value("schema", Json()) == "refit.request/1" &&
           json.contains("scenario") && json["scenario"].is_string() &&
           json.contains("overrides") && json["overrides"].is_array() &&
           std::ranges::all_of(json["overrides"], is_pair) && json.contains("require") &&
           is_texts(json["require"]) && (!json.contains("versions") || is_texts(json["versions"]));
}

}  // namespace

std::string to_text(const RunRequest& request) {
    nlohmann::ordered_json json{{"schema", "refit.request/1"},
                                {"scenario", request.file.string()},
                                {"overrides", request.overrides},
                                {"require", request.require}};
    for (const std::filesystem::path& version : request.versions)
        json["versions"].push_back(std::filesystem::absolute(version).string());
    return json.dump(2) + "\n";
}

Result<RunRequest> load_request(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    const Json json = Json::parse(stream, nullptr, false);
    if (!is_request(json))
        return Error{ErrorCode::invalid_input, "is no request that a run leaves", file.string()};
    RunRequest request{json["scenario"].get<std::string>(), {}, json["require"], {}};
    for (const Json& pair : json["overrides"]) request.overrides.push_back(pair);
    if (json.contains("versions"))
        for (const Json& version : json["versions"])
            request.versions.emplace_back(version.get<std::string>());
    return request;
}

Result<Scenario> RunRequest::scenario(const std::filesystem::path& data_root) const {
    REFIT_TRY(scenario, load_scenario(file, data_root, overrides));
    if (!versions.empty()) {
        scenario.source.trace.clear();
        scenario.source.versions = versions;
    }
    return std::move(scenario);
}

}  // namespace refit
