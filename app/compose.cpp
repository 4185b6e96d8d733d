#include "app/compose.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/host.hpp"
#include "app/progress.hpp"
#include "engine/sim/resident_bits.hpp"
#include "workloads/layouts.hpp"
#include "workloads/trace.hpp"

namespace refit {

namespace {

/// Everything a world needs that outlives it.
struct Stage0 {
    std::unique_ptr<StepSource> steps;
    std::unique_ptr<Grid> grid;
    std::vector<ShardMap> maps;  // the trainer's, then one per replica in tree order
    std::vector<MapRecord> map_records;
};

Result<std::unique_ptr<StepSource>> open_source(const Scenario& scenario, Device& device) {
    if (!scenario.source.versions.empty()) return open_checkpoints(scenario.source.versions);
    return open_trace(scenario.source.trace_file, device);
}

Status add_map(const Catalog& catalog,
               const std::string& name,
               const std::string& layout,
               Stage0& stage) {
    REFIT_TRY(map, make_layout(catalog, layout));
    REFIT_TRY(coverage, map.prove(catalog));
    stage.map_records.push_back({name, layout, map.ranks().size(), coverage.boxes,
                                 coverage.held_words, coverage.copies_max});
    stage.maps.push_back(std::move(map));
    return Done{};
}

Result<Stage0> prepare(const Scenario& scenario, Device& device) {
    Stage0 stage;
    REFIT_TRY(steps, open_source(scenario, device));
    stage.steps = std::move(steps);
    if (stage.steps->versions() < 2)
        return Error{ErrorCode::invalid_input, "a run needs at least two versions",
                     scenario.file.string()};
    const Catalog& catalog = stage.steps->catalog();
    stage.grid = std::make_unique<Grid>(catalog);
    const auto where = [&scenario](Status status) -> Status {
        if (status.has_value()) return status;
        return in_file(status.error(), scenario.file.string());
    };
    REFIT_CHECK(where(add_map(catalog, "trainer", scenario.trainer_layout, stage)));
    if (stage.map_records.front().copies_max != 1)
        return Error{ErrorCode::invalid_input,
                     "trainer_layout " + scenario.trainer_layout +
                         " holds words more than once; a trainer map must hold each exactly once",
                     scenario.file.string()};
    for (const TreeNode& node : derive_tree(scenario.topology).nodes) {
        if (node.role != NodeRole::replica) continue;
        const ReplicaSpec& spec = scenario.topology.sites[node.site].replicas[node.replica];
        REFIT_CHECK(where(add_map(catalog, node.name, spec.layout, stage)));
    }
    return stage;
}

DeclaredRate scaled_rate(DeclaredRate rate, double factor) {
    const double scaled = static_cast<double>(rate.value.count) * factor;
    rate.value = BytesPerSecond{std::max<std::uint64_t>(1, static_cast<std::uint64_t>(scaled))};
    return rate;
}

double link_scale(const Scenario& scenario, const Catalog& catalog) {
    if (scenario.stands_for_parameters == 0) return 1;
    return static_cast<double>(catalog.words().count) /
           static_cast<double>(scenario.stands_for_parameters);
}

WorldPlan make_plan(const Scenario& scenario, const StepSource& steps, double scale) {
    WorldPlan plan;
    plan.topology = scale == 1 ? scenario.topology : scaled(scenario.topology, scale);
    plan.delta = scenario.delta;
    plan.transport = scenario.transport;
    plan.fleet = scenario.fleet;
    plan.fleet.encode = scaled_rate(plan.fleet.encode, scale);
    plan.fleet.decode = scaled_rate(plan.fleet.decode, scale);
    plan.fleet.overwrite = scaled_rate(plan.fleet.overwrite, scale);
    plan.fleet.digest = scaled_rate(plan.fleet.digest, scale);
    plan.loop = scenario.loop;
    plan.faults = scenario.faults;
    plan.seed = scenario.seed;
    plan.refits = steps.versions() - 1;
    if (scenario.source.max_refits > 0)
        plan.refits = std::min(plan.refits, scenario.source.max_refits);
    return plan;
}

Result<BaselineRecord> run_baseline(WorldPlan plan,
                                    const ResidentParts& parts,
                                    const std::function<void()>& between_events,
                                    const std::string& codec,
                                    double scale) {
    plan.delta.codec = codec;
    // Small units: a whole checkpoint gains nothing from large ones, and its first part would
    // only be offered late.
    plan.delta.unit_words = 1;
    plan.faults.clear();
    plan.refits = 1;
    const auto store = make_memory_store();
    const auto bits = make_resident_bits(parts, plan.delta, plan.seed);
    REFIT_TRY(run, run_refits(plan, {*bits, *store, between_events}, make_memory_register));
    BaselineRecord baseline;
    baseline.codec = codec;
    baseline.seconds = to_seconds(run.refits.front().seconds());
    baseline.payload_bytes = run.refits.front().payload_bytes;
    baseline.bits_per_second =
        static_cast<double>(baseline.payload_bytes) * 8 / baseline.seconds / scale;
    return baseline;
}

/// What the user may call measured is simulated; one unmeasured rate makes the times extrapolated.
Provenance time_provenance(const Fleet& fleet) {
    const auto measured = [](const std::string& source) { return source.starts_with("measured"); };
    return measured(fleet.encode.source) && measured(fleet.decode.source) &&
                   measured(fleet.overwrite.source) && measured(fleet.digest.source) &&
                   measured(fleet.drain_source)
               ? Provenance::simulated
               : Provenance::extrapolated;
}

std::string declared_rates(const Fleet& fleet) {
    const auto rate = [](const DeclaredRate& declared) {
        return fmt::format("{:g} GB/s", static_cast<double>(declared.value.count) / 1e9);
    };
    return fmt::format("encode {}, decode {}, overwrite {}, digest {}, drain {:g} s",
                       rate(fleet.encode), rate(fleet.decode), rate(fleet.overwrite),
                       rate(fleet.digest), to_seconds(fleet.drain));
}

/// Chunks a node had received of the refit in flight, and of how many: where a fault struck.
std::string progress_of(const RunResult& run, NodeId node, Nanoseconds at, std::uint64_t version) {
    std::uint32_t received = 0;
    std::uint32_t chunks = 0;
    for (const Event& event : run.timeline.events()) {
        if (event.kind != EventKind::chunk_received || event.version != version) continue;
        chunks = std::max(chunks, event.index + 1);
        if (event.node == node && event.at <= at) ++received;
    }
    return fmt::format(" with {} of {} chunks received", received, chunks);
}

std::vector<std::string> describe_faults(const RunResult& run, const Topology& topology) {
    std::vector<std::string> lines;
    const auto& names = run.timeline.node_names();
    std::vector<bool> down(names.size());
    std::uint64_t version = 0;
    for (const Event& event : run.timeline.events()) {
        const double at = to_seconds(event.at);
        const auto link = [&] {
            return topology.links[event.index].from + " <-> " + topology.links[event.index].to;
        };
        if (event.kind == EventKind::encode_begin) version = event.version;
        if (event.kind == EventKind::link_down)
            lines.push_back(fmt::format("{:.1f} s: link {} cut", at, link()));
        if (event.kind == EventKind::link_up)
            lines.push_back(fmt::format("{:.1f} s: link {} back", at, link()));
        if (event.kind == EventKind::node_down) {
            lines.push_back(fmt::format("{:.1f} s: {} down", at, names[event.node]) +
                            progress_of(run, event.node, event.at, version));
            down[event.node] = true;
        }
        // A late replica that starts for the first time is no fault.
        if (event.kind == EventKind::node_up && down[event.node])
            lines.push_back(fmt::format("{:.1f} s: {} up", at, names[event.node]));
    }
    return lines;
}

/// Why GPU figures are not measured. A node without a use is said first.
std::string backend_reason() {
    std::error_code absent;
    if (std::filesystem::exists("/dev/nvidiactl", absent))
        return "cpu although this machine has a GPU: this version has no other backend";
    return "cpu; no GPU: modelled";
}

void describe(const Scenario& scenario,
              const Stage0& stage,
              Device& device,
              double scale,
              RunRecord& record) {
    const Catalog& catalog = stage.steps->catalog();
    record.title = scenario.title;
    record.seed = scenario.seed;
    record.backend = device.name();
    record.backend_reason = backend_reason();
    record.link_scale = scale;
    record.model_name = "checkpoint-" + short_hex(catalog.id());
    record.model_parameters = catalog.words().count;
    record.stands_for_parameters =
        scenario.stands_for_parameters > 0 ? scenario.stands_for_parameters : catalog.words().count;
    record.codec = scenario.delta.codec;
    record.chunk_bytes = scenario.delta.chunk.count;
    record.time_provenance = time_provenance(scenario.fleet);
    record.declared_rates = declared_rates(scenario.fleet);
    record.maps = stage.map_records;
    record.host.cpu = cpu_name();
    record.host.device = device.detail();
    record.host.version = REFIT_VERSION;
}

}  // namespace

Result<RunRecord> run_scenario(const Console& console,
                               const Scenario& scenario,
                               Device& device,
                               const std::filesystem::path& folder) {
    REFIT_TRY(stage, prepare(scenario, device));
    const Catalog& catalog = stage.steps->catalog();
    const double scale = link_scale(scenario, catalog);
    const WorldPlan plan = make_plan(scenario, *stage.steps, scale);
    REFIT_TRY(codec, find_codec(plan.delta.codec));

    RunRecord record;
    describe(scenario, stage, device, scale, record);
    record.codec_summary = codec->summary();
    constexpr const char* kBaselines[] = {"full", "full-zstd"};
    const Bytes pass = size_of(catalog.words());
    Progress progress(console, "run", pass * (plan.refits + 1 + std::size(kBaselines)));
    for (std::uint64_t v = 1; v <= plan.refits; ++v) {
        record.changes.push_back(measure_change(
            device, catalog, *stage.grid, stage.steps->version(v - 1), stage.steps->version(v)));
        progress.advance(pass);
    }
    const auto store = make_directory_store(folder / "store");
    std::vector<const ShardMap*> serving;
    for (std::size_t i = 1; i < stage.maps.size(); ++i) serving.push_back(&stage.maps[i]);
    const ResidentParts parts{device, *stage.steps, *stage.grid, stage.maps.front(), serving};
    const auto bits = make_resident_bits(parts, plan.delta, plan.seed);
    const auto between_events = [&console] { console.check_interrupt(); };
    const auto make_register = [&folder](const Decision& initial) {
        return make_sqlite_register(folder / "register.sqlite", initial);
    };
    REFIT_TRY(run, run_refits(plan, {*bits, *store, between_events}, make_register));
    record.run = std::move(run);
    record.faults = describe_faults(record.run, plan.topology);
    progress.advance(pass);
    for (const char* name : kBaselines) {
        REFIT_TRY(baseline, run_baseline(plan, parts, between_events, name, scale));
        record.baselines.push_back(baseline);
        progress.advance(pass);
    }
    return record;
}

}  // namespace refit
