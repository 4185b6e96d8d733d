#include "engine/record.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/observe/loop_form.hpp"

namespace refit {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Figure& figure) {
    Json json = {{"value", figure.value},
                 {"unit", figure.unit},
                 {"provenance", provenance_name(figure.provenance)}};
    if (figure.ci95) json["ci95"] = {figure.ci95->first, figure.ci95->second};
    return json;
}

/// Of bits that were all made: measured. Of a sample: extrapolated, with its interval.
Json of_bits(const RunRecord& record, double value, std::string unit, const Estimate* interval) {
    Figure figure{value, std::move(unit), Provenance::measured};
    if (record.passes && !record.passes->full()) {
        figure.provenance = Provenance::extrapolated;
        if (interval != nullptr) figure.ci95 = {interval->low, interval->high};
    }
    return to_json(figure);
}

Estimate scaled(const Estimate& estimate, double factor) {
    return {estimate.value * factor, estimate.low * factor, estimate.high * factor};
}

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

Json codec_json(const RunRecord& record, const RunFigures& f) {
    const Estimate payload = record.passes ? record.passes->payload : Estimate{};
    const Estimate bits = scaled(payload, ratio(8, static_cast<double>(record.model_parameters)));
    // That of a model follows from its sample, also in a full run.
    const auto bound = [&record](double value, std::string unit) {
        return to_json({value, std::move(unit),
                        record.passes ? Provenance::extrapolated : Provenance::measured,
                        std::nullopt});
    };
    return {
        {"name", record.codec},
        {"summary", record.codec_summary},
        {"chunk_bytes", record.chunk_bytes},
        {"payload_bytes", of_bits(record, f.payload_bytes, "B", &payload)},
        {"bits_per_parameter", of_bits(record, f.bits_per_parameter, "bit", &bits)},
        {"bound_bits_per_parameter", bound(f.bound_bits_per_parameter, "bit")},
        {"ratio_to_bound", bound(ratio(f.bits_per_parameter, f.bound_bits_per_parameter), "1")}};
}

/// What a run of a model rests on; a full run tells whether its sample would have been right.
Json passes_json(const ModelPasses& passes, double payload_bytes) {
    const auto interval = [](const Estimate& estimate) {
        return Json{{"value", estimate.value}, {"ci95", {estimate.low, estimate.high}}};
    };
    Json json = {{"sampled_tiles", passes.sampled_tiles},
                 {"strata", passes.strata},
                 {"payload_bytes_from_sample", interval(passes.payload)},
                 {"changed_words_from_sample", interval(passes.changed)},
                 {"checked_layouts", passes.checked_layouts}};
    if (passes.full()) {
        json["sample_contains_payload"] =
            passes.payload.low <= payload_bytes && payload_bytes <= passes.payload.high;
    }
    return json;
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
    Figure total{f.refit_seconds, "s", record.time_provenance};
    if (record.passes && !record.passes->full())
        total.ci95 = {record.passes->seconds.low, record.passes->seconds.high};
    return {{"seconds", to_json(total)},
            {"encode_seconds", seconds(f.encode_seconds)},
            {"wire_seconds", seconds(f.wire_seconds)},
            {"stage_seconds", seconds(f.stage_seconds)},
            {"pause_seconds", seconds(f.pause_seconds)},
            {"longest_pause_seconds", seconds(f.longest_pause_seconds)}};
}

Json share_of(const KindChange& change) {
    return ratio(static_cast<double>(change.changed), static_cast<double>(change.words));
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
            for (const auto& [name, kind] : record.changes[i].kinds)
                entry["changed_by_kind"][name] = share_of(kind);
            for (const auto& [place, change] : record.changes[i].layers) {
                const std::string layer = place.layer ? std::to_string(*place.layer) : "";
                entry["changed_by_layer"][layer][place.kind] = share_of(change);
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
    const auto seconds = [&record](double value) {
        return to_json({value, "s", record.time_provenance, std::nullopt});
    };
    Json shortest = Json::object();
    for (const auto& [shape, value] : f.shortest_steps)
        shortest[std::string(shape_name(shape))] = seconds(value);
    return {{"fraction", to_json({f.idle_fraction, "1", record.time_provenance})},
            {"by_cause", causes},
            {"replica_seconds", to_seconds(idle.replica_time)},
            {"shortest_step_seconds", seconds(f.shortest_step_seconds)},
            {"shortest_steps", shortest}};
}

Json loop_json(const Loop& loop) {
    return {{"shape", shape_name(loop.shape)},
            {"step_seconds", to_seconds(loop.step)},
            {"generation_seconds", to_seconds(loop.generation)},
            {"staleness", loop.staleness},
            {"kv_recompute_seconds", to_seconds(loop.kv_recompute)}};
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

Json derived_json(const std::vector<DerivedTime>& times) {
    Json json = Json::object();
    for (const DerivedTime& derived : times) {
        json[derived.name] = {{"seconds", to_json({to_seconds(derived.time), "s",
                                                   Provenance::extrapolated, std::nullopt})},
                              {"flop_per_token", derived.flop_per_token},
                              {"tokens", derived.tokens},
                              {"flop_per_second", derived.rate.value.count},
                              {"source", derived.rate.source}};
    }
    return json;
}

Json compute_json(const HostCompute& compute) {
    const auto beside = [](const HostStolen& stolen) {
        return Json{{"flop_per_second_beside", stolen.flop_per_second_beside},
                    {"codec_bytes_per_second", stolen.codec_bytes_per_second},
                    {"codec_bytes_per_second_beside", stolen.codec_bytes_per_second_beside},
                    {"stolen", stolen.stolen},
                    {"stolen_range", {stolen.stolen_low, stolen.stolen_high}},
                    {"on_core", stolen.on_core}};
    };
    return {{"gemm", compute.gemm},
            {"cores", compute.cores},
            {"flop_per_second", compute.flop_per_second},
            {"seconds", compute.seconds},
            {"rounds", compute.rounds},
            {"unit_words", compute.unit_words},
            {"stage", beside(compute.stage)},
            {"encode", beside(compute.encode)}};
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
    f.stolen_fraction = ratio(static_cast<double>(record.run.stolen.count),
                              static_cast<double>(record.run.idle.replica_time.count));
    for (const LoopShape shape :
         {LoopShape::synchronous, LoopShape::one_step_off, LoopShape::asynchronous})
        f.shortest_steps[shape] =
            shortest_step(shape, record.loop, {f.refit_seconds, f.longest_pause_seconds});
    f.shortest_step_seconds = f.shortest_steps.at(record.loop.shape);
    const CheckFigures checks = check_figures(record);
    f.exact = checks.mismatches == 0 && checks.resident_failures == 0 && checks.words_checked > 0;
    return f;
}

CheckFigures check_figures(const RunRecord& record) {
    if (record.passes) {
        const BitPassTotals& bits = record.passes->bits;
        return {bits.words_checked.count, bits.mismatches,
                bits.resident_failures + record.run.totals.resident_failures};
    }
    const WorldTotals& totals = record.run.totals;
    return {totals.words_checked, totals.mismatches, totals.resident_failures};
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
    if (!record.derived_times.empty()) json["derived_times"] = derived_json(record.derived_times);
    json["model"] = {{"name", record.model_name},
                     {"parameters", record.model_parameters},
                     {"stands_for_parameters", record.stands_for_parameters}};
    json["sampled_fraction"] = record.passes ? record.passes->sampled_fraction : 1.0;
    const Estimate changed = record.passes ? record.passes->changed : Estimate{};
    const Estimate rate = scaled(changed, ratio(1, static_cast<double>(record.model_parameters)));
    json["changed"] = of_bits(record, f.changed, "1", &rate);
    json["codec"] = codec_json(record, f);
    json["full"] = full_json(record, f);
    json["refit"] = refit_json(record, f);
    json["speedup"] = to_json({f.speedup, "1", record.time_provenance});
    json["loop"] = loop_json(record.loop);
    json["gpu_idle"] = idle_json(record, f);
    json["gpu_stolen"] = {
        {"fraction", to_json({f.stolen_fraction, "1", record.time_provenance, std::nullopt})},
        {"replica_seconds", to_seconds(record.run.stolen)}};
    const CheckFigures checks = check_figures(record);
    json["verify"] = {{"exact", f.exact},
                      {"words_checked", checks.words_checked},
                      {"mismatches", checks.mismatches},
                      {"resident_checks", totals.resident_checks},
                      {"resident_failures", checks.resident_failures}};
    const double phantom = record.passes ? record.passes->phantom_fraction : 0;
    json["wire"] = {{"bytes_sent", traffic.sent_bytes},
                    {"bytes_needed", traffic.needed_bytes},
                    {"phantom_bytes", static_cast<std::uint64_t>(
                                          phantom * static_cast<double>(traffic.sent_bytes))}};
    if (record.passes) json["passes"] = passes_json(*record.passes, f.payload_bytes);
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
    if (!record.host.bit_pass_seconds.empty())
        json["host"]["bit_pass_seconds"] = record.host.bit_pass_seconds;
    if (!record.host.device_seconds.empty())
        json["host"]["device_seconds"] = record.host.device_seconds;
    if (record.host.compute) json["host"]["compute"] = compute_json(*record.host.compute);
    if (record.passes) json["host"]["resumed_words"] = record.passes->resumed.count;
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
