// Every kernel gives the CPU backend's bytes under every schedule: data held through placements.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/device.hpp"
#include "tests/kernels/support.hpp"
#include "tests/simt/support.hpp"

namespace refit {
namespace {

constexpr std::uint64_t kSalt = 0x5EED;

/// All operations through placements, on the CPU and under one schedule.
void expect_same_bytes(Device& device,
                       const Sharding& held,
                       const simt::Schedule& schedule,
                       TestRng& rng) {
    const WordVector tile = random_words(rng, held.tile_words);
    const WordVector next = random_next(rng, tile, rng.below(4) == 0 ? 900 : 30);
    const WordVector memory = random_words(rng, held.local_words);
    Changes changes;
    device.diff(tile, next, changes);
    SimtKernels kernels(schedule);

    ASSERT_EQ(kernels.digest(memory, held.placements, kSalt),
              device.digest(memory, held.placements, kSalt));
    ASSERT_EQ(kernels.digest_change(tile, changes, held.placements, kSalt),
              device.digest_change(tile, changes, held.placements, kSalt));
    WordVector want = memory;
    WordVector ours = memory;
    device.overwrite(want, changes, held.placements);
    kernels.overwrite(ours, changes, held.placements);
    ASSERT_EQ(ours, want) << "overwrite";
    kernels.overwrite(ours, changes, held.placements);
    ASSERT_EQ(ours, want) << "overwritten twice";
    want = memory;
    ours = memory;
    device.scatter(tile, held.placements, want);
    kernels.scatter(tile, held.placements, ours);
    ASSERT_EQ(ours, want) << "scatter";
    want = tile;
    ours = tile;
    device.gather(memory, held.placements, want);
    kernels.gather(memory, held.placements, ours);
    ASSERT_EQ(ours, want) << "gather";
}

TEST(SimtBoxes, AnyShardingGivesTheBytesOfTheCpu) {
    const auto device = make_cpu_device(1);
    TestRng rng{51};
    for (const simt::Schedule& schedule : every_schedule()) {
        for (int round = 0; round < 4; ++round) {
            SCOPED_TRACE(schedule_text(schedule) + ", round " + std::to_string(round));
            expect_same_bytes(*device, random_case(rng), schedule, rng);
            if (HasFatalFailure()) return;
        }
    }
}

/// A whole tensor that begins at words 0 to 8 of the memory, so at every alignment.
TEST(SimtBoxes, WholeTensorsOfEveryWidthAndAlignment) {
    const auto device = make_cpu_device(1);
    TestRng rng{52};
    const std::vector<simt::Schedule> schedules = every_schedule();
    std::size_t turn = 0;
    for (const std::uint64_t columns : {1u, 2u, 7u, 8u, 9u, 63u, 64u, 65u, 1023u, 1024u, 1025u}) {
        for (const std::uint64_t rows : {1u, 2u, 63u, 64u, 65u, 1025u}) {
            if (rows * columns > 70000) continue;
            Sharding held;
            held.placements.push_back(whole_tensor(rows, columns));
            held.placements[0].local_first = turn % 9;
            held.tile_words = rows * columns;
            held.local_words = rows * columns + turn % 9;
            SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
            expect_same_bytes(*device, held, schedules[turn++ % schedules.size()], rng);
            if (HasFatalFailure()) return;
        }
    }
}

TEST(SimtBoxes, MorePlacementsThanLanesOfAWarp) {
    const auto device = make_cpu_device(1);
    TestRng rng{53};
    Sharding held;
    for (std::uint64_t tensor = 0; tensor < 70; ++tensor) {
        Placement p = whole_tensor(1 + tensor % 5, 40 + tensor);
        p.tile_first = held.tile_words;
        p.local_first = held.local_words;
        p.tensor = tensor;
        held.tile_words += p.tile_words;
        held.local_words += p.tile_words + tensor % 3;
        held.placements.push_back(p);
    }
    for (const simt::Schedule& schedule : every_schedule()) {
        expect_same_bytes(*device, held, schedule, rng);
        if (HasFatalFailure()) return;
    }
}

TEST(SimtBoxes, WordsHeldTwiceAreGatheredFromTheLastAndDigestedTwice) {
    const auto device = make_cpu_device(1);
    TestRng rng{54};
    const std::uint64_t rows = 40;
    const std::uint64_t columns = 100;
    Sharding held;
    held.tile_words = rows * columns;
    for (int copy = 0; copy < 3; ++copy) {
        Placement p = whole_tensor(rows, columns);
        p.row_first = static_cast<std::uint64_t>(copy) * 5;
        p.row_count = rows - p.row_first;
        p.local_first = held.local_words;
        held.local_words += rows * columns;
        held.placements.push_back(p);
    }
    for (const simt::Schedule& schedule : every_schedule()) {
        expect_same_bytes(*device, held, schedule, rng);
        if (HasFatalFailure()) return;
    }
    const kernels::TilePlacements tile{{0, held.tile_words}, held.placements};
    EXPECT_EQ(kernels::plan_boxes({&tile, 1}, held.local_words).waves.size(), 3u);
}

TEST(SimtBoxes, DisjointBoxesAreGatheredInOneLaunch) {
    TestRng rng{55};
    for (int round = 0; round < 200; ++round) {
        const Sharding held = random_case(rng);
        const kernels::TilePlacements tile{{0, held.tile_words}, held.placements};
        const kernels::BoxPlan plan = kernels::plan_boxes({&tile, 1}, held.local_words);
        ASSERT_LE(plan.waves.size(), 1u);
        ASSERT_EQ(plan.waves.empty(), plan.boxes.empty());
    }
}

TEST(SimtBoxes, ABatchAddsUpEachTileApart) {
    const auto device = make_cpu_device(1);
    TestRng rng{56};
    for (const simt::Schedule& schedule : every_schedule()) {
        std::vector<Sharding> shardings;
        std::uint64_t words = 0;
        std::uint64_t memory_words = 0;
        for (int t = 0; t < 3; ++t) {
            shardings.push_back(random_case(rng));
            for (Placement& p : shardings.back().placements) p.local_first += memory_words;
            memory_words += shardings.back().local_words;
        }
        std::vector<kernels::TilePlacements> tiles;
        for (const Sharding& held : shardings) {
            tiles.push_back({{words, held.tile_words}, held.placements});
            words += held.tile_words;
        }
        const kernels::BoxPlan plan = kernels::plan_boxes(tiles, memory_words);
        const WordVector memory = random_words(rng, memory_words);
        simt::Queue queue{schedule, {}};
        std::vector<unsigned long long> digests(tiles.size());
        kernels::launch_digest(queue, plan, plan.boxes.data(), memory.data(), kSalt,
                               digests.data());
        WordVector want = random_words(rng, words);
        WordVector ours = want;
        kernels::launch_gather(queue, plan, plan.boxes.data(), memory.data(), ours.data());
        for (std::size_t t = 0; t < tiles.size(); ++t) {
            ASSERT_EQ(digests[t], device->digest(memory, tiles[t].placements, kSalt));
            device->gather(memory, tiles[t].placements,
                           std::span(want).subspan(tiles[t].tile.first, tiles[t].tile.words));
        }
        ASSERT_EQ(ours, want);
    }
}

TEST(SimtBoxes, OffsetsBelowZeroAndEmptyBoxesAreNothingSpecial) {
    const auto device = make_cpu_device(1);
    TestRng rng{57};
    Sharding held;
    Placement p = whole_tensor(50, 60);  // only the last 7 words of row 20, and rows 21 to 30
    p.tensor_first = 20 * 60 + 53;
    p.tile_words = 7 + 10 * 60;
    p.local_first = 3 - p.tensor_first;  // mod 2^64: the rank holds nothing before the piece
    held.placements.push_back(p);
    p.col_count = 0;
    held.placements.push_back(p);
    p = whole_tensor(50, 60);
    p.tile_words = 0;
    held.placements.push_back(p);
    held.tile_words = 7 + 10 * 60;
    held.local_words = held.tile_words + 3;
    for (const simt::Schedule& schedule : every_schedule()) {
        expect_same_bytes(*device, held, schedule, rng);
        if (HasFatalFailure()) return;
    }
}

TEST(SimtBoxesDeathTest, PlacementsMustStayInsideTheirMemoryAndTile) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const Placement p = whole_tensor(10, 20);
    const kernels::TilePlacements tile{{0, 200}, {&p, 1}};
    const kernels::TilePlacements cut{{0, 199}, {&p, 1}};
    EXPECT_EQ(kernels::plan_boxes({&tile, 1}, 200).boxes.size(), 1u);
    EXPECT_DEATH(kernels::plan_boxes({&tile, 1}, 199), "addresses_inside");
    EXPECT_DEATH(kernels::plan_boxes({&cut, 1}, 200), "addresses_inside");
}

}  // namespace
}  // namespace refit
