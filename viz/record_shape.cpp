#include "viz/record_shape.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "viz/record_values.hpp"

namespace refit {

namespace {

using Json = nlohmann::ordered_json;

enum class Shape : std::uint8_t { text, count, number, flag, figure, list, rates };

struct Wanted {
    const char* key;  // dotted
    Shape shape;
    bool optional = false;
};

constexpr Wanted kRecord[] = {{"title", Shape::text},
                              {"seed", Shape::count},
                              {"backend_reason", Shape::text},
                              {"link_scale", Shape::number},
                              {"declared_rates", Shape::text},
                              {"model.name", Shape::text},
                              {"model.parameters", Shape::count},
                              {"model.stands_for_parameters", Shape::count},
                              {"changed", Shape::figure},
                              {"codec.name", Shape::text},
                              {"codec.payload_bytes", Shape::figure},
                              {"codec.bits_per_parameter", Shape::figure},
                              {"codec.bound_bits_per_parameter", Shape::figure},
                              {"codec.ratio_to_bound", Shape::figure},
                              {"full.codec", Shape::text},
                              {"full.seconds", Shape::figure},
                              {"full.bits_per_second", Shape::figure},
                              {"full.baselines", Shape::list},
                              {"refit.seconds", Shape::figure},
                              {"refit.encode_seconds", Shape::figure},
                              {"refit.wire_seconds", Shape::figure},
                              {"refit.stage_seconds", Shape::figure},
                              {"refit.pause_seconds", Shape::figure},
                              {"refit.longest_pause_seconds", Shape::figure},
                              {"speedup", Shape::figure},
                              {"gpu_idle.fraction", Shape::figure},
                              {"verify.exact", Shape::flag},
                              {"verify.words_checked", Shape::count},
                              {"verify.mismatches", Shape::count},
                              {"faults", Shape::list},
                              {"maps", Shape::list},
                              {"refits", Shape::list}};

constexpr Wanted kBaseline[] = {{"codec", Shape::text},
                                {"seconds", Shape::figure},
                                {"payload_bytes", Shape::count},
                                {"bits_per_second", Shape::figure}};

constexpr Wanted kMap[] = {{"name", Shape::text},        {"layout", Shape::text},
                           {"ranks", Shape::count},      {"boxes", Shape::count},
                           {"held_words", Shape::count}, {"copies_max", Shape::count}};

constexpr Wanted kRefit[] = {
    {"version", Shape::count},        {"payload_bytes", Shape::count},
    {"seconds", Shape::number},       {"encode_seconds", Shape::number},
    {"wire_seconds", Shape::number},  {"stage_seconds", Shape::number},
    {"pause_seconds", Shape::number}, {"longest_pause_seconds", Shape::number},
    {"changed_words", Shape::count},  {"changed_by_kind", Shape::rates, true}};

bool is_rates(const Json& value) {
    return value.is_object() && std::ranges::all_of(value.begin(), value.end(),
                                                    [](const Json& v) { return v.is_number(); });
}

bool has_shape(const Json& value, Shape shape) {
    switch (shape) {
        case Shape::text:
            return value.is_string();
        case Shape::count:
            return value.is_number_unsigned();
        case Shape::number:
            return value.is_number();
        case Shape::flag:
            return value.is_boolean();
        case Shape::figure:
            return is_figure(value);
        case Shape::list:
            return value.is_array();
        case Shape::rates:
            return is_rates(value);
    }
    return false;
}

/// Null where there is none.
const Json* find(const Json& in, std::string_view key) {
    const Json* value = &in;
    while (!key.empty()) {
        const std::size_t dot = std::min(key.find('.'), key.size());
        if (!value->is_object()) return nullptr;
        const auto found = value->find(std::string(key.substr(0, dot)));
        if (found == value->end()) return nullptr;
        value = &*found;
        key.remove_prefix(std::min(dot + 1, key.size()));
    }
    return value;
}

Status check(const Json& value, std::span<const Wanted> wanted, const std::string& where) {
    for (const Wanted& key : wanted) {
        const Json* found = find(value, key.key);
        if (found == nullptr && key.optional) continue;
        if (found == nullptr || !has_shape(*found, key.shape))
            return Error{ErrorCode::corrupt, "has no or a wrong '" + where + key.key + "'"};
    }
    return Done{};
}

Status check_list(const Json& list, std::span<const Wanted> wanted, const std::string& name) {
    for (std::size_t i = 0; i < list.size(); ++i)
        REFIT_CHECK(check(list[i], wanted, name + "." + std::to_string(i) + "."));
    return Done{};
}

}  // namespace

Status check_record(const Json& record) {
    const Json* schema = find(record, "schema");
    if (schema == nullptr || *schema != "refit.run/1")
        return Error{ErrorCode::corrupt, "is no record of a run"};
    REFIT_CHECK(check(record, kRecord, ""));
    // Views divide by them.
    for (const char* key : {"link_scale", "model.parameters", "model.stands_for_parameters"})
        if (*find(record, key) <= 0)
            return Error{ErrorCode::corrupt, std::string("has no or a wrong '") + key + "'"};
    REFIT_CHECK(check_list(record["full"]["baselines"], kBaseline, "full.baselines"));
    REFIT_CHECK(check_list(record["maps"], kMap, "maps"));
    REFIT_CHECK(check_list(record["refits"], kRefit, "refits"));
    for (const Json& fault : record["faults"])
        if (!fault.is_string()) return Error{ErrorCode::corrupt, "has no or a wrong 'faults'"};
    return Done{};
}

}  // namespace refit
