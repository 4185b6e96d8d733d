#include "viz/record_values.hpp"

namespace refit {

namespace {

using Json = nlohmann::ordered_json;
using Take = std::function<void(const std::string&, const Json&)>;

std::string item_name(const Json& item, std::size_t place) {
    for (const char* key : {"name", "codec"})
        if (item.is_object() && item.contains(key) && item[key].is_string()) return item[key];
    return std::to_string(place);
}

void walk(const std::string& key, const Json& value, const Take& take) {
    if (!value.is_structured() || is_figure(value)) return take(key, value);
    std::size_t place = 0;
    for (const auto& [name, item] : value.items()) {
        const std::string part = value.is_array() ? item_name(item, ++place) : name;
        walk(key.empty() ? part : key + "." + part, item, take);
    }
}

}  // namespace

bool is_figure(const Json& value) {
    const auto text = [&](const char* key) {
        return value.contains(key) && value[key].is_string();
    };
    if (!value.is_object() || !value.contains("value") || !value["value"].is_number() ||
        !text("unit") || !text("provenance"))
        return false;
    if (!value.contains("ci95")) return true;
    const Json& interval = value["ci95"];
    return interval.is_array() && interval.size() == 2 && interval[0].is_number() &&
           interval[1].is_number();
}

void each_value(const Json& record, const Take& take) { walk("", record, take); }

}  // namespace refit
