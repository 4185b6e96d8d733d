#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/viz/recorded_world.hpp"
#include "viz/lane_view.hpp"
#include "viz/tensor_view.hpp"
#include "viz/throughput_view.hpp"
#include "viz/tree_view.hpp"

namespace refit {
namespace {

const SavedRun& eventful() {
    static const SavedRun run = make_saved_run(record_world(eventful_plan()), {});
    return run;
}

/// One row of given spans, in nanoseconds.
SavedRun row_of(const std::vector<Span>& spans) {
    SavedRun run;
    run.spans = spans;
    return run;
}

Span idle(std::int64_t from, std::int64_t to) {
    return {0, Track::rollouts,   SpanKind::idle, IdleCause::drain, 0,
            0, Nanoseconds{from}, Nanoseconds{to}};
}
Span busy(std::int64_t from, std::int64_t to) {
    return {0, Track::rollouts, SpanKind::busy, {}, 0, 0, Nanoseconds{from}, Nanoseconds{to}};
}

TEST(LaneBoxes, StandWhereTheSpansAre) {
    const SavedRun run = row_of({busy(0, 500), idle(500, 1000)});
    const LaneRow row{0, Track::rollouts, "", 0, 2};
    const auto boxes =
        lane_boxes(run, {&row, 1}, TimeScale({Nanoseconds{0}, Nanoseconds{1000}}, 100));
    ASSERT_EQ(boxes.size(), 2u);
    EXPECT_FLOAT_EQ(boxes[0].x0, 0);
    EXPECT_FLOAT_EQ(boxes[0].x1, 50);
    EXPECT_EQ(boxes[1].kind, SpanKind::idle);
    EXPECT_FLOAT_EQ(boxes[1].x1, 100);
    EXPECT_EQ(hit_lane(boxes, 0, 49.9F), &boxes[0]);
    EXPECT_EQ(hit_lane(boxes, 0, 50), &boxes[1]);
    EXPECT_EQ(hit_lane(boxes, 1, 50), nullptr);
    EXPECT_EQ(hit_lane(boxes, 0, 101), nullptr);
}

TEST(LaneBoxes, MergeWhatIsThinnerThanAPixelByWhatFillsMost) {
    std::vector<Span> spans;  // 1000 spans over 10 pixels: idle has 7 of every 10 nanoseconds
    for (std::int64_t i = 0; i < 500; ++i) {
        spans.push_back(busy(i * 10, i * 10 + 3));
        spans.push_back(idle(i * 10 + 3, i * 10 + 10));
    }
    const SavedRun run = row_of(spans);
    const LaneRow row{0, Track::rollouts, "", 0, spans.size()};
    const auto boxes =
        lane_boxes(run, {&row, 1}, TimeScale({Nanoseconds{0}, Nanoseconds{5000}}, 10));
    ASSERT_EQ(boxes.size(), 10u);
    std::size_t stands_for = 0;
    for (const LaneBox& box : boxes) {
        EXPECT_EQ(box.kind, SpanKind::idle);
        EXPECT_FLOAT_EQ(box.x1 - box.x0, 1);
        stands_for += box.spans;
    }
    EXPECT_EQ(stands_for, spans.size());
}

TEST(LaneBoxes, ClipAtTheWindowAndNeverOverlap) {
    const std::vector<LaneRow> rows = lane_rows(eventful());
    const Nanoseconds end = eventful().end();
    for (const std::int64_t parts : {1, 3, 50, 1000}) {
        const Nanoseconds from{end.count / 3};
        const TimeWindow window{from, Nanoseconds{from.count + end.count / parts}};
        const auto boxes = lane_boxes(eventful(), rows, TimeScale(window, 300));
        EXPECT_LE(boxes.size(), rows.size() * 600);
        for (std::size_t i = 0; i < boxes.size(); ++i) {
            EXPECT_GE(boxes[i].x0, 0);
            EXPECT_LE(boxes[i].x1, 300);
            if (i > 0 && boxes[i - 1].row == boxes[i].row) {
                EXPECT_LE(boxes[i - 1].x1, boxes[i].x0 + 1e-3F);
            }
        }
    }
}

TEST(TimeScale, SqueezesWhereNothingHappens) {
    Timeline timeline;
    for (const std::int64_t at : {0, 1, 2, 3, 903, 904, 905, 1805, 1806})
        timeline.append({Nanoseconds{at * 1'000'000'000}, 0, 0, 0, 0, 0, EventKind::serving});
    const TimeScale scale = TimeScale::squeezed(timeline, 1000);
    ASSERT_EQ(scale.pieces().size(), 5u);
    EXPECT_FLOAT_EQ(scale.width(), 1000);
    for (const TimeScale::Piece& piece : scale.pieces())
        EXPECT_NEAR(piece.x1 - piece.x0, piece.quiet ? 20 : piece.x1 - piece.x0, 0.01);
    EXPECT_FLOAT_EQ(scale.x(0_s), 0);
    EXPECT_FLOAT_EQ(scale.x(9999_s), 1000);
    EXPECT_EQ(scale.at(-1), 0_s);
    float before = -1;
    for (std::int64_t at = 0; at <= 1806; ++at) {
        const Nanoseconds time{at * 1'000'000'000};
        const float x = scale.x(time);
        EXPECT_GT(x, before);
        before = x;
        EXPECT_NEAR(to_seconds(scale.at(x)), static_cast<double>(at), 0.1);
    }
    EXPECT_GT(scale.x(3_s) - scale.x(0_s), 250);  // of 1806 s they are three
}

TEST(TimeScale, IsALineWhereThereIsNoQuiet) {
    const TimeScale scale({100_s, 200_s}, 50);
    EXPECT_FLOAT_EQ(scale.x(150_s), 25);
    EXPECT_EQ(scale.at(25), 150_s);
    EXPECT_FLOAT_EQ(scale.x(5_s), 0);
    EXPECT_EQ(TimeScale::squeezed(Timeline(), 10).pieces().size(), 1u);
}

TEST(LaneRows, CoverTheReplicasAndTheTrainer) {
    std::set<std::string> labels;
    for (const LaneRow& row : lane_rows(eventful())) labels.insert(row.label);
    EXPECT_TRUE(labels.contains("source codec"));
    EXPECT_TRUE(labels.contains("eu/relay-1 receiving"));
    EXPECT_TRUE(labels.contains("eu/relay-1"));  // it was down
    EXPECT_TRUE(labels.contains("us/replica-1"));
    EXPECT_TRUE(labels.contains("us/replica-1 codec"));
    EXPECT_FALSE(labels.contains("eu/relay-2"));
}

TEST(TreeView, PutsParentsLeftOfTheirChildrenAndNobodyOnAnother) {
    const RelayTree& tree = eventful().recording.cast.tree;
    const TreeView view = lay_out(tree);
    std::set<std::pair<float, float>> places;
    for (NodeId id = 0; id < tree.nodes.size(); ++id) {
        const Place& at = view.nodes[id];
        EXPECT_TRUE(at.x >= 0 && at.x <= 1 && at.y >= 0 && at.y <= 1);
        EXPECT_TRUE(places.emplace(at.x, at.y).second) << tree.nodes[id].name;
        if (id > 0) {
            EXPECT_LT(view.nodes[tree.nodes[id].parent].x, at.x);
        }
        EXPECT_EQ(hit_tree(view, at, 0.01F), id);
    }
    EXPECT_EQ(hit_tree(view, {0.5F, -3}, 0.01F), kNoNode);
}

TEST(EdgeCurve, GoesFromSideToSideAndPassesNoBoxOfALevelItSkips) {
    const TreeBoxes boxes{100, 140, 40, 20};
    const auto middle = [](const std::vector<Place>& curve, std::size_t at) {
        return std::pair(curve[at].x, curve[at].y);
    };
    const auto next = edge_curve({0, 100}, {140, 60}, boxes);
    ASSERT_EQ(next.size(), 4u);
    EXPECT_EQ(middle(next, 0), std::pair(100.0F, 100.0F));
    EXPECT_EQ(middle(next, 3), std::pair(140.0F, 60.0F));
    const auto back = edge_curve({140, 100}, {140, 60}, boxes);
    ASSERT_EQ(back.size(), 4u);
    EXPECT_EQ(middle(back, 0), std::pair(140.0F, 100.0F));
    EXPECT_EQ(middle(back, 1), std::pair(120.0F, 100.0F));
    // Boxes of the skipped level reach from 140 to 240, at most 20 above and below 60.
    for (const float from : {100.0F, 20.0F}) {
        const auto over = edge_curve({0, from}, {280, 60}, boxes);
        ASSERT_EQ(over.size(), 10u);
        const float lane = from > 60 ? 80 : 40;
        EXPECT_EQ(middle(over, 3), std::pair(140.0F, lane));
        EXPECT_EQ(middle(over, 6), std::pair(240.0F, lane));
        EXPECT_EQ(middle(over, 9), std::pair(280.0F, 60.0F));
    }
}

TEST(Throughput, HasEveryByteThatCrossedIntoASite) {
    const SavedRun& run = eventful();
    const auto& nodes = run.recording.cast.tree.nodes;
    std::map<std::size_t, std::uint64_t> expected;
    for (const EdgeTraffic& edge : run.edges) {
        const bool crosses = nodes[edge.parent].site != nodes[edge.child].site;
        if (crosses || nodes[edge.parent].role == NodeRole::source)
            expected[nodes[edge.child].site] += edge.kept_bytes;
    }
    std::map<std::size_t, double> found;
    for (const Throughput& site :
         throughput(run, TimeScale::squeezed(run.recording.timeline, 300), 37))
        for (const double bytes : site.bytes) found[site.site] += bytes;
    EXPECT_EQ(found.size(), expected.size());
    for (const auto& [site, bytes] : expected)
        EXPECT_NEAR(found[site], static_cast<double>(bytes), 1e-3);
}

TEST(TensorMap, HoldsEveryTensorOnceByLayerAndKind) {
    const Cast& cast = eventful().recording.cast;
    const TensorMap map = map_tensors(cast);
    std::uint32_t tensors = 0;
    std::uint64_t words = 0;
    std::set<std::pair<std::size_t, std::size_t>> places;
    for (const MapCell& cell : map.cells) {
        tensors += cell.tensors;
        words += cell.words;
        EXPECT_LT(cell.row, map.rows.size());
        EXPECT_LT(cell.column, map.columns.size());
        EXPECT_TRUE(places.emplace(cell.row, cell.column).second);
        for (std::size_t i = 1; i < cell.units.size(); ++i)
            EXPECT_LT(cell.units[i - 1].end, cell.units[i].first);
    }
    EXPECT_EQ(tensors, cast.catalog.tensors().size());
    EXPECT_EQ(words, cast.catalog.words().count);
    EXPECT_NE(std::ranges::find(map.rows, "layer 0"), map.rows.end());
}

TEST(TensorMap, GoesFromPendingToVerified) {
    const SavedRun& run = eventful();
    const TensorMap map = map_tensors(run.recording.cast);
    const std::vector<RefitProgress> refits = fold_progress(run.recording);
    ASSERT_EQ(refits.size(), 2u);
    EXPECT_EQ(refit_at(refits, Nanoseconds{0}), nullptr);
    EXPECT_EQ(refit_at(refits, run.end()), &refits[1]);
    for (const MapCell& cell : map.cells) {
        CellState before;
        for (std::int64_t step = 0; step <= 50; ++step) {
            const Nanoseconds at{refits[0].begun.count +
                                 step * (refits[1].begun - refits[0].begun).count / 50};
            const CellState now = cell_state(cell, moment_of(refits[0], at));
            EXPECT_GE(now.encoded, before.encoded);
            EXPECT_GE(now.encoded, now.staged);  // the late replica may lack a refit
            EXPECT_GE(now.staged, now.verified);
            before = now;
        }
        EXPECT_EQ(before.encoded, 1);
        EXPECT_EQ(cell_state(cell, moment_of(refits[1], run.end())), (CellState{1, 1, 1}));
    }
}

}  // namespace
}  // namespace refit
