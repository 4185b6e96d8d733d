#include <nlohmann/json.hpp>

#include "app/plan/report.hpp"
#include "app/run_plan.hpp"
#include "engine/observe/figure.hpp"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

/// Closed form over declared rates, and bytes nobody produced: no figure here is better.
Json figure(double value, const char* unit) {
    return {{"value", value},
            {"unit", unit},
            {"provenance", provenance_name(Provenance::extrapolated)}};
}

Json figure_or_null(const std::optional<double>& value, const char* unit) {
    return value ? figure(*value, unit) : Json();
}

Json plain_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json loop_json(const LoopForm& loop) {
    return {{"step_seconds", figure(loop.step_seconds, "s")},
            {"idle_fraction", figure(loop.idle_fraction(), "1")},
            {"idle_seconds", figure(loop.idle_seconds, "s")},
            {"shortest_step_seconds", figure(loop.shortest_step_seconds, "s")},
            {"idle_usd", figure_or_null(loop.idle_usd, "USD")}};
}

Json codec_json(const CodecPlan& codec) {
    const RefitForm& form = codec.form;
    return {{"name", codec.codec},
            {"bits_per_parameter", figure(codec.bits_per_parameter, "bit")},
            {"payload_bytes", figure(static_cast<double>(codec.size.payload.count), "B")},
            {"staged_bytes", figure(static_cast<double>(codec.size.staged.count), "B")},
            {"refit",
             {{"seconds", figure(form.seconds(), "s")},
              {"encode_seconds", figure(form.encode_seconds, "s")},
              {"wire_seconds", figure(form.wire_seconds, "s")},
              {"stage_seconds", figure(form.stage_seconds, "s")},
              {"pause_seconds", figure(form.pause_seconds, "s")},
              {"replica_pause_seconds", figure(codec.replica_pause_seconds, "s")}}},
            {"bottleneck", form.bottleneck},
            {"speedup", figure(codec.speedup, "1")},
            {"one_step_off", loop_json(codec.one_step_off)},
            {"synchronous", loop_json(codec.synchronous)},
            {"asynchronous", loop_json(codec.asynchronous)},
            {"egress_usd", figure_or_null(codec.egress_usd, "USD")}};
}

Json tree_json(const PlanInputs& inputs) {
    Json rows = Json::array();
    for (const Crossing& crossing : inputs.crossings) {
        rows.push_back({{"from", crossing.from},
                        {"to", crossing.to},
                        {"bits_per_second", crossing.rate.count},
                        {"rtt_seconds", to_seconds(crossing.rtt)},
                        {"usd_per_gb", plain_or_null(crossing.usd_per_gb)},
                        {"source", crossing.source}});
    }
    return rows;
}

Json topology_json(const PlanInputs& inputs) {
    Json sites = Json::array();
    for (const Site& site : inputs.topology.sites) {
        sites.push_back({{"name", site.name},
                         {"trainer", site.trainer},
                         {"relays", site.relays},
                         {"replicas", site.replicas.size()}});
    }
    return {{"name", inputs.topology.name}, {"sites", sites}, {"tree", tree_json(inputs)}};
}

}  // namespace

nlohmann::ordered_json plan_document(const RefitPlan& plan, bool explained) {
    const PlanInputs& inputs = plan.inputs;
    Json codecs = Json::array();
    for (const CodecPlan& codec : plan.codecs) codecs.push_back(codec_json(codec));
    Json document{{"schema", "refit.plan/1"},
                  {"model",
                   {{"name", inputs.model},
                    {"parameters", inputs.parameters},
                    {"bf16_bytes", inputs.weights().count}}},
                  {"changed", inputs.changed},
                  {"change", inputs.change},
                  {"payloads", inputs.payloads},
                  {"topology", topology_json(inputs)},
                  {"declared_rates", declared_rates(inputs.fleet)},
                  {"loop",
                   {{"shape", shape_name(inputs.loop.shape)},
                    {"step_seconds", to_seconds(inputs.loop.step)},
                    {"generation_seconds", to_seconds(inputs.generation())},
                    {"staleness", inputs.loop.staleness},
                    {"kv_recompute_seconds", to_seconds(inputs.loop.kv_recompute)}}},
                  {"rollout_gpus", inputs.rollout_gpus},
                  {"gpu_price",
                   {{"gpu", inputs.gpu},
                    {"usd_per_hour", plain_or_null(inputs.usd_per_gpu_hour)},
                    {"source", inputs.gpu_price_source}}},
                  {"objective", objective_name(inputs.objective)},
                  {"best", plan.codecs.front().codec},
                  {"full", plan.full},
                  {"codecs", codecs}};
    if (explained) document["explain"] = explain(inputs, plan.codecs.front());
    return document;
}

}  // namespace refit
