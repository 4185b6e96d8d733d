// The cost of a bit pass per word, and that it does not depend on the size of the model: slices of
// 30B, 235B and 1T in turn, so that whatever else the machine does hits all three alike.
//
//   refit_bit_pass_bench --benchmark_enable_random_interleaving=true --benchmark_repetitions=9
//
// "ns_per_word" is wall time over words made, encoded, staged on two layouts and compared;
// "peak_MiB" the most memory the process has had.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <filesystem>
#include <memory>

#include "engine/emulate/bit_pass.hpp"
#include "workloads/architecture.hpp"
#include "workloads/field_pairs.hpp"
#include "workloads/layouts.hpp"

namespace refit {
namespace {

constexpr std::uint64_t kUnitWords = std::uint64_t{16} << 20;
constexpr std::uint32_t kPerMillion = 30'000;
constexpr const char* kModels[] = {"qwen3-30b-a3b", "qwen3-235b-a22b", "kimi-k2-1t"};
constexpr const char* kLayouts[] = {"tp:tp8", "fsdp:dp16"};

/// A model with its maps, and where in it the next slice lies.
struct Model {
    explicit Model(const std::string& name)
        : catalog(make_catalog(load_architecture(std::filesystem::path(REFIT_SOURCE_DIR) /
                                                 "workloads/architectures" / (name + ".toml"))
                                   .value())
                      .value()),
          grid(catalog),
          pairs(make_field(catalog, *find_profile("adam"), kPerMillion, 1), {0, 1}),
          units(make_units(grid, kUnitWords)) {
        for (const char* layout : kLayouts)
            maps.push_back(std::move(make_layout(catalog, layout)).value());
    }

    Catalog catalog;
    Grid grid;
    FieldPairs pairs;
    std::vector<UnitRange> units;
    std::vector<ShardMap> maps;
    std::size_t next = 1;
};

void time_slices(benchmark::State& state, Model& model) {
    const auto device = make_cpu_device(0);
    const DeltaContext context{model.catalog, model.grid, 1};
    BitPass pass(*device, context, *find_codec("xc").value(), {&model.maps[0], &model.maps[1]});
    // The first unit makes the buffers.
    (void)pass.run(model.units[model.next], model.pairs);
    (void)pass.take_totals();
    for (auto _ : state) {
        // Steps through the whole model, whatever its size.
        model.next = (model.next + model.units.size() / 97 + 1) % model.units.size();
        const auto unit = pass.run(model.units[model.next], model.pairs);
        if (!unit.has_value()) state.SkipWithError(unit.error().what.c_str());
    }
    const BitPassTotals totals = pass.take_totals();
    if (!totals.exact()) state.SkipWithError("not exact");
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    state.counters["ns_per_word"] =
        benchmark::Counter(static_cast<double>(totals.words.count) / 1e9,
                           benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
    state.counters["peak_MiB"] = static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace
}  // namespace refit

int main(int argc, char** argv) {
    std::vector<std::unique_ptr<refit::Model>> models;
    for (const char* name : refit::kModels) {
        models.push_back(std::make_unique<refit::Model>(name));
        benchmark::RegisterBenchmark(name,
                                     [model = models.back().get()](benchmark::State& state) {
                                         refit::time_slices(state, *model);
                                     })
            ->Unit(benchmark::kMillisecond)
            ->MeasureProcessCPUTime()
            ->UseRealTime();
    }
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
