#include "viz/comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "viz/record_values.hpp"

namespace refit {

namespace {

using Json = nlohmann::ordered_json;

bool is_of_host(const std::string& key) { return key == "host" || key.starts_with("host."); }

std::map<std::string, const Json*> values_of(const Json& record) {
    std::map<std::string, const Json*> values;
    each_value(record,
               [&](const std::string& key, const Json& value) { values.emplace(key, &value); });
    return values;
}

/// Measured, simulated, extrapolated: the later the weaker.
std::string weaker(const std::string& a, const std::string& b) {
    constexpr std::array<std::string_view, 3> kOrder = {"measured", "simulated", "extrapolated"};
    return std::ranges::find(kOrder, a) < std::ranges::find(kOrder, b) ? b : a;
}

/// Half the 95 % interval over the value; 0 without one.
double relative_half(const Json& value) {
    const double middle = value["value"];
    if (!value.contains("ci95") || middle == 0) return 0;
    return (value["ci95"][1].get<double>() - value["ci95"][0].get<double>()) / 2 / std::abs(middle);
}

std::optional<ComparedValue> compare_values(const std::string& key, const Json& a, const Json& b) {
    ComparedValue value;
    value.key = key;
    if (a.is_number() && b.is_number()) {
        value.a = a;
        value.b = b;
    } else if (is_figure(a) && is_figure(b) && a["value"].is_number() && b["value"].is_number()) {
        value.a = a["value"];
        value.b = b["value"];
        value.unit = a["unit"];
        value.provenance = weaker(a["provenance"], b["provenance"]);
    } else {
        return std::nullopt;
    }
    value.differs = a.dump() != b.dump() && value.a != value.b;
    if (value.a == 0) return value;
    const double ratio = value.b / value.a;
    value.ratio = ratio;
    if (value.provenance.empty() || !(a.contains("ci95") || b.contains("ci95"))) return value;
    const double half = std::abs(ratio) * std::hypot(relative_half(a), relative_half(b));
    value.ratio_ci95 = {ratio - half, ratio + half};
    value.differs = ratio - half > 1 || ratio + half < 1;
    return value;
}

}  // namespace

Result<Comparison> compare_records(const Json& a, const Json& b) {
    const std::string schema_a = a.is_object() ? a.value("schema", "") : "";
    const std::string schema_b = b.is_object() ? b.value("schema", "") : "";
    if (schema_a.empty() || schema_a != schema_b)
        return Error{ErrorCode::invalid_input,
                     "are no documents of one kind: '" + schema_a + "' and '" + schema_b + "'"};
    const auto others = values_of(b);
    Comparison comparison;
    each_value(a, [&](const std::string& key, const Json& value) {
        const auto other = others.find(key);
        if (other == others.end() || is_of_host(key)) return;
        if (const auto compared = compare_values(key, value, *other->second)) {
            comparison.values.push_back(*compared);
        } else if (value != *other->second) {
            const auto text = [](const Json& of) {
                return of.is_string() ? of.get<std::string>() : of.dump();
            };
            comparison.texts.push_back({key, text(value), text(*other->second)});
        }
    });
    return comparison;
}

}  // namespace refit
