#include "engine/record.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace refit {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Figure& figure) {
    return {{"value", figure.value},
            {"unit", figure.unit},
            {"provenance", provenance_name(figure.provenance)}};
}

Json measured(double value, std::string unit) {
    return to_json(Figure{value, std::move(unit), Provenance::measured});
}

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

Json codec_json(const RunRecord& record, const RunFigures& f) {
    return {
        {"name", record.codec},
        {"summary", record.codec_summary},
        {"chunk_bytes", record.chunk_bytes},
        {"payload_bytes", measured(f.payload_bytes, "B")},
        {"bits_per_parameter", measured(f.bits_per_parameter, "bit")},
        {"bound_bits_per_parameter", measured(f.bound_bits_per_parameter, "bit")},
        {"ratio_to_bound", measured(ratio(f.bits_per_parameter, f.bound_bits_per_parameter), "1")}};
}

Json full_json(const RunRecord& record, const RunFigures& f) {
    Json full;
    const BaselineRecord* fastest = f.fastest;
    full["codec"] = fastest == nullptr ? "" : fastest->codec;
    full["seconds"] =
        to_json({fastest == nullptr ? 0 : fastest->seconds, "s", record.time_provenance});
    full["bits_per_second"] = to_json(
        {fastest == nullptr ? 0 : fastest->bits_per_second, "bit/s", record.time_provenance});
    Json& all = full["baselines"] = Json::array();
    for (const BaselineRecord& baseline : record.baselines) {
        all.push_back({{"codec", baseline.codec},
                       {"seconds", to_json({baseline.seconds, "s", record.time_provenance})},
                       {"payload_bytes", baseline.payload_bytes},
                       {"bits_per_second",
                        to_json({baseline.bits_per_second, "bit/s", record.time_provenance})}});
    }
    return full;
}

Json refit_json(const RunRecord& record, const RunFigures& f) {
    const auto seconds = [&record](double value) {
        return to_json(Figure{value, "s", record.time_provenance});
    };
    return {{"seconds", seconds(f.refit_seconds)},
            {"encode_seconds", seconds(f.encode_seconds)},
            {"wire_seconds", seconds(f.wire_seconds)},
            {"stage_seconds", seconds(f.stage_seconds)},
            {"pause_seconds", seconds(f.pause_seconds)},
            {"longest_pause_seconds", seconds(f.longest_pause_seconds)}};
}

Json refits_json(const RunRecord& record) {
    Json refits = Json::array();
    for (std::size_t i = 0; i < record.run.refits.size(); ++i) {
        const RefitTimes& refit = record.run.refits[i];
        Json entry = {{"version", refit.version},
                      {"payload_bytes", refit.payload_bytes},
                      {"seconds", to_seconds(refit.seconds())},
                      {"encode_seconds", to_seconds(refit.encode())},
                      {"wire_seconds", to_seconds(refit.wire())},
                      {"stage_seconds", to_seconds(refit.stage())},
                      {"pause_seconds", to_seconds(refit.pause())},
                      {"longest_pause_seconds", to_seconds(refit.longest_pause)}};
        if (i < record.changes.size()) {
            entry["changed_words"] = record.changes[i].changed;
            for (const auto& [name, kind] : record.changes[i].kinds) {
                entry["changed_by_kind"][name] =
                    ratio(static_cast<double>(kind.changed), static_cast<double>(kind.words));
            }
        }
        refits.push_back(std::move(entry));
    }
    return refits;
}

Json idle_json(const RunRecord& record, const RunFigures& f) {
    const IdleAccount& idle = record.run.idle;
    const auto total = static_cast<double>(idle.replica_time.count);
    Json causes = Json::object();
    for (const auto& [cause, time] : idle.idle)
        causes[std::string(cause_name(cause))] = ratio(static_cast<double>(time.count), total);
    return {{"fraction", to_json({f.idle_fraction, "1", record.time_provenance})},
            {"by_cause", causes},
            {"replica_seconds", to_seconds(idle.replica_time)}};
}

Json edges_json(const RunRecord& record) {
    Json edges = Json::array();
    const auto& names = record.run.timeline.node_names();
    for (const EdgeTraffic& edge : record.run.edges) {
        edges.push_back({{"version", edge.version},
                         {"from", names[edge.parent]},
                         {"to", names[edge.child]},
                         {"chunks", edge.chunks},
                         {"repeated", edge.repeated},
                         {"sent_bytes", edge.sent_bytes},
                         {"kept_bytes", edge.kept_bytes},
                         {"first_seconds", to_seconds(edge.first)},
                         {"last_seconds", to_seconds(edge.last)}});
    }
    return edges;
}

Json maps_json(const RunRecord& record) {
    Json maps = Json::array();
    for (const MapRecord& map : record.maps) {
        maps.push_back({{"name", map.name},
                        {"layout", map.layout},
                        {"ranks", map.ranks},
                        {"boxes", map.boxes},
                        {"held_words", map.held_words},
                        {"copies_max", map.copies_max}});
    }
    return maps;
}

}  // namespace

RunFigures figures(const RunRecord& record) {
    RunFigures f;
    const auto count = static_cast<double>(std::max<std::size_t>(1, record.run.refits.size()));
    for (const RefitTimes& refit : record.run.refits) {
        f.refit_seconds += to_seconds(refit.seconds()) / count;
        f.encode_seconds += to_seconds(refit.encode()) / count;
        f.wire_seconds += to_seconds(refit.wire()) / count;
        f.stage_seconds += to_seconds(refit.stage()) / count;
        f.pause_seconds += to_seconds(refit.pause()) / count;
        f.longest_pause_seconds =
            std::max(f.longest_pause_seconds, to_seconds(refit.longest_pause));
        f.payload_bytes += static_cast<double>(refit.payload_bytes) / count;
    }
    const auto words = static_cast<double>(record.model_parameters);
    const auto steps = static_cast<double>(std::max<std::size_t>(1, record.changes.size()));
    for (const ChangeStats& change : record.changes) {
        f.changed += ratio(static_cast<double>(change.changed), words) / steps;
        f.bound_bits_per_parameter += ratio(change.bound_bits, words) / steps;
    }
    f.bits_per_parameter = ratio(f.payload_bytes * 8, words);
    for (const BaselineRecord& baseline : record.baselines)
        if (f.fastest == nullptr || baseline.seconds < f.fastest->seconds) f.fastest = &baseline;
    if (f.fastest != nullptr) f.speedup = ratio(f.fastest->seconds, f.refit_seconds);
    f.idle_fraction = ratio(static_cast<double>(record.run.idle.idle_total().count),
                            static_cast<double>(record.run.idle.replica_time.count));
    const WorldTotals& totals = record.run.totals;
    f.exact = totals.mismatches == 0 && totals.resident_failures == 0 && totals.words_checked > 0;
    return f;
}

nlohmann::ordered_json to_json(const RunRecord& record) {
    const RunFigures f = figures(record);
    const WorldTotals& totals = record.run.totals;
    const TrafficTotals traffic = total(record.run.edges);
    Json json;
    json["schema"] = "refit.run/1";
    json["title"] = record.title;
    json["seed"] = record.seed;
    json["backend"] = record.backend;
    json["backend_reason"] = record.backend_reason;
    json["link_scale"] = record.link_scale;
    json["declared_rates"] = record.declared_rates;
    json["model"] = {{"name", record.model_name},
                     {"parameters", record.model_parameters},
                     {"stands_for_parameters", record.stands_for_parameters}};
    json["sampled_fraction"] = 1.0;
    json["changed"] = measured(f.changed, "1");
    json["codec"] = codec_json(record, f);
    json["full"] = full_json(record, f);
    json["refit"] = refit_json(record, f);
    json["speedup"] = to_json({f.speedup, "1", record.time_provenance});
    json["gpu_idle"] = idle_json(record, f);
    json["verify"] = {{"exact", f.exact},
                      {"words_checked", totals.words_checked},
                      {"mismatches", totals.mismatches},
                      {"resident_checks", totals.resident_checks},
                      {"resident_failures", totals.resident_failures}};
    json["wire"] = {{"bytes_sent", traffic.sent_bytes},
                    {"bytes_needed", traffic.needed_bytes},
                    {"phantom_bytes", 0}};
    json["store"] = {{"bytes_read", totals.store_bytes_read}};
    json["gather"] = {{"trainer_bytes", totals.trainer_gather_bytes},
                      {"replica_bytes", totals.replica_gather_bytes}};
    json["commit"] = {{"versions", record.run.decided.version},
                      {"delta", to_hex(record.run.decided.delta)},
                      {"resumes", count_resumes(record.run.timeline)},
                      {"units_encoded", totals.units_encoded},
                      {"reencodes", totals.reencodes}};
    json["faults"] = record.faults;
    json["maps"] = maps_json(record);
    json["refits"] = refits_json(record);
    json["edges"] = edges_json(record);
    json["host"] = {{"cpu", record.host.cpu},
                    {"device", record.host.device},
                    {"version", record.host.version},
                    {"wall_seconds", record.host.wall_seconds}};
    return json;
}

Result<double> record_value(const nlohmann::ordered_json& record, const std::string& key) {
    const Json* at = &record;
    for (std::size_t begin = 0; begin <= key.size();) {
        const std::size_t end = std::min(key.find('.', begin), key.size());
        const std::string name = key.substr(begin, end - begin);
        if (!at->is_object() || !at->contains(name))
            return Error{ErrorCode::not_found, "the record has no figure '" + key + "'"};
        at = &(*at)[name];
        begin = end + 1;
    }
    if (at->is_object() && at->contains("value")) at = &(*at)["value"];
    if (at->is_boolean()) return at->get<bool>() ? 1.0 : 0.0;
    if (at->is_number()) return at->get<double>();
    return Error{ErrorCode::not_found, "the record has no figure '" + key + "'"};
}

}  // namespace refit
