#include "kernels/cuda/busy.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace refit {
namespace {

using Spans = std::vector<DeviceSpan>;

TEST(Busy, OfNothingIsIdle) {
    EXPECT_EQ(account_busy({3, 10}, {}, {}), (BusyAccount{0, 0, 0, 7}));
    EXPECT_EQ(account_busy({3, 3}, Spans{{0, 9}}, {}), BusyAccount{});
    EXPECT_EQ(account_busy({3, 10}, Spans{{5, 5}}, Spans{{6, 6}}), (BusyAccount{0, 0, 0, 7}));
}

TEST(Busy, CountsOverlapsOnceAndCodecAsStolen) {
    // load 2..6 (twice over 3..5), codec 5..8: load 3, stolen 3 of which 1 beside, idle 4.
    EXPECT_EQ(account_busy({0, 10}, Spans{{3, 6}, {2, 5}}, Spans{{5, 8}}),
              (BusyAccount{3, 3, 1, 4}));
    EXPECT_EQ(account_busy({0, 10}, Spans{{0, 10}}, Spans{{0, 10}}), (BusyAccount{0, 10, 10, 0}));
    EXPECT_EQ(account_busy({0, 10}, {}, Spans{{2, 4}, {4, 6}}), (BusyAccount{0, 4, 0, 6}));
    EXPECT_EQ(account_busy({0, 10}, Spans{{2, 4}, {4, 6}}, {}), (BusyAccount{4, 0, 0, 6}));
}

TEST(Busy, CutsWhatReachesOutOfTheWindow) {
    EXPECT_EQ(account_busy({10, 20}, Spans{{0, 12}, {18, 90}, {30, 40}, {-5, 3}},
                           Spans{{-100, 11}, {19, 20}, {20, 21}}),
              (BusyAccount{2, 2, 2, 6}));
}

TEST(Busy, AddsUpOverWindows) {
    BusyAccount sum = account_busy({0, 10}, Spans{{0, 4}}, Spans{{3, 5}});
    sum += account_busy({0, 5}, Spans{{0, 5}}, {});
    EXPECT_EQ(sum, (BusyAccount{8, 2, 1, 5}));
    EXPECT_EQ(sum.window(), 15);
}

TEST(Busy, IsWhatLookingAtEveryNanosecondGives) {
    constexpr std::uint32_t kSeed = 20261130;
    std::mt19937 engine(kSeed);
    const auto draw = [&engine](int least, int most) {
        return std::uniform_int_distribution<std::int64_t>(least, most)(engine);
    };
    for (int round = 0; round < 4000; ++round) {
        const std::int64_t begin = draw(-10, 20);
        const DeviceSpan window{begin, begin + draw(0, 30)};
        const auto spans = [&] {
            Spans all(static_cast<std::size_t>(draw(0, 6)));
            for (DeviceSpan& span : all) {
                span.begin = draw(-20, 50);
                span.end = span.begin + draw(0, 15);
            }
            return all;
        };
        const Spans load = spans();
        const Spans codec = spans();
        BusyAccount expected;
        for (std::int64_t at = window.begin; at < window.end; ++at) {
            const auto open = [at](const Spans& all) {
                for (const DeviceSpan& span : all)
                    if (span.begin <= at && at < span.end) return true;
                return false;
            };
            expected.stolen += open(codec) ? 1 : 0;
            expected.beside += open(codec) && open(load) ? 1 : 0;
            expected.load += open(load) && !open(codec) ? 1 : 0;
            expected.idle += open(load) || open(codec) ? 0 : 1;
        }
        const BusyAccount account = account_busy(window, load, codec);
        ASSERT_EQ(account, expected) << "seed " << kSeed << ", round " << round;
        ASSERT_EQ(account.window(), window.end - window.begin);
    }
}

TEST(Busy, TakesNothingThatEndsBeforeItBegins) {
    EXPECT_DEATH(account_busy({1, 0}, {}, {}), "broken precondition");
    EXPECT_DEATH(account_busy({0, 9}, Spans{{2, 1}}, {}), "broken precondition");
    EXPECT_DEATH(account_busy({0, 9}, {}, Spans{{2, 1}}), "broken precondition");
}

}  // namespace
}  // namespace refit
