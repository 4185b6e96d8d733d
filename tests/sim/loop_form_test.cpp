// Loops in closed form, by hand.
#include "engine/observe/loop_form.hpp"

#include <gtest/gtest.h>

namespace refit {
namespace {

Loop loop_of(Nanoseconds generation, Nanoseconds step, std::uint32_t staleness) {
    Loop loop;
    loop.generation = generation;
    loop.step = step;
    loop.staleness = staleness;
    return loop;
}

TEST(LoopForm, EachTermOfTheAsynchronousStepCanBeTheLongest) {
    const auto step = [](const Loop& loop, const RefitCost& cost) {
        return loop_period(LoopShape::asynchronous, loop, cost).step;
    };
    EXPECT_DOUBLE_EQ(step(loop_of(100_s, 40_s, 2), {30, 3}), 103);
    EXPECT_DOUBLE_EQ(step(loop_of(40_s, 100_s, 2), {30, 3}), 100);
    EXPECT_DOUBLE_EQ(step(loop_of(40_s, 30_s, 2), {100, 3}), 100);
    EXPECT_DOUBLE_EQ(step(loop_of(40_s, 30_s, 1), {50, 3}), 60);
    EXPECT_DOUBLE_EQ(step(loop_of(40_s, 30_s, 0), {50, 3}), 120);
    EXPECT_DOUBLE_EQ(loop_period(LoopShape::asynchronous, loop_of(40_s, 30_s, 1), {50, 3}).idle,
                     20);
}

TEST(LoopForm, TheTwoSimplerShapesAreAsTheyWere) {
    const Loop loop = loop_of(90_s, 60_s, 2);
    EXPECT_DOUBLE_EQ(loop_period(LoopShape::synchronous, loop, {30, 3}).step, 120);
    EXPECT_DOUBLE_EQ(loop_period(LoopShape::synchronous, loop, {30, 3}).idle, 30);
    EXPECT_DOUBLE_EQ(loop_period(LoopShape::one_step_off, loop, {30, 3}).step, 60);
    EXPECT_DOUBLE_EQ(loop_period(LoopShape::one_step_off, loop, {80, 3}).step, 80);
    EXPECT_DOUBLE_EQ(loop_period(LoopShape::one_step_off, loop, {30, 3}).idle, 3);
    EXPECT_DOUBLE_EQ(shortest_step(LoopShape::synchronous, loop, {30, 3}), 3000);
    EXPECT_DOUBLE_EQ(shortest_step(LoopShape::one_step_off, loop, {30, 3}), 300);
    EXPECT_DOUBLE_EQ(shortest_step(LoopShape::one_step_off, loop, {30, 0.1}), 30);
}

TEST(LoopForm, AtTheShortestAsynchronousStepOneHundredthIsIdle) {
    for (const std::uint32_t staleness : {1u, 2u, 3u}) {
        for (const RefitCost& cost : {RefitCost{50, 0.1}, RefitCost{50, 2}}) {
            const double step =
                shortest_step(LoopShape::asynchronous, loop_of({}, {}, staleness), cost);
            const auto idle_at = [&](double seconds) {
                const Nanoseconds all{static_cast<std::int64_t>(seconds * 1e9)};
                const Nanoseconds work{static_cast<std::int64_t>(seconds * 0.99e9)};
                const LoopPeriod period =
                    loop_period(LoopShape::asynchronous, loop_of(work, all, staleness), cost);
                return period.idle / period.step;
            };
            EXPECT_LE(idle_at(step), 0.01 + 1e-9) << staleness << " " << cost.pause;
            EXPECT_GT(idle_at(step * 0.98), 0.01 + 1e-9) << staleness << " " << cost.pause;
        }
    }
    EXPECT_DOUBLE_EQ(shortest_step(LoopShape::asynchronous, loop_of({}, {}, 0), {50, 0.1}), 5000);
}

TEST(LoopForm, KvIsPaidWithEveryResume) {
    Loop loop = loop_of(100_s, 40_s, 2);
    loop.kv_recompute = 2_s;
    EXPECT_DOUBLE_EQ(loop_period(LoopShape::asynchronous, loop, {30, 3}).step, 105);
    EXPECT_DOUBLE_EQ(loop_period(LoopShape::synchronous, loop, {30, 3}).step, 132);
    EXPECT_DOUBLE_EQ(loop_period(LoopShape::one_step_off, loop, {30, 3}).idle, 5);
    EXPECT_DOUBLE_EQ(shortest_step(LoopShape::synchronous, loop, {30, 3}), 3200);
    EXPECT_DOUBLE_EQ(shortest_step(LoopShape::one_step_off, loop, {30, 3}), 500);
    loop.staleness = 0;
    EXPECT_DOUBLE_EQ(loop_period(LoopShape::asynchronous, loop, {30, 3}).step, 172);
    EXPECT_DOUBLE_EQ(shortest_step(LoopShape::asynchronous, loop, {30, 3}), 3200);
}

}  // namespace
}  // namespace refit
