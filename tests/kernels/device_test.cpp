// The CPU device's levels and lanes: what it offers, and that its loops lose no index and no error.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <thread>

#include "tests/kernels/support.hpp"

namespace refit {
namespace {

TEST(CpuDevice, OffersEachLevelOnceAndTheReferenceLast) {
    const std::vector<std::string> levels = cpu_device_levels();
    ASSERT_FALSE(levels.empty());
    EXPECT_EQ(levels.back(), "scalar");
    EXPECT_EQ(std::set<std::string>(levels.begin(), levels.end()).size(), levels.size());
    for (const std::string& level : levels) {
        const auto device = make_cpu_device(2, level);
        EXPECT_EQ(device->name(), "cpu");
        EXPECT_EQ(device->detail(), level + ", 2 threads");
        EXPECT_EQ(device->lanes(), 2u);
    }
}

TEST(CpuDevice, PicksTheBestLevelAndEveryUsableCore) {
    const auto device = make_cpu_device();
    EXPECT_EQ(device->lanes(), std::max(1u, std::thread::hardware_concurrency()));
    EXPECT_EQ(make_cpu_device(1)->detail(), cpu_device_levels().front() + ", 1 thread");
}

TEST(CpuDevice, NamesTheLevelsWhenItLacksOne) {
    for (const std::string level : {"AVX9", "avx2", " "}) {
        try {
            make_cpu_device(1, level);
            FAIL() << "accepted " << level;
        } catch (const std::runtime_error& error) {
            EXPECT_NE(std::string(error.what()).find("\"" + level + "\""), std::string::npos);
            EXPECT_NE(std::string(error.what()).find("scalar"), std::string::npos);
        }
    }
}

TEST(ForEach, RunsEveryIndexOnceOnALaneThatExists) {
    for (const unsigned lanes : {1u, 2u, 3u, 8u}) {
        const auto device = make_cpu_device(lanes);
        ASSERT_EQ(device->lanes(), lanes);
        for (const std::uint64_t count : {0u, 1u, 2u, 7u, 1000u}) {
            std::vector<std::atomic<int>> runs(count);
            std::vector<std::atomic<bool>> busy(lanes);
            std::atomic<int> broken = 0;
            device->for_each(count, [&](std::uint64_t index, unsigned lane) {
                if (lane >= lanes || busy[lane].exchange(true)) ++broken;
                ++runs[index];
                busy[lane] = false;
            });
            EXPECT_EQ(broken, 0) << lanes << " lanes";
            for (const auto& run : runs) ASSERT_EQ(run, 1) << lanes << " lanes";
        }
    }
}

TEST(ForEach, RunsOneTaskPerLaneAtATime) {
    // Every task waits for the others: with fewer threads than lanes this would never end.
    constexpr unsigned kLanes = 4;
    const auto device = make_cpu_device(kLanes);
    std::atomic<unsigned> waiting = 0;
    device->for_each(kLanes, [&](std::uint64_t, unsigned) {
        ++waiting;
        while (waiting < kLanes) std::this_thread::yield();
    });
    EXPECT_EQ(waiting, kLanes);
}

TEST(ForEach, SurvivesManyShortLoops) {
    const auto device = make_cpu_device(3);
    std::atomic<std::uint64_t> total = 0;
    for (std::uint64_t loop = 0; loop < 3000; ++loop)
        device->for_each(loop % 5, [&](std::uint64_t index, unsigned) { total += index + 1; });
    EXPECT_EQ(total, 600u * (0 + 1 + 3 + 6 + 10));
}

TEST(ForEach, LetsTheCallerReadWhatTasksWrote) {
    const auto device = make_cpu_device(4);
    std::vector<std::uint64_t> squares(5000);
    device->for_each(squares.size(), [&](std::uint64_t i, unsigned) { squares[i] = i * i; });
    for (std::uint64_t i = 0; i < squares.size(); ++i) ASSERT_EQ(squares[i], i * i);
}

TEST(ForEach, RethrowsAndGoesOnAfterwards) {
    for (const unsigned lanes : {1u, 2u, 5u}) {
        const auto device = make_cpu_device(lanes);
        for (const std::uint64_t bad : {0u, 3u, 99u}) {
            std::atomic<std::uint64_t> runs = 0;
            try {
                device->for_each(100, [&](std::uint64_t index, unsigned) {
                    ++runs;
                    if (index == bad) throw std::runtime_error("task " + std::to_string(index));
                });
                FAIL() << "swallowed the error of task " << bad;
            } catch (const std::runtime_error& error) {
                EXPECT_EQ(error.what(), "task " + std::to_string(bad));
            }
            EXPECT_GT(runs, bad);
            runs = 0;
            device->for_each(100, [&](std::uint64_t, unsigned) { ++runs; });
            EXPECT_EQ(runs, 100u);
        }
    }
}

TEST(ForEach, StopsHandingOutIndicesAfterAnError) {
    const auto device = make_cpu_device(2);
    std::atomic<std::uint64_t> runs = 0;
    const auto loop = [&] {
        device->for_each(std::uint64_t{1} << 60, [&](std::uint64_t, unsigned) {
            if (++runs == 10) throw std::runtime_error("enough");  // the other lane goes on
        });
    };
    EXPECT_THROW(loop(), std::runtime_error);  // all of 2^60 would never end
}

TEST(ForEach, GivesTheSameResultsForAnyNumberOfLanes) {
    constexpr std::size_t kTiles = 24;
    TestRng rng{21};
    std::vector<std::pair<WordVector, WordVector>> tiles;
    for (std::size_t t = 0; t < kTiles; ++t) {
        const WordVector base = random_words(rng, 1 + rng.below(20000));
        tiles.emplace_back(base, random_next(rng, base, 30));
    }
    for (const std::string& level : cpu_device_levels()) {
        const auto device = make_cpu_device(4, level);
        std::vector<Changes> changes(kTiles);
        device->for_each(kTiles, [&](std::uint64_t t, unsigned) {
            device->diff(tiles[t].first, tiles[t].second, changes[t]);
        });
        for (std::size_t t = 0; t < kTiles; ++t)
            ASSERT_EQ(changes[t], expected_changes(tiles[t].first, tiles[t].second)) << level;
    }
}

TEST(ForEachDeathTest, RefusesToBeNested) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    const auto nest = [] {
        const auto device = make_cpu_device(2);
        device->for_each(1, [&](std::uint64_t, unsigned) {
            device->for_each(1, [](std::uint64_t, unsigned) {});
        });
    };
    EXPECT_DEATH(nest(), "broken precondition");
}

}  // namespace
}  // namespace refit
