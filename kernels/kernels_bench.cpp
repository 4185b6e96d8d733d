// Speed of the CPU kernels on one core, beside what the same memory gives to compare and copy.
//
// Rows      OPERATION/LEVEL/CHANGED/SIZE, and compare, copy. `cache` fits the second cache level,
//           `memory` no cache. Tiles are taken one after the other, rows are padded in rank memory.
// Counters  bytes_per_second: BF16 weight bytes of one checkpoint, whatever is read or written.
//           of_compare: time of a memcmp of two equal checkpoints over time of the operation,
//           the two taken in turn inside one row, so that a busy machine slows both.
// Time      of the measuring thread's CPU clock: other processes do not count.
#include <benchmark/benchmark.h>

#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "kernels/device.hpp"

namespace refit {
namespace {

constexpr std::uint64_t kColumns = 4096;
constexpr std::uint64_t kRowStride = kColumns + 64;  // padded, so that rows are no single run
constexpr std::uint64_t kSalt = 1;

using WordVector = std::vector<std::uint16_t>;

struct Size {
    std::string name;
    std::uint64_t tiles;
    std::uint64_t tile_words;
    unsigned passes;  // per timed iteration

    std::uint64_t words() const { return tiles * tile_words; }
};

struct SparseMasks {
    std::vector<std::uint32_t> index;
    WordVector mask;
};

std::uint64_t mix(std::uint64_t& state) {
    std::uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/// Two checkpoints of random words, and what the operations need of them tile by tile.
struct Workload {
    Workload(const Size& shape, unsigned percent);

    std::span<const std::uint16_t> tile_of(const WordVector& words, std::uint64_t t) const {
        return std::span(words).subspan(t * size.tile_words, size.tile_words);
    }

    Size size;
    unsigned changed_percent;
    WordVector base;
    WordVector same;  // equal to base, elsewhere
    WordVector next;
    WordVector weights;
    std::vector<SparseMasks> masks;
    std::vector<Changes> changes;
    std::vector<Placement> placements;  // of a tile in `weights`
    Placement identity;                 // of a tile in itself
};

Workload::Workload(const Size& shape, unsigned percent)
    : size(shape), changed_percent(percent), base(size.words()) {
    std::uint64_t state = 2026;
    for (std::uint16_t& word : base) word = static_cast<std::uint16_t>(mix(state));
    same = base;
    next = base;
    const std::uint64_t tile_rows = size.tile_words / kColumns;
    weights.resize(size.tiles * tile_rows * kRowStride);
    masks.resize(size.tiles);
    changes.resize(size.tiles);
    const auto device = make_cpu_device(1);
    for (std::uint64_t t = 0; t < size.tiles; ++t) {
        for (std::uint64_t i = 0; i < size.tile_words; ++i) {
            const std::uint64_t random = mix(state);
            if (random % 100 >= percent) continue;
            const auto mask = static_cast<std::uint16_t>(1 + (random >> 32) % 0xFFFF);
            masks[t].index.push_back(static_cast<std::uint32_t>(i));
            masks[t].mask.push_back(mask);
            next[t * size.tile_words + i] ^= mask;
        }
        device->diff(tile_of(base, t), tile_of(next, t), changes[t]);
        Placement p;
        p.tile_words = size.tile_words;
        p.columns = p.col_count = kColumns;
        p.row_count = tile_rows;
        p.local_first = t * tile_rows * kRowStride;
        p.local_row_stride = kRowStride;
        p.tensor = t;
        placements.push_back(p);
        p.local_first = 0;
        p.local_row_stride = kColumns;
        identity = p;
    }
}

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void compare_all(const Workload& w) {
    bool equal = true;
    for (std::uint64_t t = 0; t < w.size.tiles; ++t)
        equal &= std::memcmp(w.tile_of(w.base, t).data(), w.tile_of(w.same, t).data(),
                             w.size.tile_words * sizeof(std::uint16_t)) == 0;
    benchmark::DoNotOptimize(equal);
}

/// Times operation(workload, tile) over all tiles, and compare in turn with it.
template <class Operation>
void time_operation(benchmark::State& state, Workload& w, const Operation& operation) {
    double seconds = 0;
    double compare_seconds = 0;
    for (const auto unused : state) {
        (void)unused;
        const double start = cpu_seconds();
        for (unsigned pass = 0; pass < w.size.passes; ++pass)
            for (std::uint64_t t = 0; t < w.size.tiles; ++t) operation(w, t);
        const double middle = cpu_seconds();
        for (unsigned pass = 0; pass < w.size.passes; ++pass) compare_all(w);
        const double end = cpu_seconds();
        state.SetIterationTime(middle - start);
        seconds += middle - start;
        compare_seconds += end - middle;
    }
    const std::uint64_t bytes = w.size.words() * sizeof(std::uint16_t) * w.size.passes;
    state.SetBytesProcessed(static_cast<std::int64_t>(bytes) *
                            static_cast<std::int64_t>(state.iterations()));
    state.counters["of_compare"] = compare_seconds / seconds;
}

/// Registers the rows of one size and change rate. A workload is made when its first row runs and
/// dropped when a row of another one does.
class Rows {
public:
    void add_size(const Size& size) {
        add("compare/" + size.name, size, 0, [](Workload& w, std::uint64_t t) {
            if (t == 0) compare_all(w);
        });
        add("copy/" + size.name, size, 0, [](Workload& w, std::uint64_t t) {
            std::memcpy(&w.next[t * w.size.tile_words], w.tile_of(w.base, t).data(),
                        w.size.tile_words * sizeof(std::uint16_t));
        });
        for (const unsigned percent : {0u, 1u, 3u, 100u})
            for (const std::string& level : cpu_device_levels()) add_level(size, percent, level);
    }

private:
    void add_level(const Size& size, unsigned percent, const std::string& level) {
        const std::shared_ptr<Device> device = make_cpu_device(1, level);
        const auto out = std::make_shared<Changes>();
        const std::string tail = "/" + level + "/" + std::to_string(percent) + "%/" + size.name;
        add("diff" + tail, size, percent, [device, out](Workload& w, std::uint64_t t) {
            device->diff(w.tile_of(w.base, t), w.tile_of(w.next, t), *out);
        });
        add("diff_and_digest" + tail, size, percent, [device, out](Workload& w, std::uint64_t t) {
            auto digests = device->diff_and_digest(w.tile_of(w.base, t), w.tile_of(w.next, t),
                                                   {&w.identity, 1}, kSalt, *out);
            benchmark::DoNotOptimize(digests);
        });
        if (percent == 0) {
            add("digest" + tail, size, percent, [device](Workload& w, std::uint64_t t) {
                auto digest = device->digest(w.weights, {&w.placements[t], 1}, kSalt);
                benchmark::DoNotOptimize(digest);
            });
            return;
        }
        add("stage" + tail, size, percent, [device, out](Workload& w, std::uint64_t t) {
            device->stage(w.tile_of(w.base, t), w.masks[t].index, w.masks[t].mask, *out);
        });
        add("overwrite" + tail, size, percent, [device](Workload& w, std::uint64_t t) {
            device->overwrite(w.weights, w.changes[t], {&w.placements[t], 1});
        });
        add("digest_change" + tail, size, percent, [device](Workload& w, std::uint64_t t) {
            auto change = device->digest_change(w.tile_of(w.base, t), w.changes[t],
                                                {&w.placements[t], 1}, kSalt);
            benchmark::DoNotOptimize(change);
        });
    }

    template <class Operation>
    void add(const std::string& name, const Size& size, unsigned percent, Operation operation) {
        const auto run = [this, size, percent, operation](benchmark::State& state) {
            time_operation(state, workload(size, percent), operation);
        };
        benchmark::RegisterBenchmark(name.c_str(), run)->UseManualTime()->MinTime(0.2);
    }

    Workload& workload(const Size& size, unsigned percent) {
        const bool fits = workload_ != nullptr && workload_->size.name == size.name &&
                          workload_->changed_percent == percent;
        if (!fits) {
            workload_.reset();
            workload_ = std::make_unique<Workload>(size, percent);
        }
        return *workload_;
    }

    std::unique_ptr<Workload> workload_;
};

}  // namespace
}  // namespace refit

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    refit::Rows rows;
    rows.add_size({"cache", 1, std::uint64_t{64} << 10, 64});
    rows.add_size({"memory", 64, std::uint64_t{512} << 10, 1});
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
