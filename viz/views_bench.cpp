// What a window would ask of the views for one frame, of a run of a 1T model: 70,000 tensors, 64
// replicas, 100,000 events. A frame has 16.7 ms; the views may take 2 of them.
#include <benchmark/benchmark.h>

#include "engine/observe/snapshot.hpp"
#include "viz/lane_view.hpp"
#include "viz/tensor_view.hpp"
#include "viz/throughput_view.hpp"

namespace refit {
namespace {

constexpr std::uint32_t kSites = 4;
constexpr std::uint32_t kReplicas = 64;
constexpr std::uint32_t kParts = 110;
constexpr std::uint32_t kChunks = 700;
constexpr std::uint32_t kUnits = 60'000;
constexpr float kPixels = 1600;

Cast large_cast() {
    Cast cast;
    TreeNode source{NodeRole::source, "source", 0, 0, kNoNode, {}};
    cast.tree.nodes.push_back(source);
    for (std::uint32_t s = 0; s < kSites; ++s) {
        cast.sites.push_back("site-" + std::to_string(s));
        cast.tree.nodes.push_back(
            {NodeRole::relay, cast.sites[s] + "/relay-1", s, 0, s == 0 ? 0u : 1u, {}});
    }
    for (std::uint32_t r = 0; r < kReplicas; ++r)
        cast.tree.nodes.push_back({NodeRole::replica,
                                   "replica-" + std::to_string(r),
                                   r % kSites,
                                   r / kSites,
                                   1 + r % kSites,
                                   {}});
    std::vector<TensorSpec> specs;
    for (int layer = 0; layer < 61; ++layer)
        for (int expert = 0; expert < 384; ++expert)
            for (const char* kind : {"gate_proj", "up_proj", "down_proj"})
                specs.push_back({"model.layers." + std::to_string(layer) + ".mlp.experts." +
                                     std::to_string(expert) + "." + kind + ".weight",
                                 WordType::bf16,
                                 {2048, 7168}});
    cast.catalog = std::move(Catalog::make(std::move(specs))).value();
    const std::size_t tensors = cast.catalog.tensors().size();
    for (std::size_t t = 0; t < tensors; ++t) {
        const auto unit = static_cast<std::uint32_t>(t * kUnits / tensors);
        cast.units.push_back({unit, unit});
    }
    return cast;
}

/// One refit: units encoded, chunks through every node, parts staged, committed.
Recording large_recording() {
    Recording recording{large_cast(), {}, ""};
    Timeline timeline(node_names(recording.cast.tree));
    const auto nodes = static_cast<NodeId>(recording.cast.tree.nodes.size());
    std::int64_t at = 0;
    const auto add = [&](NodeId node, EventKind kind, std::uint32_t index, std::uint64_t amount) {
        const NodeId parent = recording.cast.tree.nodes[node].parent;
        timeline.append({Nanoseconds{at += 600'000}, 1, amount, node, parent, index, kind});
    };
    for (NodeId node = nodes - kReplicas; node < nodes; ++node) add(node, EventKind::serving, 0, 0);
    add(0, EventKind::encode_begin, 0, 0);
    std::uint32_t unit = 0;
    for (std::uint32_t chunk = 0; chunk < kChunks; ++chunk) {
        for (std::uint32_t n = 0; n < kUnits / kChunks; ++n)
            add(0, EventKind::unit_encoded, unit++, 1 << 20);
        const std::uint32_t every = kChunks / kParts;
        if (chunk % every == 0)
            add(0, EventKind::part_durable, chunk / every, std::uint64_t{kUnits / kChunks} << 20);
        for (NodeId node = 1; node < nodes; ++node) {
            add(node, EventKind::chunk_received, chunk, 8 << 20);
            if (chunk % every != 0 || node < nodes - kReplicas) continue;
            add(node, EventKind::stage_begin, chunk / every, 0);
            add(node, EventKind::part_staged, chunk / every, 64 << 20);
        }
    }
    for (const EventKind kind : {EventKind::pause_begin, EventKind::overwrite_begin,
                                 EventKind::check_begin, EventKind::applied, EventKind::serving})
        for (NodeId node = nodes - kReplicas; node < nodes; ++node) add(node, kind, 0, 0);
    recording.timeline = std::move(timeline);
    return recording;
}

struct Large {
    SavedRun run = make_saved_run(large_recording(), {});
    std::vector<LaneRow> rows = lane_rows(run);
    TensorMap map = map_tensors(run.recording.cast);
    std::vector<RefitProgress> progress = fold_progress(run.recording);
    SnapshotIndex snapshots{run.recording.timeline};

    /// Another moment for every frame.
    Nanoseconds moment(std::int64_t frame) const {
        return Nanoseconds{run.end().count / 997 * (frame * 367 % 997)};
    }
};
const Large& large() {
    static const Large made;
    return made;
}

void draw_map(const Large& it, Nanoseconds now) {
    const RefitProgress* refit = refit_at(it.progress, now);
    if (refit == nullptr) return;
    const RefitMoment moment = moment_of(*refit, now);
    for (const MapCell& cell : it.map.cells)
        benchmark::DoNotOptimize(cell_state(cell, moment).staged);
}

void BM_Frame(benchmark::State& state) {
    const Large& it = large();
    std::int64_t frame = 0;
    for (auto _ : state) {
        const Nanoseconds now = it.moment(++frame);
        const Snapshot snapshot = it.snapshots.at(now);
        benchmark::DoNotOptimize(snapshot.units);
        const TimeScale scale({Nanoseconds{now.count / 2}, Nanoseconds{now.count * 3 / 2 + 1}},
                              kPixels);
        benchmark::DoNotOptimize(lane_boxes(it.run, it.rows, scale).size());
        draw_map(it, now);
    }
    state.counters["events"] = static_cast<double>(it.run.recording.timeline.events().size());
    state.counters["tensors"] = static_cast<double>(it.run.recording.cast.catalog.tensors().size());
}
BENCHMARK(BM_Frame)->Unit(benchmark::kMillisecond);

void BM_Snapshot(benchmark::State& state) {
    const Large& it = large();
    std::int64_t frame = 0;
    for (auto _ : state) benchmark::DoNotOptimize(it.snapshots.at(it.moment(++frame)).units);
}
BENCHMARK(BM_Snapshot)->Unit(benchmark::kMillisecond);

void BM_Lanes(benchmark::State& state) {
    const Large& it = large();
    const TimeScale scale({Nanoseconds{0}, it.run.end()}, kPixels);
    for (auto _ : state) benchmark::DoNotOptimize(lane_boxes(it.run, it.rows, scale).size());
}
BENCHMARK(BM_Lanes)->Unit(benchmark::kMillisecond);

void BM_TensorMap(benchmark::State& state) {
    const Large& it = large();
    std::int64_t frame = 0;
    for (auto _ : state) {
        draw_map(it, it.moment(++frame));
    }
}
BENCHMARK(BM_TensorMap)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace refit

BENCHMARK_MAIN();
