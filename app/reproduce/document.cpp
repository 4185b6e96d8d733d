#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/reproduce/report.hpp"

namespace refit {

namespace {

using Json = nlohmann::ordered_json;

Json extrapolated(const Estimate& estimate, const char* unit) {
    Json json = {{"value", estimate.value}, {"unit", unit}, {"provenance", "extrapolated"}};
    if (estimate.low < estimate.high) json["ci95"] = {estimate.low, estimate.high};
    return json;
}

Json extrapolated(double value, const char* unit) {
    return extrapolated(Estimate{value, value, value}, unit);
}

Json row_json(const CodecTime& row) {
    return {{"model", row.model},
            {"parameters", row.parameters},
            {"profile", row.profile},
            {"changed", extrapolated(row.changed, "1")},
            {"codec", row.codec},
            {"payload_bytes", extrapolated(row.payload, "B")},
            {"bits_per_parameter", extrapolated(row.bits_per_parameter(), "bit")},
            {"bits_per_change", extrapolated(row.bits_per_change(), "bit")},
            {"bound_bits_per_parameter", extrapolated(row.bound_bits_per_parameter, "bit")},
            {"seconds", extrapolated(row.seconds, "s")},
            {"encode_seconds", extrapolated(row.encode_seconds, "s")},
            {"wire_seconds", extrapolated(row.wire_seconds, "s")},
            {"stage_seconds", extrapolated(row.stage_seconds, "s")},
            {"pause_seconds", extrapolated(row.pause_seconds, "s")},
            {"bits_per_second", extrapolated(row.bits_per_second(), "bit/s")}};
}

Json headline_json(const ReproduceTables& tables) {
    Json rows = Json::array();
    const double full = tables.headline.front().seconds.value;
    double fastest = full;
    for (const CodecTime& row : tables.headline) {
        if (row.codec == "full-zstd") fastest = std::min(full, row.seconds.value);
        Json json = row_json(row);
        json["speedup_over_full"] = extrapolated(full / row.seconds.value, "1");
        json["speedup"] = extrapolated(fastest / row.seconds.value, "1");
        json["wire_share"] = extrapolated(row.wire_seconds / row.seconds.value, "1");
        rows.push_back(std::move(json));
    }
    return rows;
}

Json grid_json(const ReproduceTables& tables) {
    Json rows = Json::array();
    for (const GridRow& row : tables.grid) {
        rows.push_back({{"full", row_json(row.full)},
                        {"published_style", row_json(row.published_style)},
                        {"ours", row_json(row.ours)},
                        {"fixed_seconds", extrapolated(row.fixed.seconds, "s")},
                        {"published_style_speedup", extrapolated(row.published_speedup(), "1")},
                        {"our_speedup", extrapolated(row.our_speedup(), "1")}});
    }
    return rows;
}

Json interval_json(const Interval& interval) {
    if (interval.low == interval.high) return interval.low;
    return {interval.low, interval.high};
}

Json verdicts_json(const std::vector<Verdict>& verdicts) {
    Json rows = Json::array();
    for (const Verdict& verdict : verdicts) {
        Json row = {{"name", verdict.id},
                    {"quantity", verdict.quantity},
                    {"unit", verdict.unit},
                    {"published", interval_json(verdict.published)},
                    {"ours", verdict.ours ? interval_json(*verdict.ours) : Json()},
                    {"ratio", verdict.ratio ? Json(*verdict.ratio) : Json()},
                    {"remainder", verdict.remainder ? Json(*verdict.remainder) : Json()},
                    {"verdict", verdict_name(verdict.kind)},
                    {"codec", verdict.codec},
                    {"profile", verdict.profile}};
        Json& inferred = row["inferred"] = Json::array();
        for (const Inferred& input : verdict.inferred)
            inferred.push_back(
                {{"name", input.name}, {"value", input.value}, {"from", input.from}});
        row["arithmetic"] = verdict.arithmetic;
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace

nlohmann::ordered_json reproduce_json(const ReproduceResult& result) {
    const ReproduceTables& tables = result.tables;
    Json json;
    json["schema"] = "refit.reproduce/1";
    json["seed"] = result.spec.seed;
    json["asked"] = result.spec.headline_changed;
    json["link"] = {{"bits_per_second", result.link_bits_per_second},
                    {"source", result.link_source}};
    json["declared_rates"] = result.declared_rates;
    json["sampled_words"] = result.words_sampled.count;
    json["rows"] = verdicts_json(result.verdicts);
    json["table_a"] = headline_json(tables);
    json["table_b"] = grid_json(tables);
    json["fixed_cost_source"] = tables.grid.empty() ? "" : tables.grid.front().fixed.source;
    Json& links = json["links"] = Json::array();
    for (const LinkRow& row : tables.links) {
        links.push_back({{"bits_per_second", row.rate.count},
                         {"full_seconds", extrapolated(row.full_seconds, "s")},
                         {"our_seconds", extrapolated(row.our_seconds, "s")},
                         {"speedup", extrapolated(row.full_seconds / row.our_seconds, "1")}});
    }
    json["break_even_bits_per_second"] = extrapolated(tables.break_even_bits_per_second, "bit/s");
    Json& attribution = json["attribution"] = Json::array();
    double before = 0;
    for (const AttributionRow& row : tables.attribution) {
        attribution.push_back(
            {{"switched", row.switched},
             {"how", row.how},
             {"seconds", extrapolated(row.seconds, "s")},
             {"factor", extrapolated(before > 0 ? before / row.seconds : 1, "1")}});
        before = row.seconds;
    }
    json["attribution_topology"] = tables.attribution_topology;
    json["host"] = {{"cpu", result.host.cpu},
                    {"device", result.host.device},
                    {"version", result.host.version},
                    {"commit", result.commit},
                    {"wall_seconds", result.host.wall_seconds}};
    return json;
}

std::vector<NamedText> reproduce_csv(const ReproduceResult& result) {
    std::string rows =
        "model,profile,changed,codec,payload_bytes,payload_low,payload_high,bits_per_parameter,"
        "seconds,seconds_low,seconds_high,wire_seconds,fixed_seconds\n";
    const auto add = [&rows](const CodecTime& row, double fixed) {
        rows += fmt::format(
            "{},{},{:.6f},{},{:.0f},{:.0f},{:.0f},{:.6f},{:.3f},{:.3f},{:.3f},"
            "{:.3f},{:.3f}\n",
            row.model, row.profile, row.changed, row.codec, row.payload.value, row.payload.low,
            row.payload.high, row.bits_per_parameter(), row.seconds.value, row.seconds.low,
            row.seconds.high, row.wire_seconds, fixed);
    };
    for (const CodecTime& row : result.tables.headline) add(row, 0);
    for (const GridRow& row : result.tables.grid) {
        add(row.published_style, row.fixed.seconds);
        add(row.ours, row.fixed.seconds);
    }
    std::string links = "bits_per_second,full_seconds,our_seconds\n";
    for (const LinkRow& row : result.tables.links)
        links +=
            fmt::format("{},{:.3f},{:.3f}\n", row.rate.count, row.full_seconds, row.our_seconds);
    return {{"deltas.csv", rows}, {"links.csv", links}};
}

}  // namespace refit
