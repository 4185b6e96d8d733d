// What pictures are drawn from, without drawing: places, hatches, colours, ticks and the story.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/viz/recorded_world.hpp"
#include "viz/clip_line.hpp"
#include "viz/hatches.hpp"
#include "viz/palette.hpp"
#include "viz/panel_layout.hpp"
#include "viz/scene.hpp"
#include "viz/story_view.hpp"
#include "viz/time_ticks.hpp"

namespace refit {
namespace {

SavedRun eventful_run() { return make_saved_run(record_world(eventful_plan()), nullptr); }

bool inside(const Rect& rect, float x, float y, float slack) {
    return x >= rect.x0 - slack && x <= rect.x1 + slack && y >= rect.y0 - slack &&
           y <= rect.y1 + slack;
}

void expect_filled(const PixelSize& size, Page page) {
    const PanelLayout layout = lay_out_panels(size, page);
    EXPECT_GE(layout.scale, 1);
    const Rect whole{0, 0, static_cast<float>(size.width), static_cast<float>(size.height)};
    std::vector<Rect> placed;
    float area = 0;
    for (const Rect& a : layout.panels) {
        if (a == Rect{}) continue;
        EXPECT_GT(a.width(), 0);
        EXPECT_GT(a.height(), 0);
        EXPECT_TRUE(inside(whole, a.x0, a.y0, 0) && inside(whole, a.x1, a.y1, 0));
        area += a.width() * a.height();
        for (const Rect& b : placed)
            EXPECT_TRUE(a.x1 <= b.x0 || b.x1 <= a.x0 || a.y1 <= b.y0 || b.y1 <= a.y0);
        placed.push_back(a);
    }
    EXPECT_EQ(placed.size(), page == Page::run ? 7u : 5u);
    EXPECT_GT(area, 0.93F * whole.width() * whole.height());
}

TEST(PanelLayout, FillsThePictureWithoutOverlap) {
    for (const PixelSize size :
         {PixelSize{1280, 720}, PixelSize{1600, 900}, PixelSize{1000, 3000}, PixelSize{7680, 4320}})
        for (const Page page : {Page::run, Page::weights}) expect_filled(size, page);
}

TEST(ClipLine, KeepsWhatIsInsideAndNothingElse) {
    const Rect rect{2, 3, 8, 7};
    std::mt19937 random(7);
    std::uniform_int_distribution<int> point(-2, 12);
    const auto place = [&] { return static_cast<float>(point(random)); };
    for (int round = 0; round < 5000; ++round) {
        const Line line{place(), place(), place(), place()};
        const auto kept = clip_line(line, rect);
        for (int step = 0; step <= 100; ++step) {
            const float t = static_cast<float>(step) / 100;
            const float x = line.x0 + t * (line.x1 - line.x0);
            const float y = line.y0 + t * (line.y1 - line.y0);
            if (!inside(rect, x, y, -0.01F) ||
                std::hypot(line.x1 - line.x0, line.y1 - line.y0) == 0)
                continue;
            ASSERT_TRUE(kept.has_value());
            ASSERT_LE(std::min(kept->x0, kept->x1), x + 0.001F);
            ASSERT_GE(std::max(kept->x0, kept->x1), x - 0.001F);
        }
        if (!kept) continue;
        ASSERT_TRUE(inside(rect, kept->x0, kept->y0, 0.001F));
        ASSERT_TRUE(inside(rect, kept->x1, kept->y1, 0.001F));
    }
}

TEST(HatchLines, StandAGapApartAndGoOnInTheNextBox) {
    const std::vector<Line> flat = hatch_lines({3, 11, 40, 31}, 0, 5);
    ASSERT_EQ(flat.size(), 4u);  // 15, 20, 25, 30
    for (std::size_t i = 0; i < flat.size(); ++i) {
        EXPECT_FLOAT_EQ(flat[i].y0, 15 + 5 * static_cast<float>(i));
        EXPECT_NEAR(std::min(flat[i].x0, flat[i].x1), 3, 0.001);
        EXPECT_NEAR(std::max(flat[i].x0, flat[i].x1), 40, 0.001);
    }
    for (const Hatch& hatch : kHatches) {
        const auto angle = static_cast<float>(hatch.angle);
        const auto gap = static_cast<float>(hatch.gap);
        const auto length = [&](const Rect& rect) {
            float sum = 0;
            for (const Line& line : hatch_lines(rect, angle, gap)) {
                EXPECT_TRUE(inside(rect, line.x0, line.y0, 0.01F)) << hatch.color;
                EXPECT_TRUE(inside(rect, line.x1, line.y1, 0.01F)) << hatch.color;
                sum += std::hypot(line.x1 - line.x0, line.y1 - line.y0);
            }
            return sum;
        };
        const float halves = length({10.5F, 20.5F, 61, 40.5F}) + length({61, 20.5F, 110.5F, 40.5F});
        EXPECT_NEAR(length({10.5F, 20.5F, 110.5F, 40.5F}), halves, gap + 20) << hatch.color;
        EXPECT_NEAR(halves, 100 * 20 / gap, 0.2F * halves) << hatch.color;
    }
}

/// Contrast as WCAG 2 defines it.
double contrast(const Palette::Rgb& a, const Palette::Rgb& b) {
    const auto light = [](const Palette::Rgb& color) {
        constexpr std::array<double, 3> kWeights = {0.2126, 0.7152, 0.0722};
        double sum = 0;
        for (std::size_t i = 0; i < 3; ++i) {
            const double share = color[i] / 255.0;
            sum += kWeights[i] *
                   (share <= 0.04045 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4));
        }
        return sum;
    };
    const double high = std::max(light(a), light(b));
    return (high + 0.05) / (std::min(light(a), light(b)) + 0.05);
}

TEST(Palette, IsTheStyleSheetsAndCanBeRead) {
    EXPECT_EQ(Palette(Shade::light)["page"], (Palette::Rgb{255, 255, 255}));
    EXPECT_EQ(Palette(Shade::dark)["page"], (Palette::Rgb{0x14, 0x18, 0x1c}));
    for (const Shade shade : {Shade::light, Shade::dark}) {
        const Palette palette(shade);
        for (const char* name : {"text", "soft", "accent", "down"})
            EXPECT_GE(contrast(palette[name], palette["panel"]), 4.5) << name;
        for (const Hatch& hatch : kHatches)
            EXPECT_GE(contrast(palette[hatch.color], palette["panel"]), 2) << hatch.color;
    }
}

/// Six bursts of ten seconds, a quarter of an hour apart.
Timeline bursts() {
    Timeline timeline({"source"});
    for (std::int64_t burst = 0; burst < 6; ++burst)
        for (std::int64_t tenth = 0; tenth < 100; ++tenth)
            timeline.append({.at = Nanoseconds{burst * 900'000'000'000 + tenth * 100'000'000},
                             .node = 0,
                             .kind = EventKind::unit_encoded});
    return timeline;
}

TEST(TimeTicks, RiseAndLeaveRoomForTheirLabels) {
    const Timeline timeline = bursts();
    bool left_out = false;
    for (const float width : {200.0F, 450.0F, 720.0F, 3000.0F}) {
        const TimeScale scale = TimeScale::squeezed(timeline, width);
        const TimeAxis axis = time_ticks(scale);
        ASSERT_FALSE(axis.ticks.empty());
        double labelled = -1000;
        double before = -1;
        for (const TimeTick& tick : axis.ticks) {
            EXPECT_GE(tick.x, before);
            EXPECT_LE(tick.x, double{width} + 0.01);
            before = tick.x;
            left_out = left_out || tick.label.empty();
            if (tick.label.empty()) continue;
            EXPECT_GE(tick.x - labelled, 50);
            labelled = tick.x;
        }
        EXPECT_EQ(axis.quiet.size(), 5u);
        EXPECT_EQ(axis.quiet.front().length, "14.8 min");
    }
    EXPECT_TRUE(left_out);
}

TEST(Story, TellsWhatBrokeAndWhoFollowed) {
    const SavedRun run = eventful_run();
    const std::vector<StoryLine> all = tell_story(run, run.end(), 10'000);
    Nanoseconds crashed{-1};
    bool grouped = false;
    bool cut = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_GE(all[i].at, all[i == 0 ? 0 : i - 1].at);
        if (all[i].who == "eu/relay-1" && all[i].what == "is down") crashed = all[i].at;
        cut = cut || (all[i].what.ends_with("is cut") && all[i].trouble);
        grouped = grouped || (all[i].who.ends_with(" more") && all[i].what == "staged version 2");
    }
    ASSERT_GE(crashed.count, 0);
    EXPECT_TRUE(cut);
    EXPECT_TRUE(grouped);
    EXPECT_EQ(all.back().what, "every member serves version 2");

    const std::vector<StoryLine> then = tell_story(run, crashed, 3);
    ASSERT_EQ(then.size(), 3u);
    EXPECT_EQ(then.back(), (StoryLine{crashed, "eu/relay-1", "is down", true}));
    EXPECT_TRUE(tell_story(run, Nanoseconds{-1}, 3).empty());
    EXPECT_TRUE(tell_story(run, run.end(), 0).empty());
}

TEST(Scene, IdleUntilTheEndIsTheAccounts) {
    const SavedRun run = eventful_run();
    const Scene scene(run, {});
    IdleUntil all;
    for (const LaneRow& row : scene.rows) {
        const IdleUntil whole = idle_until(run, row, run.end());
        EXPECT_LE(idle_until(run, row, Nanoseconds{run.end().count / 2}).all, whole.all);
        all.idle += whole.idle;
        all.all += whole.all;
    }
    EXPECT_EQ(all.idle, run.idle.idle_total());
    EXPECT_EQ(all.all, run.idle.replica_time);
}

TEST(Scene, HeldGrowsFromNothingToAll) {
    const SavedRun run = eventful_run();
    const Scene scene(run, {});
    const Moment end(scene, run.end());
    const auto& nodes = run.recording.cast.tree.nodes;
    for (NodeId id = 1; id < nodes.size(); ++id)
        EXPECT_EQ(scene.held(end.snapshot.nodes[id], end.snapshot.version), 1) << nodes[id].name;
    const Moment begin(scene, Nanoseconds{0});
    EXPECT_EQ(begin.refit, nullptr);
    EXPECT_EQ(scene.held(begin.snapshot.nodes[1], begin.snapshot.version), 0);
    EXPECT_EQ(scene.bit_rate(Nanoseconds{0}), 0);
}

}  // namespace
}  // namespace refit
