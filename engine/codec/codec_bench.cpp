// Speed of encoding words in memory, beside what the same threads take to compare the words.
//
// Rows      encode/CODEC/CHANGED/THREADS: diff, both digests, codec body; changes lie uniformly,
//           each by one step. digest/CHANGED/THREADS: two digests and nothing else.
// Counters  bytes_per_second: BF16 weight bytes of one checkpoint. of_compare: time of a memcmp
//           of two equal checkpoints over time of the work, the two taken in turn batch by batch;
//           the median over the repetitions, beside it the quartiles. Wall time: what waits,
//           counts. cpu_of_compare: the same of the processor time of all threads, which other
//           processes disturb less.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/rng.hpp"
#include "engine/codec/delta.hpp"

namespace refit {
namespace {

constexpr std::uint64_t kRows = 16384;
constexpr std::uint64_t kColumns = 8192;
constexpr std::uint64_t kUnitWords = std::uint64_t{16} << 20;
constexpr std::size_t kUnitsPerBatch = 2;
static_assert(kRows * kColumns % (kUnitsPerBatch * kUnitWords) == 0);
constexpr std::uint64_t kSalt = 1;
constexpr int kRepetitions = 15;

using WordVector = std::vector<std::uint16_t>;

/// Three checkpoints of one tensor; `same` equals base, elsewhere.
struct Checkpoints {
    explicit Checkpoints(unsigned per_thousand);

    Catalog catalog;
    Grid grid;
    std::vector<UnitRange> units;
    WordVector same;
    MemoryWeights base;
    MemoryWeights next;
};

Catalog one_tensor() {
    std::vector<TensorSpec> specs{{"weight", WordType::bf16, {kRows, kColumns}}};
    return std::move(Catalog::make(std::move(specs))).value();
}

WordVector random_words() {
    Rng rng(2026, 1);
    WordVector words(kRows * kColumns);
    for (std::uint16_t& word : words) word = static_cast<std::uint16_t>(rng.next());
    return words;
}

WordVector stepped(WordVector words, unsigned per_thousand) {
    Rng rng(2026, 2);
    for (std::uint16_t& word : words) {
        const std::uint64_t random = rng.next();
        if (random % 1000 < per_thousand)
            word = static_cast<std::uint16_t>((random >> 63) != 0 ? word + 1 : word - 1);
    }
    return words;
}

Checkpoints::Checkpoints(unsigned per_thousand)
    : catalog(one_tensor()),
      grid(catalog),
      units(make_units(grid, kUnitWords)),
      same(random_words()),
      base(catalog, same),
      next(catalog, stepped(same, per_thousand)) {}

using TileRange = UnitRange;  // any run of tiles

void compare(Device& device, const Checkpoints& pair, TileRange range) {
    device.for_each(range.tile_count, [&](std::uint64_t t, unsigned) {
        const Tile& tile = pair.grid.tile(range.first_tile + t);
        const auto base = pair.base.view_tile(tile);
        const std::uint16_t* same = &pair.same[tile.pieces.front().tensor_first];
        bool equal = std::memcmp(base.data(), same, base.size_bytes()) == 0;
        benchmark::DoNotOptimize(equal);
    });
}

void digest(Device& device, const Checkpoints& pair, TileRange range) {
    device.for_each(range.tile_count, [&](std::uint64_t t, unsigned) {
        const Tile& tile = pair.grid.tile(range.first_tile + t);
        const auto placements = identity_placements(pair.catalog, tile);
        auto digest = device.digest(pair.base.view_tile(tile), placements, kSalt) +
                      device.digest(pair.next.view_tile(tile), placements, kSalt);
        benchmark::DoNotOptimize(digest);
    });
}

/// Wall and processor time so far, in seconds.
struct Times {
    double wall = 0;
    double cpu = 0;

    static Times now() {
        const auto seconds = [](clockid_t clock) {
            timespec time{};
            clock_gettime(clock, &time);
            return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
        };
        return {seconds(CLOCK_MONOTONIC), seconds(CLOCK_PROCESS_CPUTIME_ID)};
    }

    void add(const Times& start, const Times& end) {
        wall += end.wall - start.wall;
        cpu += end.cpu - start.cpu;
    }
};

/// Times work(batch of units) and a comparison of the same tiles in turn.
void time_work(benchmark::State& state,
               Device& device,
               const Checkpoints& pair,
               const std::function<void(std::span<const UnitRange>)>& work) {
    std::vector<double> ratios;
    std::vector<double> cpu_ratios;
    work(std::span(pair.units).first(kUnitsPerBatch));  // buffers are there from here on
    for (const auto unused : state) {
        (void)unused;
        Times of_work;
        Times of_compare;
        for (std::size_t u = 0; u < pair.units.size(); u += kUnitsPerBatch) {
            const auto batch = std::span(pair.units).subspan(u, kUnitsPerBatch);
            const Times start = Times::now();
            for (const UnitRange unit : batch) compare(device, pair, unit);
            const Times middle = Times::now();
            work(batch);
            of_compare.add(start, middle);
            of_work.add(middle, Times::now());
        }
        state.SetIterationTime(of_work.wall);
        ratios.push_back(of_compare.wall / of_work.wall);
        cpu_ratios.push_back(of_compare.cpu / of_work.cpu);
    }
    std::ranges::sort(ratios);
    std::ranges::sort(cpu_ratios);
    const auto quantile = [](const std::vector<double>& sorted, std::size_t quarter) {
        return sorted[(sorted.size() - 1) * quarter / 4];
    };
    state.SetBytesProcessed(static_cast<std::int64_t>(size_of(pair.catalog.words()).count) *
                            static_cast<std::int64_t>(state.iterations()));
    state.counters["of_compare"] = quantile(ratios, 2);
    state.counters["lower_quartile"] = quantile(ratios, 1);
    state.counters["upper_quartile"] = quantile(ratios, 3);
    state.counters["cpu_of_compare"] = quantile(cpu_ratios, 2);
}

/// Registers the rows of one change rate; the checkpoints are made when its first row runs.
class Rows {
public:
    void add_rate(unsigned per_thousand) {
        for (const unsigned threads : {1u, 2u}) {
            const std::string tail = "/" + std::to_string(per_thousand / 10) + "." +
                                     std::to_string(per_thousand % 10) + "%/" +
                                     std::to_string(threads);
            for (const std::string codec : {"xc", "index-value", "gap-xor-zstd"}) {
                add("encode/" + codec + tail, threads, per_thousand,
                    [codec](benchmark::State& state, Device& device, const Checkpoints& pair) {
                        UnitEncoder encoder(device, *find_codec(codec).value(),
                                            DeltaContext{pair.catalog, pair.grid, kSalt});
                        std::vector<EncodedUnit> encoded;
                        time_work(state, device, pair, [&](std::span<const UnitRange> units) {
                            encoder.encode(units, pair.base, pair.next, encoded);
                            benchmark::DoNotOptimize(encoded);
                        });
                    });
            }
            add("digest" + tail, threads, per_thousand,
                [](benchmark::State& state, Device& device, const Checkpoints& pair) {
                    time_work(state, device, pair, [&](std::span<const UnitRange> units) {
                        for (const UnitRange unit : units) digest(device, pair, unit);
                    });
                });
        }
    }

private:
    template <class Run>
    void add(const std::string& name, unsigned threads, unsigned per_thousand, Run run) {
        const auto with_pair = [this, threads, per_thousand, run](benchmark::State& state) {
            if (pair_ == nullptr || per_thousand_ != per_thousand) {
                pair_.reset();
                pair_ = std::make_unique<Checkpoints>(per_thousand);
                per_thousand_ = per_thousand;
            }
            const auto device = make_cpu_device(threads);
            run(state, *device, *pair_);
        };
        benchmark::RegisterBenchmark(name.c_str(), with_pair)
            ->UseManualTime()
            ->Iterations(kRepetitions)
            ->Unit(benchmark::kMillisecond);
    }

    std::unique_ptr<Checkpoints> pair_;
    unsigned per_thousand_ = 0;
};

}  // namespace
}  // namespace refit

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    refit::Rows rows;
    for (const unsigned per_thousand : {0u, 10u, 30u}) rows.add_rate(per_thousand);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
