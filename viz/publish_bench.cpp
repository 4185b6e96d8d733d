// What a run pays for being watched: the time pass of a 1T refit to 24 replicas, with and without
// somebody who folds every event into a snapshot, or writes it into a recording. Both in turn;
// `slower` is what the median pair lost.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "engine/observe/recording.hpp"
#include "engine/observe/snapshot.hpp"
#include "engine/refit.hpp"
#include "engine/sim/recorded_bits.hpp"

namespace refit {
namespace {

constexpr std::uint32_t kUnits = 20'000;
constexpr std::uint64_t kUnitBytes = 1'180'000;  // 23.6 GB in all
constexpr std::uint64_t kUnitWords = 51'320'000;
constexpr int kReplicas = 8;  // of each of three sites

Topology make_topology() {
    Topology topology;
    topology.name = "three sites";
    for (const char* name : {"us", "eu", "ap", "in"}) {
        Site site;
        site.name = name;
        site.trainer = topology.sites.empty();
        site.relay_nic = site.replica_nic = 100_Gbps;
        site.store_rate = 20_Gbps;
        site.store_rtt = 20_ms;
        site.local_rtt = 1_ms;
        for (int r = 1; !site.trainer && r <= kReplicas; ++r)
            site.replicas.push_back({"replica-" + std::to_string(r), "tp:tp8", {}});
        topology.sites.push_back(site);
    }
    for (const char* to : {"eu", "ap", "in"})
        topology.links.push_back({"us", to, BitsPerSecond{3'128'000'000}, 80_ms, "made up"});
    return topology;
}

RecordedDelta make_delta(const DeltaSpec& spec, std::uint64_t seed) {
    RecordedDelta delta;
    for (std::uint32_t u = 0; u < kUnits; ++u)
        delta.units.push_back({kUnitBytes, kUnitWords / 33, std::nullopt});
    delta.staged_bytes.assign(kUnits, kUnitWords / 33 * 4);
    close_phantom_parts(delta.units, spec, seed);
    delta.next_version = sha256(as_byte_span(std::to_string(seed)));
    return delta;
}

struct Made {
    WorldPlan plan;
    RecordedRun run;

    Made() {
        plan.topology = make_topology();
        const DeclaredRate rate{BytesPerSecond{4'000'000'000'000}, "made up"};
        plan.fleet = {rate, rate, rate, rate, 200_ms, "made up"};
        plan.loop.step = 900_s;
        plan.transport.detect = 500_ms;
        run.words = Words{kUnits * kUnitWords};
        run.units.assign(kUnits, Words{kUnitWords});
        run.anchor = make_delta(plan.delta, 0);
        run.deltas = {make_delta(plan.delta, 1)};
        run.replica_gather.resize(3 * kReplicas);
    }
};

using OnEvents = std::function<void(std::span<const Event>)>;

/// Seconds of one run of it.
double run_once(const Made& made, const OnEvents& on_events) {
    const auto start = std::chrono::steady_clock::now();
    const auto bits = make_recorded_bits(made.run, made.plan.delta);
    const auto store = make_memory_store();
    const auto run = run_refits(made.plan, {*bits, *store, {}, on_events}, make_memory_register);
    REFIT_ASSERT(run.has_value());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void compare(benchmark::State& state, const Made& made, const OnEvents& on_events) {
    std::vector<double> ratios;
    bool watched_first = false;
    for (auto _ : state) {
        watched_first = !watched_first;
        const double first = run_once(made, watched_first ? on_events : OnEvents());
        const double second = run_once(made, watched_first ? OnEvents() : on_events);
        ratios.push_back(watched_first ? first / second : second / first);
    }
    std::ranges::sort(ratios);
    state.counters["slower"] = ratios[ratios.size() / 2] - 1;
}

void BM_Snapshot(benchmark::State& state) {
    const Made made;
    Snapshot snapshot = begin_snapshot(derive_tree(made.plan.topology).nodes.size() + 1);
    compare(state, made, [&](std::span<const Event> events) {
        for (const Event& event : events) fold(event, snapshot);
    });
    benchmark::DoNotOptimize(snapshot.events);
}
BENCHMARK(BM_Snapshot)->Unit(benchmark::kMillisecond)->Iterations(15);

void BM_Recording(benchmark::State& state) {
    const Made made;
    Cast cast;
    cast.tree = derive_tree(made.plan.topology);
    for (const Site& site : made.plan.topology.sites) cast.sites.push_back(site.name);
    const auto file = std::filesystem::temp_directory_path() / "refit-publish-bench.timeline";
    RecordingWriter writer(file, cast);
    compare(state, made, [&](std::span<const Event> events) { writer.append(events); });
    std::filesystem::remove(file);
}
BENCHMARK(BM_Recording)->Unit(benchmark::kMillisecond)->Iterations(15);

}  // namespace
}  // namespace refit

BENCHMARK_MAIN();
