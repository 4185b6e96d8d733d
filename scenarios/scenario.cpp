#include "scenarios/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/compute_spec.hpp"
#include "scenarios/shipped.hpp"
#include "scenarios/toml_document.hpp"
#include "scenarios/topology_file.hpp"
#include "workloads/profile.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSchema = "refit.scenario/1";

/// A name from a fixed list, as an enum.
template <class Enum>
struct Choice {
    std::string_view name;
    Enum value;
};

constexpr Choice<LoopShape> kLoopShapes[] = {{"synchronous", LoopShape::synchronous},
                                             {"one_step_off", LoopShape::one_step_off},
                                             {"asynchronous", LoopShape::asynchronous}};
constexpr Choice<FaultKind> kFaultKinds[] = {
    {"kill", FaultKind::kill}, {"crash", FaultKind::crash}, {"cut", FaultKind::cut}};

template <class Enum, std::size_t N>
void read_choice(TomlTable& table,
                 std::string_view key,
                 const Choice<Enum> (&choices)[N],
                 Enum& out) {
    std::string name;
    table.required(key, name);
    if (name.empty()) return;
    std::string known;
    for (const auto& choice : choices) {
        if (choice.name == name) {
            out = choice.value;
            return;
        }
        known += (known.empty() ? "" : ", ") + std::string(choice.name);
    }
    table.fail(key, "\"" + name + "\" is unknown; write one of " + known);
}

/// What a preset says holds unless another key says otherwise.
void read_preset(TomlTable& table, ModelSpec& model) {
    std::string name;
    table.required("preset", name);
    if (name.empty()) return;
    const Preset* const preset = find_preset(name);
    if (preset == nullptr) {
        std::string known;
        for (const Preset& each : presets())
            known += fmt::format("{}{}", known.empty() ? "" : ", ", each.name);
        table.fail("preset", fmt::format("\"{}\" is unknown; write one of {}", name, known));
        return;
    }
    model.profile = preset->profile;
    model.changed = preset->changed_per_million / 1e6;
    model.steps = preset->steps;
}

void read_model(TomlTable table, const fs::path& folder, ModelSpec& model) {
    table.required("name", model.name);
    if (table.has("preset")) read_preset(table, model);
    table.optional("profile", model.profile);
    table.optional("changed", model.changed);
    std::string rates;
    table.optional("rates", rates);
    if (!rates.empty()) model.rates = folder / rates;
    table.optional("steps", model.steps);
    table.optional("sample", model.sample);
    table.optional("full", model.full);
    table.finish();
}

void read_source(TomlTable table, const fs::path& folder, SourceSpec& source) {
    std::vector<std::string> versions;
    table.optional("trace", source.trace);
    table.optional("versions", versions);
    table.optional("max_refits", source.max_refits);
    for (const std::string& version : versions) source.versions.push_back(folder / version);
    if (table.has("model")) read_model(table.table("model"), folder, source.model);
    const int sources = (source.trace.empty() ? 0 : 1) + (versions.empty() ? 0 : 1) +
                        (source.model.name.empty() ? 0 : 1);
    if (sources != 1) table.fail("", "needs one of trace, versions and model");
    table.finish();
}

void read_delta(TomlTable table, DeltaSpec& delta) {
    table.optional("codec", delta.codec);
    table.optional("chunk", delta.chunk);
    table.optional("chunks_per_part", delta.chunks_per_part);
    table.optional("unit_words", delta.unit_words);
    table.finish();
}

void read_transport(TomlTable table, TransportSpec& transport) {
    table.optional("window", transport.window);
    table.optional("goodput", transport.goodput);
    table.optional("reconnect", transport.reconnect);
    table.optional("detect", transport.detect);
    table.finish();
}

DeclaredRate read_rate(TomlTable& fleet, std::string_view key) {
    DeclaredRate rate;
    TomlTable table = fleet.table(key);
    table.required("value", rate.value);
    table.required("source", rate.source);
    table.finish();
    return rate;
}

void read_fleet(TomlTable table, Fleet& fleet) {
    fleet.encode = read_rate(table, "encode");
    fleet.decode = read_rate(table, "decode");
    fleet.overwrite = read_rate(table, "overwrite");
    fleet.digest = read_rate(table, "digest");
    TomlTable drain = table.table("drain");
    drain.required("value", fleet.drain);
    drain.required("source", fleet.drain_source);
    drain.finish();
    table.finish();
}

void read_loop(TomlTable table, Loop& loop) {
    if (table.has("shape")) read_choice(table, "shape", kLoopShapes, loop.shape);
    table.optional("step", loop.step);
    table.optional("generation", loop.generation);
    table.optional("staleness", loop.staleness);
    table.optional("kv_recompute", loop.kv_recompute);
    table.finish();
}

FaultSpec read_fault(TomlTable& table) {
    FaultSpec fault;
    read_choice(table, "kind", kFaultKinds, fault.kind);
    table.required("node", fault.node);
    table.optional("refit", fault.refit);
    table.optional("at_percent", fault.at_percent);
    table.optional("duration", fault.duration);
    table.finish();
    return fault;
}

Scenario read_scenario(TomlTable table, const fs::path& folder) {
    Scenario scenario;
    std::string schema;
    table.required("schema", schema);
    if (!schema.empty() && schema != kSchema)
        table.fail("schema", "must be \"" + std::string(kSchema) + "\"");
    table.required("title", scenario.title);
    table.optional("seed", scenario.seed);
    table.optional("stands_for_parameters", scenario.stands_for_parameters);
    table.optional("trainer_layout", scenario.trainer_layout);
    table.optional("require", scenario.require);
    read_source(table.table("source"), folder, scenario.source);
    read_delta(table.table("delta"), scenario.delta);
    read_transport(table.table("transport"), scenario.transport);
    read_fleet(table.table("fleet"), scenario.fleet);
    read_loop(table.table("loop"), scenario.loop);
    read_compute(table.table("compute"), scenario.compute);
    for (TomlTable& fault : table.tables("fault")) scenario.faults.push_back(read_fault(fault));
    scenario.topology = read_topology(table.table("topology"));
    table.finish();
    return scenario;
}

/// Puts a named topology's file in place of its name, so that overrides reach inside it.
Status graft_topology(TomlDocument& document, const fs::path& folder, const fs::path& data_root) {
    TomlTable root = document.root();
    if (!root.is_text("topology")) return Done{};
    std::string name;
    root.required("topology", name);
    auto file = find_topology(name, folder, data_root);
    if (!file.has_value()) {
        root.fail("topology", "\"" + name + "\": " + file.error().what);
        return document.status();
    }
    REFIT_TRY(topology, TomlDocument::parse_file(file.value()));
    document.graft("topology", std::move(topology));
    return Done{};
}

}  // namespace

Result<Scenario> parse_scenario(std::string_view text, const std::string& name) {
    REFIT_TRY(document, TomlDocument::parse(text, name));
    Scenario scenario = read_scenario(document.root(), {});
    REFIT_CHECK(document.status());
    scenario.file = name;
    return scenario;
}

Result<Scenario> load_scenario(const fs::path& file,
                               const fs::path& data_root,
                               const std::vector<std::pair<std::string, std::string>>& overrides) {
    REFIT_TRY(document, TomlDocument::parse_file(file));
    const fs::path folder = file.parent_path();
    // An override may name another topology or change one key of it: names first, keys after.
    // A path in the file is relative to the file, one on the command line to where that was typed.
    fs::path topology_folder = folder;
    for (const auto& [key, value] : overrides) {
        if (key != "topology") continue;
        REFIT_CHECK(document.set(key, value));
        topology_folder.clear();
    }
    REFIT_CHECK(graft_topology(document, topology_folder, data_root));
    for (const auto& [key, value] : overrides) {
        if (key != "topology") REFIT_CHECK(document.set(key, value));
    }
    TomlTable root = document.root();
    Scenario scenario = read_scenario(root, folder);
    if (!scenario.source.trace.empty()) {
        auto trace = find_trace(scenario.source.trace, folder, data_root);
        if (trace.has_value()) {
            scenario.source.trace_file = std::move(trace).value();
        } else {
            root.table("source").fail("trace",
                                      "\"" + trace.error().where + "\": " + trace.error().what);
        }
    }
    if (!scenario.source.model.name.empty()) {
        auto model = find_architecture(scenario.source.model.name, folder, data_root);
        if (model.has_value()) {
            scenario.source.model.file = std::move(model).value();
        } else {
            root.table("source").table("model").fail(
                "name", "\"" + scenario.source.model.name + "\": " + model.error().what);
        }
    }
    derive_times(root, scenario);
    REFIT_CHECK(document.status());
    scenario.file = file;
    return scenario;
}

}  // namespace refit
