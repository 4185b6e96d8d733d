// Which moments a film shows, and which colours it has.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/viz/recorded_world.hpp"
#include "viz/film.hpp"
#include "viz/film_palette.hpp"

namespace refit {
namespace {

Image image_of(const std::vector<Rgb24>& colors) {
    Image image{static_cast<std::uint32_t>(colors.size()), 1, {}};
    for (const Rgb24 color : colors)
        for (const int shift : {16, 8, 0})
            image.pixels.push_back(static_cast<std::byte>(color >> shift));
    return image;
}

FilmPalette palette_of(const std::vector<Rgb24>& colors) {
    ColorCounts counts;
    counts.add(image_of(colors));
    return FilmPalette(counts);
}

TEST(FilmMoments, AreEvenOnAStraightScale) {
    const TimeWindow window{10_s, 20_s};
    const TimeScale scale(window, 1000);
    const auto moments = film_moments(scale, window, {.seconds = 4.5, .frames_per_second = 4});
    ASSERT_EQ(moments.size(), 11u);  // 2.5 s at 4, and the last
    for (std::size_t i = 0; i < moments.size(); ++i)
        EXPECT_NEAR(to_seconds(moments[i]), 10.0 + static_cast<double>(i), 1e-3) << i;
    EXPECT_EQ(moments.front(), window.from);
    EXPECT_EQ(moments.back(), window.to);
}

TEST(FilmMoments, PassQuietInAFewFrames) {
    Timeline timeline({"a"});
    for (const Nanoseconds at : {1_s, 2_s, 902_s, 903_s}) timeline.append(Event{.at = at});
    const TimeScale scale = TimeScale::squeezed(timeline, 1000);
    const auto moments =
        film_moments(scale, {0_s, 903_s}, {.seconds = 12, .frames_per_second = 10});
    ASSERT_EQ(moments.size(), 101u);
    const auto in_quiet =
        std::ranges::count_if(moments, [](Nanoseconds at) { return at > 4_s && at < 900_s; });
    EXPECT_GE(in_quiet, 1);
    EXPECT_LE(in_quiet, 3);  // 2 % of the width
    EXPECT_TRUE(std::ranges::is_sorted(moments));
}

TEST(FilmMoments, StayInTheirWindowAndNeverGoBack) {
    const SavedRun run = make_saved_run(record_world(eventful_plan()), nullptr);
    const TimeScale scale = TimeScale::squeezed(run.recording.timeline, 1600);
    const auto seed = std::random_device{}();
    std::mt19937_64 random(seed);
    SCOPED_TRACE(seed);
    for (int round = 0; round < 200; ++round) {
        const auto any = [&] {
            return Nanoseconds{
                std::uniform_int_distribution<std::int64_t>(0, run.end().count)(random)};
        };
        auto [from, to] = std::minmax({any(), any()});
        // Shorter than what a pixel can tell apart, every other time.
        if (round % 2 == 1) to = std::min(to, from + Nanoseconds{1000});
        const FilmLength length{2.0 + 0.1 * (1 + round),
                                1 + static_cast<std::uint32_t>(round % 50)};
        const auto moments = film_moments(scale, {from, to}, length);
        ASSERT_EQ(moments.size(), length.frames());
        EXPECT_EQ(moments.front(), from);
        EXPECT_EQ(moments.back(), to);
        EXPECT_TRUE(std::ranges::is_sorted(moments));
    }
}

TEST(FilmMoments, AreAtLeastTwo) {
    const TimeScale scale({0_s, 1_s}, 10);
    EXPECT_EQ(film_moments(scale, {0_s, 1_s}, {2.001, 1}), (std::vector{Nanoseconds{0}, 1_s}));
    EXPECT_EQ(film_moments(scale, {1_s, 1_s}, {2.001, 1}), (std::vector{1_s, 1_s}));
}

TEST(FilmPalette, HasEveryColourOfAFewExactly) {
    std::vector<Rgb24> colors;
    for (Rgb24 i = 0; i < kFilmColors; ++i) colors.push_back(i * 0x010307 % 0xFFFFFF);
    FilmPalette palette = palette_of(colors);
    EXPECT_EQ(palette.colors().size(), kFilmColors);
    const auto indices = palette.indexed(image_of(colors));
    for (std::size_t i = 0; i < colors.size(); ++i)
        EXPECT_EQ(palette.colors()[indices[i]], colors[i]);
}

TEST(FilmPalette, KeepsFlatColoursAndGathersTheRest) {
    std::vector<Rgb24> colors;
    for (Rgb24 flat = 0; flat < 100; ++flat) colors.insert(colors.end(), 50, 0x100000 + flat);
    for (Rgb24 rare = 0; rare < 2000; ++rare) colors.push_back(0x808000 + rare % 0x100 * 0x10101);
    for (Rgb24 rare = 0; rare < 4096; ++rare) colors.push_back(rare * 0x1001 % 0xFFFFFF);
    FilmPalette palette = palette_of(colors);
    EXPECT_EQ(palette.colors().size(), kFilmColors);
    const auto indices = palette.indexed(image_of(colors));
    for (std::size_t i = 0; i < 5000; ++i) ASSERT_EQ(palette.colors()[indices[i]], colors[i]);
    for (std::size_t i = 5000; i < colors.size(); ++i)
        for (const int shift : {16, 8, 0}) {
            const int is = static_cast<int>(palette.colors()[indices[i]] >> shift & 0xFF);
            const int was = static_cast<int>(colors[i] >> shift & 0xFF);
            ASSERT_LT(std::abs(is - was), 90) << std::hex << colors[i];
        }
}

TEST(FilmPalette, MakesTheTwoClosestOfTheRestTheirMean) {
    std::vector<Rgb24> colors;
    for (Rgb24 flat = 0; flat < 160; ++flat) colors.insert(colors.end(), 9, flat);
    for (Rgb24 rare = 0; rare < 94; ++rare)
        colors.push_back(0x400000 + rare % 10 * 0x1800 + rare / 10 * 0x18);
    colors.insert(colors.end(), {0xF00000, 0xF00000, 0xF00000, 0xF00004});
    std::vector<Rgb24> expected(colors);
    expected.resize(expected.size() - 4);
    expected.push_back(0xF00001);
    const FilmPalette palette = palette_of(colors);
    EXPECT_EQ(std::set(palette.colors().begin(), palette.colors().end()),
              std::set(expected.begin(), expected.end()));
}

TEST(FilmPalette, DoesNotDependOnTheOrderOfPixels) {
    std::vector<Rgb24> colors;
    const auto seed = std::random_device{}();
    std::mt19937 random(seed);
    SCOPED_TRACE(seed);
    for (int i = 0; i < 3000; ++i) colors.push_back(static_cast<Rgb24>(random()) & 0xFFFFFF);
    const FilmPalette first = palette_of(colors);
    std::ranges::shuffle(colors, random);
    EXPECT_EQ(palette_of(colors).colors(), first.colors());
    EXPECT_EQ(std::set(first.colors().begin(), first.colors().end()).size(), kFilmColors);
}

TEST(FilmPalette, TakesTheNearestOfColoursItNeverSaw) {
    FilmPalette palette = palette_of({0x000000, 0xFFFFFF, 0xFF0000});
    const auto indices = palette.indexed(image_of({0x101010, 0xE0E0FF, 0xC02020}));
    EXPECT_EQ(palette.colors()[indices[0]], 0x000000u);
    EXPECT_EQ(palette.colors()[indices[1]], 0xFFFFFFu);
    EXPECT_EQ(palette.colors()[indices[2]], 0xFF0000u);
}

}  // namespace
}  // namespace refit
