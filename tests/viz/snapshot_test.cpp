#include "engine/observe/snapshot.hpp"

#include <gtest/gtest.h>

#include "tests/viz/recorded_world.hpp"

namespace refit {
namespace {

Snapshot naive_at(const Timeline& timeline, Nanoseconds time) {
    Snapshot snapshot = begin_snapshot(timeline.node_names().size());
    for (const Event& event : timeline.events())
        if (event.at <= time) fold(event, snapshot);
    snapshot.at = time;
    return snapshot;
}

TEST(SnapshotIndex, IsTheFoldOfAllEventsUpToATime) {
    const Recording run = record_world(eventful_plan());
    const SnapshotIndex index(run.timeline);
    for (const Event& event : run.timeline.events()) {
        for (const std::int64_t beside : {-1, 0, 1}) {
            const Nanoseconds at{std::max<std::int64_t>(0, event.at.count + beside)};
            ASSERT_EQ(index.at(at), naive_at(run.timeline, at)) << at.count;
        }
    }
}

TEST(SnapshotIndex, StartsFromKeyframesInLongTimelines) {
    Timeline timeline(std::vector<std::string>{"source", "a", "b"});
    for (std::uint32_t i = 0; i < 20'000; ++i)  // several events at one time, over keyframes too
        timeline.append({Nanoseconds{i / 7}, 1, 10, 1 + i % 2, 0, i, EventKind::chunk_received});
    const SnapshotIndex index(timeline);
    for (const std::int64_t at : {0, 1, 584, 585, 586, 1169, 1170, 1171, 2000, 2857, 9999})
        EXPECT_EQ(index.at(Nanoseconds{at}), naive_at(timeline, Nanoseconds{at})) << at;
    EXPECT_EQ(index.at(9999_s).nodes[1].chunks, 10'000u);
}

TEST(SnapshotIndex, HasNothingBeforeTheFirstEvent) {
    const Timeline timeline(std::vector<std::string>{"source"});
    const SnapshotIndex index(timeline);
    EXPECT_EQ(index.at(Nanoseconds{5}).phase, Phase::starting);
    EXPECT_EQ(index.at(Nanoseconds{-5}).at, Nanoseconds{0});
}

/// Phases in the order they are first seen.
std::vector<Phase> phases_of(const Timeline& timeline) {
    std::vector<Phase> phases = {Phase::starting};
    Snapshot snapshot = begin_snapshot(timeline.node_names().size());
    for (const Event& event : timeline.events()) {
        fold(event, snapshot);
        if (phases.back() != snapshot.phase) phases.push_back(snapshot.phase);
    }
    return phases;
}

TEST(Snapshot, GoesThroughThePhasesOfEveryRefit) {
    const Recording run = record_world(tiny_plan(3, 2));
    using enum Phase;
    EXPECT_EQ(phases_of(run.timeline),
              (std::vector{starting, training, encoding, streaming, preparing, committing, training,
                           encoding, streaming, preparing, committing, training}));
}

TEST(Snapshot, CountsWhatTheRunCounts) {
    const WorldPlan plan = eventful_plan();
    TinyWorld world(plan);
    ASSERT_TRUE(world->run().has_value());
    const SnapshotIndex index(world->timeline());
    const Snapshot end = index.at(world->timeline().events().back().at);
    EXPECT_EQ(end.served, 2u);
    EXPECT_EQ(end.decided, 2u);
    EXPECT_EQ(end.faults, 2u);
    EXPECT_EQ(end.checks_passed, world->totals().resident_checks);
    EXPECT_EQ(end.checks_failed, 0u);
    const auto& nodes = world->tree().nodes;
    for (NodeId id = 0; id < nodes.size(); ++id) {
        if (nodes[id].role != NodeRole::replica) continue;
        EXPECT_EQ(end.nodes[id].activity, Activity::serving) << nodes[id].name;
        EXPECT_EQ(end.nodes[id].version, 2u);
    }
    EXPECT_EQ(end.events, world->timeline().events().size());
}

TEST(Snapshot, CountsAResidentCheckAfterEveryOverwriteAndEveryLoad) {
    Snapshot snapshot = begin_snapshot(2);
    std::int64_t at = 0;
    const auto happens = [&](EventKind kind) {
        fold({Nanoseconds{++at}, 1, 0, 1, kNoNode, 0, kind}, snapshot);
    };
    for (const EventKind kind : {EventKind::load_begin, EventKind::loaded, EventKind::serving,
                                 EventKind::overwrite_begin, EventKind::check_begin})
        happens(kind);
    EXPECT_EQ(snapshot.checks_passed, 1u);
    happens(EventKind::applied);
    EXPECT_EQ(snapshot.checks_passed, 2u);
    happens(EventKind::serving);
    happens(EventKind::stage_begin);
    happens(EventKind::check_failed);  // of a part's digests
    EXPECT_EQ(snapshot.checks_failed, 0u);
    for (const EventKind kind :
         {EventKind::loaded, EventKind::serving, EventKind::pause_begin, EventKind::overwrite_begin,
          EventKind::check_begin, EventKind::check_failed})
        happens(kind);
    EXPECT_EQ(snapshot.checks_failed, 1u);
    EXPECT_EQ(snapshot.checks_passed, 3u);
}

TEST(Snapshot, ShowsACrashAndACut) {
    const Recording run = record_world(eventful_plan());
    const NodeId relay = run.cast.tree.find("eu/relay-1");
    const SnapshotIndex index(run.timeline);
    bool crashed = false;
    bool cut = false;
    for (const Event& event : run.timeline.events()) {
        const Snapshot now = index.at(event.at);
        if (event.kind == EventKind::node_down) {
            crashed = true;
            EXPECT_EQ(now.nodes[relay].activity, Activity::down);
        }
        if (event.kind == EventKind::link_down) {
            cut = true;
            ASSERT_LT(event.index, now.links_down.size());
            EXPECT_TRUE(now.links_down[event.index]);
        }
    }
    EXPECT_TRUE(crashed);
    EXPECT_TRUE(cut);
}

}  // namespace
}  // namespace refit
