// Single stories on the tiny world: what must hold after one named fault.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine/refit.hpp"
#include "tests/sim/tiny_world.hpp"

namespace refit {
namespace {

std::vector<Event> events_of(const Timeline& timeline, EventKind kind) {
    std::vector<Event> found;
    std::ranges::copy_if(timeline.events(), std::back_inserter(found),
                         [kind](const Event& event) { return event.kind == kind; });
    return found;
}

WorldPlan plan_with(const std::vector<FaultSpec>& faults, std::uint64_t refits = 2) {
    WorldPlan plan = tiny_plan(2, refits);
    for (Site& site : plan.topology.sites)
        for (ReplicaSpec& replica : site.replicas) replica.join_at = {};
    plan.faults = faults;
    return plan;
}

TEST(World, GoesThroughTheStagesInOrderAndEndsExact) {
    TinyWorld world(plan_with({}, 1));
    ASSERT_TRUE(world->run().has_value());
    Nanoseconds last{0};
    for (const Stage& stage : refit_stages()) {
        const std::vector<Event> done = events_of(world->timeline(), stage.done);
        const auto first =
            std::ranges::find_if(done, [](const Event& event) { return event.version == 1; });
        ASSERT_NE(first, done.end()) << stage.name;
        EXPECT_GE(first->at, last) << stage.name << " is over before the stage before it";
        last = first->at;
    }
    EXPECT_EQ(world->totals().mismatches, 0u);
    EXPECT_EQ(world->totals().resident_checks, 5u);
    for (const World::ReplicaView& view : world->replicas())
        EXPECT_EQ(world->differing_words(view.node, 1), 0u);
}

TEST(World, SharesOfARefitAddUp) {
    TinyWorld world(plan_with({}));
    ASSERT_TRUE(world->run().has_value());
    const std::vector<RefitTimes> refits = fold_refits(world->timeline());
    ASSERT_EQ(refits.size(), 2u);
    for (const RefitTimes& refit : refits) {
        EXPECT_EQ(refit.encode() + refit.wire() + refit.stage() + refit.pause(), refit.seconds());
        EXPECT_GT(refit.encode().count, 0);
        EXPECT_GT(refit.wire().count, 0);
        EXPECT_GT(refit.stage().count, 0);
        EXPECT_GT(refit.pause().count, 0);
    }
}

TEST(World, IdleCausesAndBusyTimeAddUpToReplicaTime) {
    for (const LoopShape shape : {LoopShape::one_step_off, LoopShape::synchronous}) {
        WorldPlan plan = plan_with({{FaultKind::crash, "eu/replica-1", 1, 50, 700_ms}});
        plan.loop.shape = shape;
        plan.loop.generation = 1_s;
        TinyWorld world(plan);
        ASSERT_TRUE(world->run().has_value());
        const IdleAccount idle = account_idle(world->timeline(), world->tree(), plan.loop);
        EXPECT_EQ(idle.busy + idle.idle_total(), idle.replica_time);
        EXPECT_GT(idle.idle.at(IdleCause::drain).count, 0);
        EXPECT_GT(idle.idle.at(IdleCause::recovery).count, 0);
        EXPECT_EQ(idle.idle.contains(IdleCause::payload), shape == LoopShape::synchronous);
    }
}

TEST(World, PauseIsDrainOverwriteCheckAndLittleElse) {
    const WorldPlan plan = plan_with({}, 1);
    TinyWorld world(plan);
    ASSERT_TRUE(world->run().has_value());
    // All words read back at the declared rate, and 1.5 control round trips of 160 ms + jitter.
    const double check = 2.0 * static_cast<double>(world.steps().catalog().words().count) / 50'000;
    double overwrite = 0;
    for (const Event& event : events_of(world->timeline(), EventKind::overwrite_begin))
        for (const Event& end : events_of(world->timeline(), EventKind::check_begin))
            if (end.node == event.node)
                overwrite = std::max(overwrite, to_seconds(end.at - event.at));
    const RefitTimes refit = fold_refits(world->timeline()).front();
    EXPECT_LE(to_seconds(refit.longest_pause), 0.05 + overwrite + check + 1.5 * 0.165);
}

TEST(World, ADeadRelayCostsNoAcknowledgedByte) {
    TinyWorld world(plan_with({{FaultKind::kill, "eu/relay-1", 1, 40, {}}}));
    ASSERT_TRUE(world->run().has_value());
    const NodeId relay = world->tree().find("eu/relay-1");
    const std::vector<Event> down = events_of(world->timeline(), EventKind::node_down);
    ASSERT_EQ(down.size(), 1u);
    EXPECT_EQ(down.front().node, relay);
    std::uint32_t before = 0;
    for (const Event& event : events_of(world->timeline(), EventKind::chunk_received)) {
        if (event.node != relay) continue;
        EXPECT_LE(event.at, down.front().at);
        ++before;
    }
    EXPECT_GT(before, 0u);
    EXPECT_TRUE(events_of(world->timeline(), EventKind::chunk_repeated).empty());
    EXPECT_GT(count_resumes(world->timeline()), 0u);
    EXPECT_EQ(world->totals().reencodes, 0u);
}

TEST(World, ACutLinkIsResumedWhereItStopped) {
    TinyWorld world(plan_with({{FaultKind::cut, "ap/relay-1", 2, 50, 3_s}}));
    ASSERT_TRUE(world->run().has_value());
    EXPECT_EQ(events_of(world->timeline(), EventKind::link_down).size(), 1u);
    EXPECT_GT(count_resumes(world->timeline()), 0u);
    EXPECT_TRUE(events_of(world->timeline(), EventKind::chunk_repeated).empty());
    const TrafficTotals traffic = total(fold_traffic(world->timeline()));
    const std::uint64_t lost = traffic.sent_bytes - traffic.needed_bytes;
    EXPECT_LE(lost, std::uint64_t{4} * 64 * 2);  // a window of chunks for each lost connection
}

TEST(World, ASourceThatCrashesEncodesOnlyWhatNoDurablePartHas) {
    TinyWorld world(plan_with({}));
    bool crashed = false;
    world->on_event([&] {
        const auto& events = world->timeline().events();
        const bool part = std::ranges::any_of(
            events, [](const Event& e) { return e.kind == EventKind::part_durable; });
        if (crashed || !part) return;
        crashed = true;  // after the first part, in the middle of encoding
        world->simulator().crash(0);
        world->simulator().at(world->simulator().now() + 400_ms,
                              [&] { world->simulator().restart(0); });
    });
    ASSERT_TRUE(world->run().has_value());
    EXPECT_TRUE(crashed);
    EXPECT_EQ(world->totals().reencodes, 0u);
    EXPECT_EQ(world->totals().mismatches, 0u);
}

TEST(World, ALateReplicaJoinsFromAnchorAndDeltas) {
    WorldPlan plan = plan_with({}, 2);
    plan.topology.sites[2].replicas[1].join_at = 1_s;
    plan.loop.step = 20_s;
    TinyWorld world(plan);
    ASSERT_TRUE(world->run().has_value());
    const std::vector<Event> joined = events_of(world->timeline(), EventKind::joined);
    ASSERT_EQ(joined.size(), 1u);
    EXPECT_EQ(world->tree().nodes[joined.front().peer].name, "ap/replica-2");
    EXPECT_GT(world->totals().store_bytes_read, 0u);
    EXPECT_EQ(world->differing_words(joined.front().peer, 2), 0u);
}

TEST(World, ACoordinatorThatRestartsDrivesTheDecisionForward) {
    for (const std::uint32_t percent : {10u, 60u, 99u}) {
        TinyWorld world(plan_with({{FaultKind::crash, "coordinator", 1, percent, 900_ms},
                                   {FaultKind::crash, "coordinator", 2, percent, 100_ms}}));
        ASSERT_TRUE(world->run().has_value());
        EXPECT_EQ(world->decided().version, 2u);
        EXPECT_EQ(world->totals().decisions, 2u);
    }
}

/// Everything that was handed to it.
struct Watcher {
    std::vector<Event> seen;
    std::size_t calls = 0;

    void watch(std::span<const Event> events) {
        seen.insert(seen.end(), events.begin(), events.end());
        ++calls;
    }
};

TEST(World, AWatcherGetsEveryEventAFewHundredAtATime) {
    Watcher watcher;
    TinyWorld world(tiny_plan(5, 2), [&](auto events) { watcher.watch(events); });
    ASSERT_TRUE(world->run().has_value());
    EXPECT_EQ(watcher.seen, world->timeline().events());
    EXPECT_GT(watcher.calls, 1u);
    EXPECT_LT(watcher.calls, watcher.seen.size() / 100);
}

TEST(World, AWatcherGetsEveryEventOfARunThatWasInterrupted) {
    Watcher watcher;
    TinyWorld world(tiny_plan(5, 2), [&](auto events) { watcher.watch(events); });
    world->on_event([&, left = 300]() mutable {
        if (--left == 0) throw std::runtime_error("enough");
    });
    EXPECT_THROW(static_cast<void>(world->run()), std::runtime_error);
    EXPECT_EQ(watcher.seen, world->timeline().events());
    EXPECT_NE(watcher.seen.size() % 256, 0u);
}

TEST(World, SaysWhoItWaitsForWhenTimeRunsOut) {
    WorldPlan plan = plan_with({{FaultKind::kill, "ap/replica-1", 1, 50, {}}}, 1);
    plan.limit = 30_s;
    TinyWorld world(plan);
    const Status status = world->run();
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, ErrorCode::missed);
    EXPECT_NE(status.error().what.find("ap/replica-1"), std::string::npos);
}

}  // namespace
}  // namespace refit
