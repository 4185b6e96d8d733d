#include "viz/spans.hpp"

#include <gtest/gtest.h>

#include <map>

#include "tests/viz/recorded_world.hpp"

namespace refit {
namespace {

SavedRun saved(const WorldPlan& plan) { return make_saved_run(record_world(plan), {}); }

std::vector<WorldPlan> plans() {
    std::vector<WorldPlan> all = {tiny_plan(1, 2), eventful_plan()};
    for (const LoopShape shape : {LoopShape::synchronous, LoopShape::asynchronous}) {
        WorldPlan plan = tiny_plan(5, 3);
        plan.loop.shape = shape;
        plan.loop.generation = 3_s;
        plan.loop.kv_recompute = 100_ms;
        plan.loop.staleness = 1;
        all.push_back(plan);
    }
    return all;
}

TEST(Spans, OfOneTrackFollowOneAnother) {
    for (const WorldPlan& plan : plans()) {
        const SavedRun run = saved(plan);
        ASSERT_FALSE(run.spans.empty());
        for (std::size_t i = 0; i < run.spans.size(); ++i) {
            const Span& span = run.spans[i];
            EXPECT_LE(span.from, span.to);
            if (i == 0) continue;
            const Span& before = run.spans[i - 1];
            if (before.node == span.node && before.track == span.track) {
                EXPECT_LE(before.to, span.from)
                    << run.node_name(span.node) << " " << track_name(span.track);
            }
        }
    }
}

TEST(Spans, AddUpToTheIdleAccount) {
    for (const WorldPlan& plan : plans()) {
        const SavedRun run = saved(plan);
        Nanoseconds busy{0};
        std::map<IdleCause, Nanoseconds> idle;
        for (const Span& span : run.spans) {
            if (span.kind == SpanKind::busy) busy += span.to - span.from;
            if (span.kind == SpanKind::idle) idle[span.cause] += span.to - span.from;
        }
        EXPECT_EQ(busy, run.idle.busy);
        for (const auto& [cause, time] : run.idle.idle)
            EXPECT_EQ(idle[cause], time) << cause_name(cause);
        EXPECT_EQ(busy + run.idle.idle_total(), run.idle.replica_time);
    }
}

TEST(Spans, HaveEveryByteOfTheTraffic) {
    const SavedRun run = saved(eventful_plan());
    const TrafficTotals wire = total(run.edges);
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t staged = 0;
    for (const Span& span : run.spans) {
        if (span.kind == SpanKind::send) sent += span.amount;
        if (span.kind == SpanKind::receive) received += span.amount;
        if (span.kind == SpanKind::stage) staged += span.amount;
    }
    EXPECT_EQ(sent, wire.sent_bytes);
    EXPECT_EQ(received, wire.needed_bytes);
    EXPECT_GT(staged, 0u);
}

TEST(Spans, ShowARelayThatIsDown) {
    const SavedRun run = saved(eventful_plan());
    const auto down = std::ranges::find(run.spans, SpanKind::down, &Span::kind);
    ASSERT_NE(down, run.spans.end());
    EXPECT_EQ(run.node_name(down->node), "eu/relay-1");
    EXPECT_EQ(down->to - down->from, 500_ms);
}

}  // namespace
}  // namespace refit
