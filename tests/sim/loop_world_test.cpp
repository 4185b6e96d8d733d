// Whole tiny worlds in an asynchronous loop: the step of the closed form, no dead end under faults,
// and the same rollouts for the world and for the account.
#include <gtest/gtest.h>

#include "engine/observe/loop_form.hpp"
#include "engine/refit.hpp"
#include "tests/sim/tiny_world.hpp"

namespace refit {
namespace {

WorldPlan async_plan(std::uint64_t seed, std::uint64_t refits, const Loop& loop) {
    WorldPlan plan = tiny_plan(seed, refits);
    plan.loop = loop;
    plan.loop.shape = LoopShape::asynchronous;
    return plan;
}

Loop loop_of(Nanoseconds generation, Nanoseconds step, std::uint32_t staleness) {
    Loop loop;
    loop.generation = generation;
    loop.step = step;
    loop.staleness = staleness;
    return loop;
}

/// Every version is handed over when it is final and the refit before it is done, never earlier.
void expect_versions_when_final(const World& world, const Loop& loop, bool faults) {
    RolloutLoop rollouts(loop, world.tree().nodes.size());
    Nanoseconds done{0};
    std::uint64_t versions = 0;
    for (const Event& event : world.timeline().events()) {
        if (event.kind == EventKind::refit_done) done = event.at;
        if (event.kind == EventKind::step_ready) {
            ++versions;
            EXPECT_EQ(event.version, versions);
            RolloutLoop at = rollouts;
            at.advance(event.at - Nanoseconds{1});
            const bool before = at.finals() >= event.version;
            at.advance(event.at);
            EXPECT_GE(at.finals(), event.version) << "version " << event.version << " is early";
            // A source that is down takes it later; the first one waits for 1 s.
            if (!faults && event.at > 1_s) {
                EXPECT_TRUE(!before || event.at == done) << "version " << event.version;
            }
        }
        rollouts.on_event(event);
    }
    EXPECT_EQ(versions, world.decided().version);
}

TEST(AsyncWorld, AStepIsThatOfTheClosedFormWhicheverTermIsLongest) {
    struct Case {
        const char* longest;
        Loop loop;
    };
    for (const auto& [longest, loop] :
         {Case{"generation", loop_of(12_s, 3_s, 2)}, Case{"step", loop_of(3_s, 12_s, 2)},
          Case{"refit", loop_of(200_ms, 300_ms, 3)}, Case{"sum", loop_of(4_s, 5_s, 0)}}) {
        WorldPlan plan = async_plan(2, 10, loop);
        for (Site& site : plan.topology.sites)
            for (ReplicaSpec& replica : site.replicas) replica.join_at = {};
        TinyWorld world(plan);
        const Status status = world->run();
        ASSERT_TRUE(status.has_value()) << longest << ": " << status.error().what;
        expect_versions_when_final(*world, plan.loop, false);
        const std::vector<RefitTimes> refits = fold_refits(world->timeline());
        ASSERT_EQ(refits.size(), 10u);
        RefitCost cost;
        for (const RefitTimes& refit : refits) {
            cost.refit += to_seconds(refit.seconds()) / 10;
            cost.pause += to_seconds(refit.longest_pause) / 10;
        }
        const double step = to_seconds(refits[9].served - refits[4].served) / 5;
        const LoopPeriod form = loop_period(plan.loop.shape, plan.loop, cost);
        std::printf("%s: step %.3f s, closed form %.3f s, refit %.3f s, pause %.3f s\n", longest,
                    step, form.step, cost.refit, cost.pause);
        // The next refit begins half a round trip after the last resume: up to 100 ms.
        EXPECT_NEAR(step, form.step, 0.1) << longest;
    }
}

TEST(AsyncWorld, GetsThroughCrashesAndItsAccountAddsUp) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        Loop loop = loop_of(700_ms, 900_ms, static_cast<std::uint32_t>(seed % 3));
        loop.kv_recompute = seed % 2 == 0 ? 50_ms : Nanoseconds{0};
        const WorldPlan plan = async_plan(seed, 4, loop);
        TinyWorld world(plan);
        Rng rng(seed, 0xFA17);
        Simulator& simulator = world->simulator();
        for (int fault = 0; fault < 6; ++fault) {
            const Nanoseconds at{static_cast<std::int64_t>(rng.below(15'000'000'000))};
            const auto node = static_cast<NodeId>(rng.below(world->tree().nodes.size() + 1));
            const Nanoseconds away{static_cast<std::int64_t>(rng.below(1'500'000'000))};
            simulator.at(at, [&simulator, node, away] {
                if (!simulator.alive(node)) return;
                simulator.crash(node);
                simulator.at(simulator.now() + away,
                             [&simulator, node] { simulator.restart(node); });
            });
        }
        const Status status = world->run();
        ASSERT_TRUE(status.has_value()) << "seed " << seed << ": " << status.error().what;
        EXPECT_EQ(world->decided().version, 4u) << "seed " << seed;
        EXPECT_EQ(world->totals().mismatches, 0u) << "seed " << seed;
        EXPECT_EQ(world->totals().reencodes, 0u) << "seed " << seed;
        expect_versions_when_final(*world, plan.loop, true);
        const IdleAccount idle = account_idle(world->timeline(), world->tree(), plan.loop);
        EXPECT_EQ(idle.busy + idle.idle_total(), idle.replica_time) << "seed " << seed;
        const Nanoseconds stolen = account_stolen(world->timeline(), idle.busy_spans);
        EXPECT_LE(stolen, idle.busy) << "seed " << seed;
        EXPECT_EQ(loop.kv_recompute.count > 0, idle.idle.contains(IdleCause::kv_recompute));
    }
}

TEST(AsyncWorld, StagingOfReplicasThatGoOnIsTheDeclaredDecodeTime) {
    // One-step-off, no faults: everybody serves while all parts are decoded, one after another.
    WorldPlan plan = tiny_plan(2, 2);
    for (Site& site : plan.topology.sites)
        for (ReplicaSpec& replica : site.replicas) replica.join_at = {};
    TinyWorld world(plan);
    ASSERT_TRUE(world->run().has_value());
    const IdleAccount idle = account_idle(world->timeline(), world->tree(), plan.loop);
    const double decode = 2.0 * static_cast<double>(world.steps().catalog().words().count) / 50'000;
    EXPECT_NEAR(to_seconds(account_stolen(world->timeline(), idle.busy_spans)), 2 * 5 * decode,
                1e-5);
}

}  // namespace
}  // namespace refit
