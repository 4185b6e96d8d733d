// Pictures without a display: the same bytes for the same moment, others for another, and one
// sentence where nothing can draw.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "tests/viz/recorded_world.hpp"
#include "viz/picture.hpp"

namespace refit {
namespace {

/// Why this build or machine draws nothing; empty when it does.
std::string why_none() {
    try {
        const SavedRun run = make_saved_run(record_world(tiny_plan(1, 1)), nullptr);
        draw_picture(run, {}, {.size = kPictureLeast});
        return "";
    } catch (const MachineError& error) {
        return error.what();
    }
}

class Picture : public testing::Test {
protected:
    static void SetUpTestSuite() {
        run_ = new SavedRun(make_saved_run(record_world(eventful_plan()), nullptr));
        why_ = new std::string(why_none());
    }
    static void TearDownTestSuite() {
        delete run_;
        delete why_;
    }
    void SetUp() override {
        if (!why_->empty()) GTEST_SKIP() << *why_;
    }

    static Nanoseconds share_of_run(double share) {
        return Nanoseconds{
            static_cast<std::int64_t>(share * static_cast<double>(run_->end().count))};
    }
    static std::string draw(const PictureRequest& request) {
        const ByteVector png = draw_picture(*run_, {}, request);
        return std::string(as_text(png));
    }

    static SavedRun* run_;     // NOLINT(*-avoid-non-const-global-variables)
    static std::string* why_;  // NOLINT(*-avoid-non-const-global-variables)
};

SavedRun* Picture::run_ = nullptr;     // NOLINT(*-avoid-non-const-global-variables)
std::string* Picture::why_ = nullptr;  // NOLINT(*-avoid-non-const-global-variables)

std::uint32_t big_endian(const std::string& png, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint8_t>(png[at + i]);
    return value;
}

TEST_F(Picture, IsTheSameBytesTwice) {
    const PictureRequest request{.at = share_of_run(0.4)};
    EXPECT_EQ(draw(request), draw(request));
}

/// How many bytes differ, and by how much at most.
std::pair<std::size_t, int> difference(const Image& a, const Image& b) {
    std::pair<std::size_t, int> found{0, 0};
    for (std::size_t i = 0; i < a.pixels.size(); ++i) {
        const int off = std::to_integer<int>(a.pixels[i]) - std::to_integer<int>(b.pixels[i]);
        found.first += off != 0 ? 1 : 0;
        found.second = std::max(found.second, std::abs(off));
    }
    return found;
}

TEST_F(Picture, OfAFilmIsThatOfItsMoment) {
    constexpr double kShares[] = {0.4, 0.0, 1.0, 0.7, 0.4};
    const PictureRequest request{.size = kPictureLeast};
    std::vector<Image> frames;
    {
        const auto painter = make_painter(*run_, {}, request);
        for (const double share : kShares) frames.push_back(painter->paint(share_of_run(share)));
    }
    EXPECT_GT(difference(frames[0], frames[3]).first, 10000u);
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const Image alone = make_painter(*run_, {}, request)->paint(share_of_run(kShares[i]));
        ASSERT_EQ(frames[i].pixels.size(), alone.pixels.size());
        // Letters lie elsewhere in the font's texture, and their edges are rounded there.
        const auto [bytes, most] = difference(frames[i], alone);
        EXPECT_LE(bytes, 1000u) << kShares[i];
        EXPECT_LE(most, 32) << kShares[i];
    }
}

TEST_F(Picture, DiffersByMomentShadeAndSize) {
    std::set<std::string> seen;
    const auto is_new = [&](const PictureRequest& request) {
        const std::string png = draw(request);
        EXPECT_EQ(png.substr(1, 3), "PNG");
        EXPECT_EQ(big_endian(png, 16), request.size.width);
        EXPECT_EQ(big_endian(png, 20), request.size.height);
        return seen.insert(png).second;
    };
    EXPECT_TRUE(is_new({.at = share_of_run(0.4)}));
    EXPECT_TRUE(is_new({.at = share_of_run(0.45)}));
    EXPECT_TRUE(is_new({.at = share_of_run(0.4), .shade = Shade::dark}));
    EXPECT_TRUE(is_new({.at = share_of_run(0.4), .size = kPictureLeast}));
    EXPECT_TRUE(is_new({.at = run_->end()}));
    EXPECT_TRUE(is_new({.at = run_->end(), .page = Page::weights}));
}

TEST_F(Picture, IsDrawnOfARunThatHasNotBegun) {
    Recording recording = record_world(tiny_plan(1, 1));
    recording.timeline = Timeline(recording.timeline.node_names());
    const SavedRun run = make_saved_run(std::move(recording), nullptr);
    EXPECT_FALSE(draw_picture(run, {}, {.size = kPictureLeast}).empty());
}

TEST_F(Picture, SaysInOneSentenceThatThereIsNoEgl) {
    for (const auto& [library, says] :
         {std::pair("libno-such-egl.so.1", "EGL does not open: libno-such-egl.so.1"),
          std::pair("libc.so.6", "EGL lacks eglGetProcAddress")}) {
        try {
            draw({.size = kPictureLeast, .egl_library = library});
            ADD_FAILURE() << library;
        } catch (const MachineError& error) {
            const std::string what = error.what();
            EXPECT_NE(what.find(says), std::string::npos) << what;
            EXPECT_EQ(what.find('\n'), std::string::npos) << what;
        }
    }
}

TEST(PictureAbsent, IsSaidByAProgramBuiltWithout) {
    if (built_with_pictures()) GTEST_SKIP() << "this build draws";
    EXPECT_NE(why_none().find("built without Dear ImGui"), std::string::npos);
}

}  // namespace
}  // namespace refit
