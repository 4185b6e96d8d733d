#include "scenarios/compute_spec.hpp"

#include <utility>

#include "workloads/compute_load.hpp"

namespace refit {

namespace {

constexpr std::uint64_t kTokensMax = std::uint64_t{1} << 40;
constexpr Nanoseconds kSecondsMax = 3600_s;

DeclaredFlopRate read_rate(TomlTable table) {
    DeclaredFlopRate rate;
    table.required("value", rate.value);
    table.required("source", rate.source);
    table.finish();
    return rate;
}

Error invalid(const std::string& key, const std::string& reason) {
    return Error{ErrorCode::invalid_input, key + ": " + reason};
}

/// One time of the loop, from the FLOP of a token and a rate.
struct Rule {
    const char* key;  // under [loop]
    const char* from;
    const DeclaredFlopRate& rate;
    std::uint64_t flop_per_token;
    Nanoseconds& time;
};

void derive(TomlTable& root, const Rule& rule, Scenario& scenario) {
    if (rule.rate.value.count == 0) return;
    if (rule.time.count > 0) {
        root.table("loop").fail(rule.key, "is given, and follows from compute." +
                                              std::string(rule.from) + " too; leave one out");
        return;
    }
    const std::uint64_t tokens = scenario.compute.tokens_per_step;
    const auto time = compute_time(rule.flop_per_token, tokens, rule.rate.value);
    if (!time.has_value()) {
        root.table("compute").fail(rule.from, time.error().what);
        return;
    }
    rule.time = time.value();
    scenario.derived.push_back({rule.key, rule.flop_per_token, tokens, rule.rate, rule.time});
}

}  // namespace

void read_compute(TomlTable table, ComputeSpec& compute) {
    table.optional("seconds", compute.seconds);
    table.optional("tokens_per_step", compute.tokens_per_step);
    if (table.has("trainer")) compute.trainer = read_rate(table.table("trainer"));
    if (table.has("rollout")) compute.rollout = read_rate(table.table("rollout"));
    table.finish();
}

void derive_times(TomlTable& root, Scenario& scenario) {
    const ComputeSpec& compute = scenario.compute;
    const bool any = compute.trainer.value.count > 0 || compute.rollout.value.count > 0;
    if (!any || scenario.source.model.file.empty() || !check_compute(scenario).has_value()) return;
    const auto loaded = load_architecture(scenario.source.model.file);
    if (!loaded.has_value()) {
        const Error& error = loaded.error();
        root.table("source").table("model").fail("name", error.where + ": " + error.what);
        return;
    }
    const Architecture& architecture = loaded.value();
    derive(root,
           {"step", "trainer", compute.trainer, training_flop(architecture), scenario.loop.step},
           scenario);
    derive(root,
           {"generation", "rollout", compute.rollout, forward_flop(architecture),
            scenario.loop.generation},
           scenario);
}

Status check_compute(const Scenario& scenario) {
    const ComputeSpec& compute = scenario.compute;
    const bool model = !scenario.source.model.name.empty();
    if (compute.seconds > kSecondsMax) return invalid("compute.seconds", "must be at most 1 h");
    if (compute.seconds.count > 0 && !model)
        return invalid("compute.seconds", "the load is of a model: needs source.model (--model)");
    if (compute.tokens_per_step > kTokensMax)
        return invalid("compute.tokens_per_step", "must be at most 2^40");
    bool used = false;
    const std::pair<const char*, const DeclaredFlopRate*> rates[] = {
        {"compute.trainer", &compute.trainer}, {"compute.rollout", &compute.rollout}};
    for (const auto& [key, rate] : rates) {
        if (rate->value.count == 0 && rate->source.empty()) continue;
        used = true;
        if (rate->value.count == 0) return invalid(std::string(key) + ".value", "must be over 0");
        if (rate->source.empty())
            return invalid(std::string(key) + ".source", "must say who says so");
        if (!model) return invalid(key, "the FLOP are a model's: needs source.model");
        if (compute.tokens_per_step == 0) return invalid(key, "needs compute.tokens_per_step");
    }
    if (compute.tokens_per_step > 0 && !used)
        return invalid("compute.tokens_per_step", "needs compute.trainer or compute.rollout");
    return Done{};
}

}  // namespace refit
