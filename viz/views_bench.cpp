// What a window would ask of the views for one frame, of a run of a 1T model: 70,000 tensors, 64
// replicas, 100,000 events. A frame has 16.7 ms; the views may take 2 of them.
#include <benchmark/benchmark.h>

#include "engine/observe/snapshot.hpp"
#include "viz/lane_view.hpp"
#include "viz/large_recording.hpp"
#include "viz/tensor_view.hpp"
#include "viz/throughput_view.hpp"

namespace refit {
namespace {

constexpr float kPixels = 1600;

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
