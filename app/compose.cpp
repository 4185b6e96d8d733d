#include "app/compose.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/model_run.hpp"
#include "app/progress.hpp"
#include "app/run_folder.hpp"
#include "app/run_plan.hpp"
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

double link_scale(const Scenario& scenario, const Catalog& catalog) {
    if (scenario.stands_for_parameters == 0) return 1;
    return static_cast<double>(catalog.words().count) /
           static_cast<double>(scenario.stands_for_parameters);
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
    return baseline_of(codec, run.refits.front(), scale);
}

}  // namespace

Result<RunRecord> run_scenario(const Console& console,
                               const Scenario& scenario,
                               Device& device,
                               const std::filesystem::path& folder) {
    if (!scenario.source.model.name.empty()) return run_model(console, scenario, device, folder);
    REFIT_TRY(stage, prepare(scenario, device));
    const Catalog& catalog = stage.steps->catalog();
    const double scale = link_scale(scenario, catalog);
    const WorldPlan plan = make_plan(scenario, stage.steps->versions() - 1, scale);

    RunRecord record;
    describe_run(scenario, device, scale, record);
    record.model_name = "checkpoint-" + short_hex(catalog.id());
    record.model_parameters = catalog.words().count;
    record.stands_for_parameters =
        scenario.stands_for_parameters > 0 ? scenario.stands_for_parameters : catalog.words().count;
    record.maps = stage.map_records;
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
    RecordingWriter recording(folder / kRecordingFile,
                              make_cast(record.title, plan.topology, plan.loop, catalog,
                                        *stage.grid, plan.delta.unit_words));
    const auto on_events = [&](std::span<const Event> events) { recording.append(events); };
    REFIT_TRY(run, run_refits(plan, {*bits, *store, between_events, on_events}, make_register));
    recording.finish();
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
