// The asynchronous loop and what is folded with it, over timelines written by hand.
#include "engine/observe/rollout_loop.hpp"

#include <gtest/gtest.h>

#include "engine/observe/loop_form.hpp"
#include "engine/observe/stolen.hpp"

namespace refit {
namespace {

constexpr NodeId kFirst = 1;
constexpr NodeId kSecond = 2;
using Doing = RolloutLoop::Doing;

Loop loop_of(Nanoseconds generation, Nanoseconds step, std::uint32_t staleness) {
    Loop loop;
    loop.shape = LoopShape::asynchronous;
    loop.generation = generation;
    loop.step = step;
    loop.staleness = staleness;
    return loop;
}

/// A source and two replicas.
RelayTree two_replicas() {
    RelayTree tree;
    tree.nodes.resize(3);
    tree.nodes[0].role = NodeRole::source;
    tree.nodes[kFirst].role = tree.nodes[kSecond].role = NodeRole::replica;
    return tree;
}

Event event(Nanoseconds at, EventKind kind, NodeId node, std::uint64_t version = 0) {
    Event made;
    made.at = at;
    made.kind = kind;
    made.node = node;
    made.version = version;
    return made;
}

Timeline timeline_of(const std::vector<Event>& events) {
    Timeline timeline({"source", "first", "second"});
    for (const Event& each : events) timeline.append(each);
    return timeline;
}

IdleAccount account(const std::vector<Event>& events, const Loop& loop) {
    const IdleAccount idle = account_idle(timeline_of(events), two_replicas(), loop);
    EXPECT_EQ(idle.busy + idle.idle_total(), idle.replica_time);
    Nanoseconds spans{0};
    for (const BusySpan& span : idle.busy_spans) spans += span.to - span.from;
    EXPECT_EQ(spans, idle.busy);
    return idle;
}

Nanoseconds of(const IdleAccount& idle, IdleCause cause) {
    return idle.idle.contains(cause) ? idle.idle.at(cause) : Nanoseconds{0};
}

/// Both replicas under refits that take `refit`, the last `pause` of it without serving.
std::vector<Event> run_loop(const Loop& loop,
                            Nanoseconds refit,
                            Nanoseconds pause,
                            std::uint64_t refits) {
    RolloutLoop rollouts(loop, 3);
    std::vector<Event> events;
    const auto happen = [&](const Event& each) {
        EXPECT_TRUE(rollouts.on_event(each));
        events.push_back(each);
    };
    for (const NodeId node : {kFirst, kSecond}) happen(event({}, EventKind::serving, node));
    Nanoseconds now{0};
    for (std::uint64_t version = 1; version <= refits; ++version) {
        while (rollouts.finals() < version) {
            const auto change = rollouts.next_change();
            if (!change) throw std::runtime_error("the loop stands still");
            now = std::max(now, *change);
            rollouts.advance(*change);
        }
        happen(event(now, EventKind::step_ready, 0, version));
        now += refit - pause;
        for (const NodeId node : {kFirst, kSecond})
            happen(event(now, EventKind::pause_begin, node, version));
        now += pause;
        for (const NodeId node : {kFirst, kSecond})
            happen(event(now, EventKind::serving, node, version));
    }
    return events;
}

TEST(RolloutLoop, ItsStepIsThatOfTheClosedFormWhicheverTermIsLongest) {
    struct Case {
        Loop loop;
        Nanoseconds refit;
        double step;
    };
    for (const auto& [loop, refit, step] :
         {Case{loop_of(100_s, 40_s, 2), 30_s, 103}, Case{loop_of(40_s, 100_s, 2), 30_s, 100},
          Case{loop_of(40_s, 30_s, 2), 100_s, 100}, Case{loop_of(40_s, 30_s, 1), 50_s, 60},
          Case{loop_of(40_s, 30_s, 0), 50_s, 120}, Case{loop_of(60_s, 60_s, 3), 150_s, 150}}) {
        const RefitCost cost{to_seconds(refit), 3};
        ASSERT_DOUBLE_EQ(loop_period(loop.shape, loop, cost).step, step);
        const std::vector<Event> events = run_loop(loop, refit, 3_s, 60);
        // Over twelve steps: one may differ from the next when several batches are under way.
        const std::size_t last = events.size() - 1;
        const std::size_t before = last - 5 * 12;
        EXPECT_NEAR(to_seconds(events[last].at - events[before].at) / 12, step, step * 1e-9)
            << "generation " << to_seconds(loop.generation) << ", step " << to_seconds(loop.step)
            << ", refit " << cost.refit << ", staleness " << loop.staleness;
    }
}

TEST(RolloutLoop, KvAfterAResumeIsPaidAsTheFormHasIt) {
    for (const std::uint32_t staleness : {0u, 1u, 2u}) {
        Loop loop = loop_of(100_s, 40_s, staleness);
        loop.kv_recompute = 2_s;
        const std::vector<Event> events = run_loop(loop, 90_s, 3_s, 60);
        const double step = to_seconds(events.back().at - events[events.size() - 61].at) / 12;
        const double form = loop_period(loop.shape, loop, {90, 3}).step;
        EXPECT_GE(step, form - 1e-6) << staleness;
        EXPECT_LE(step, form + (staleness == 1 ? 3 + 2 : 0) + 1e-6) << "steps take turns by one";
        const IdleAccount idle = account(events, loop);
        // Two replicas; the last of sixty resumes is where the account ends.
        EXPECT_EQ(of(idle, IdleCause::kv_recompute), 2_s * 2 * 59);
    }
}

TEST(RolloutLoop, StalenessBoundsWhatMayBegin) {
    RolloutLoop rollouts(loop_of(10_s, 5_s, 1), 3);
    for (const NodeId node : {kFirst, kSecond})
        rollouts.on_event(event({}, EventKind::serving, node));
    rollouts.advance(15_s);
    EXPECT_EQ(rollouts.finals(), 1u);
    EXPECT_EQ(rollouts.doing(kFirst), Doing::working) << "batch 2 goes with version 0";
    rollouts.advance(20_s);
    EXPECT_EQ(rollouts.doing(kFirst), Doing::payload) << "batch 3 needs version 1, which is final";
    rollouts.advance(100_s);
    EXPECT_EQ(rollouts.finals(), 1u) << "version 1 has not been taken up";
    rollouts.on_event(event(100_s, EventKind::step_ready, 0, 1));
    rollouts.advance(105_s);
    EXPECT_EQ(rollouts.finals(), 2u);
    EXPECT_FALSE(rollouts.next_change().has_value());
    rollouts.on_event(event(110_s, EventKind::serving, kFirst, 1));
    EXPECT_EQ(rollouts.doing(kFirst), Doing::working);
    EXPECT_EQ(rollouts.doing(kSecond), Doing::payload);
    EXPECT_EQ(rollouts.next_change(), 120_s);
}

TEST(RolloutLoop, AFasterReplicaWaitsForTheOneThatIsBehind) {
    // The second is down from 4 s to 24 s: its share of batch 1 is over at 30 s, not 10 s.
    const Loop loop = loop_of(10_s, 5_s, 0);
    std::vector<Event> events;
    for (const NodeId node : {kFirst, kSecond})
        events.push_back(event({}, EventKind::serving, node));
    events.push_back(event(4_s, EventKind::node_down, kSecond));
    events.push_back(event(20_s, EventKind::load_begin, kSecond));
    events.push_back(event(24_s, EventKind::serving, kSecond));
    events.push_back(event(35_s, EventKind::step_ready, 0, 1));
    for (const NodeId node : {kFirst, kSecond})
        events.push_back(event(41_s, EventKind::pause_begin, node, 1));
    for (const NodeId node : {kFirst, kSecond})
        events.push_back(event(42_s, EventKind::serving, node, 1));
    const IdleAccount idle = account(events, loop);
    EXPECT_EQ(idle.busy, 20_s);
    EXPECT_EQ(of(idle, IdleCause::straggler), 20_s);
    EXPECT_EQ(of(idle, IdleCause::recovery), 20_s);
    EXPECT_EQ(of(idle, IdleCause::pipeline_bubble), 10_s);
    EXPECT_EQ(of(idle, IdleCause::payload), 12_s);
    EXPECT_EQ(of(idle, IdleCause::drain), 2_s);
    EXPECT_EQ(idle.replica_time, 84_s);
}

TEST(RolloutLoop, NobodyWaitsForWhatBeganBeforeALateReplicaCame) {
    RolloutLoop rollouts(loop_of(10_s, 5_s, 3), 3);
    rollouts.on_event(event({}, EventKind::serving, kFirst));
    rollouts.advance(11_s);
    rollouts.on_event(event(11_s, EventKind::load_begin, kSecond));
    rollouts.on_event(event(12_s, EventKind::serving, kSecond));
    rollouts.advance(15_s);
    EXPECT_EQ(rollouts.finals(), 1u) << "the second has no share in batch 1";
    rollouts.on_event(event(15_s, EventKind::step_ready, 0, 1));
    rollouts.advance(27_s - Nanoseconds{1});
    EXPECT_EQ(rollouts.finals(), 1u) << "it has one in batch 2, until 22 s";
    rollouts.advance(27_s);
    EXPECT_EQ(rollouts.finals(), 2u);
}

TEST(Idle, KvIsTheFirstOfServingInEveryShape) {
    for (const LoopShape shape : {LoopShape::synchronous, LoopShape::one_step_off}) {
        Loop loop = loop_of(10_s, 5_s, 0);
        loop.shape = shape;
        loop.kv_recompute = 3_s;
        std::vector<Event> events{event({}, EventKind::serving, kFirst),
                                  event(15_s, EventKind::step_ready, 0, 1),
                                  event(20_s, EventKind::pause_begin, kFirst, 1),
                                  event(21_s, EventKind::serving, kFirst, 1),
                                  event(23_s, EventKind::pause_begin, kFirst, 2),
                                  event(24_s, EventKind::serving, kFirst, 2),
                                  event(40_s, EventKind::serving, kFirst, 2)};
        const IdleAccount idle = account(events, loop);
        EXPECT_EQ(of(idle, IdleCause::kv_recompute), 5_s) << "2 s of the first, 3 s of the second";
        EXPECT_EQ(idle.busy, shape == LoopShape::synchronous ? 20_s : 33_s);
        EXPECT_EQ(idle.replica_time, 40_s);
    }
}

TEST(Stolen, IsStagingWhileTheReplicaIsBusy) {
    Loop loop = loop_of(10_s, 5_s, 0);
    const auto stolen = [&](const Loop& declared, std::vector<Event> events) {
        const IdleAccount idle = account(events, declared);
        return account_stolen(timeline_of(events), idle.busy_spans);
    };
    const auto story = [] {
        return std::vector<Event>{event({}, EventKind::serving, kFirst),
                                  event({}, EventKind::serving, kSecond),
                                  event(2_s, EventKind::stage_begin, kFirst, 1),
                                  event(4_s, EventKind::part_staged, kFirst, 1),
                                  event(4_s, EventKind::stage_begin, kSecond, 1),
                                  event(8_s, EventKind::stage_begin, kFirst, 1),
                                  event(9_s, EventKind::node_down, kSecond),
                                  event(13_s, EventKind::part_staged, kFirst, 1),
                                  event(14_s, EventKind::serving, kSecond),
                                  event(16_s, EventKind::stage_begin, kFirst, 1),
                                  event(18_s, EventKind::pause_begin, kFirst, 1),
                                  event(19_s, EventKind::part_staged, kFirst, 1),
                                  event(20_s, EventKind::serving, kFirst, 1)};
    };
    // By first: 2, 2 of 5 (it works until 10 s) and none. By second: 5, until it is lost.
    EXPECT_EQ(stolen(loop, story()), 9_s);
    // One-step-off it works all the while: 2, 5, 2 before the pause; and 5.
    loop.shape = LoopShape::one_step_off;
    EXPECT_EQ(stolen(loop, story()), 14_s);
    EXPECT_EQ(stolen(loop, {}), Nanoseconds{0});
}

TEST(Stolen, OnePartMayReachOverSeveralBusySpans) {
    const std::vector<BusySpan> busy{{kFirst, 1_s, 2_s}, {kFirst, 3_s, 5_s}, {kFirst, 6_s, 9_s}};
    const Timeline timeline = timeline_of(
        {event({}, EventKind::stage_begin, kFirst), event(7_s, EventKind::part_staged, kFirst),
         event(8_s, EventKind::stage_begin, kFirst), event(20_s, EventKind::part_staged, kFirst)});
    EXPECT_EQ(account_stolen(timeline, busy), 5_s);
}

}  // namespace
}  // namespace refit
