// A device with memory of its own gives what the CPU gives, although it never sees rank memory, and
// lanes whose tiles interleave there do not undo each other's work.
#include <gtest/gtest.h>

#include <thread>

#include "kernels/cuda/lane_memory.hpp"
#include "tests/kernels/support.hpp"
#include "tests/simt/fake_runtime.hpp"
#include "tests/simt/separate_memory.hpp"

namespace refit {
namespace {

constexpr simt::Schedule kSchedule{simt::Order::random, 11, 2};

std::unique_ptr<Device> separate_device() {
    return std::make_unique<MemoryDevice<SeparateMemory>>(SeparateMemory(kSchedule), 1);
}

/// A device over the fake runtime; `state` counts what went wrong.
std::unique_ptr<Device> lane_device(const std::shared_ptr<FakeRuntimeState>& state) {
    state->schedule = kSchedule;
    using Memory = kernels::LaneMemory<FakeRuntime>;
    return std::make_unique<MemoryDevice<Memory>>(Memory(FakeRuntime(state), {0}), 1);
}

/// Every operation that touches rank memory, on both devices.
void expect_same(Device& cpu, Device& other, TestRng& rng) {
    const Sharding sharding = random_case(rng);
    const Placement* const placed = sharding.placements.data();
    const std::span<const Placement> placements(placed, sharding.placements.size());
    const WordVector tile = random_words(rng, sharding.tile_words);
    WordVector one = random_words(rng, sharding.local_words);
    WordVector two = one;
    cpu.scatter(tile, placements, one);
    other.scatter(tile, placements, two);
    ASSERT_EQ(one, two);
    EXPECT_EQ(cpu.digest(one, placements, 5), other.digest(two, placements, 5));

    Changes changes;
    cpu.diff(tile, random_next(rng, tile, rng.below(2) == 0 ? 30 : 700), changes);
    cpu.overwrite(one, changes, placements);
    other.overwrite(two, changes, placements);
    ASSERT_EQ(one, two);

    WordVector back = random_words(rng, sharding.tile_words);
    WordVector again = back;
    cpu.gather(one, placements, back);
    other.gather(two, placements, again);
    ASSERT_EQ(back, again);
}

TEST(SeparateMemory, RankMemoryIsThatOfTheCpu) {
    const auto cpu = make_cpu_device(1);
    const auto device = separate_device();
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        SCOPED_TRACE(seed);
        TestRng rng{seed};
        expect_same(*cpu, *device, rng);
        if (HasFatalFailure()) return;
    }
}

TEST(SeparateMemory, OverTheLanesOfARuntimeToo) {
    const auto cpu = make_cpu_device(1);
    const auto state = std::make_shared<FakeRuntimeState>();
    auto device = lane_device(state);
    for (std::uint64_t seed = 100; seed < 125; ++seed) {
        SCOPED_TRACE(seed);
        TestRng rng{seed};
        expect_same(*cpu, *device, rng);
        if (HasFatalFailure()) return;
    }
    device.reset();
    EXPECT_EQ(state->hazards, 0u);
    EXPECT_TRUE(state->nothing_left());
}

/// Two tiles of one tensor in one rank memory, and what becomes of both.
struct TwoTiles {
    std::vector<Placement> placements[2];
    WordVector base[2];
    Changes changes[2];
    WordVector weights;
};

TwoTiles random_tiles(TestRng& rng, Device& cpu) {
    const std::uint64_t rows = 2 + rng.below(30);
    const std::uint64_t columns = 1 + rng.below(60);
    const std::uint64_t words = rows * columns;
    const Sharding sharding = random_sharding(rng, rows, columns, {0, 0, words});
    const std::uint64_t cut = 1 + rng.below(words - 1);
    TwoTiles tiles;
    tiles.weights = random_words(rng, sharding.local_words);
    for (const int t : {0, 1}) {
        tiles.placements[t] = sharding.placements;
        for (Placement& p : tiles.placements[t]) {
            p.tensor_first = t == 0 ? 0 : cut;
            p.tile_words = t == 0 ? cut : words - cut;
        }
        tiles.base[t] = random_words(rng, t == 0 ? cut : words - cut);
        cpu.diff(tiles.base[t], random_next(rng, tiles.base[t], 600), tiles.changes[t]);
    }
    return tiles;
}

TEST(SeparateMemory, LanesWhoseTilesInterleaveDoNotUndoEachOther) {
    const auto cpu = make_cpu_device(1);
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        TestRng rng{seed};
        const TwoTiles tiles = random_tiles(rng, *cpu);
        WordVector expected = tiles.weights;
        for (const int t : {0, 1}) cpu->overwrite(expected, tiles.changes[t], tiles.placements[t]);

        // Both have taken their words before either brings them back.
        const auto both = std::make_shared<std::barrier<>>(2);
        MemoryDevice<SeparateMemory> device(SeparateMemory(kSchedule, both), 1);
        WordVector weights = tiles.weights;
        std::thread other(
            [&] { device.overwrite(weights, tiles.changes[1], tiles.placements[1]); });
        device.overwrite(weights, tiles.changes[0], tiles.placements[0]);
        other.join();
        ASSERT_EQ(weights, expected) << "seed " << seed;
    }
}

}  // namespace
}  // namespace refit
