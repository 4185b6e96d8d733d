// A film as a GIF, read back by giflib's own decoder: every pixel of every frame, its time, and
// the same bytes twice.
#include <gif_lib.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "viz/gif.hpp"
#include "viz/picture.hpp"

namespace refit {
namespace {

constexpr PixelSize kSize{70, 40};

struct DecodedFrame {
    ByteVector pixels;  // of the whole picture as a viewer shows it
    int hundredths = 0;
    int width = 0;  // of what changed
    int height = 0;
};

struct ReadFrom {
    ByteSpan rest;
    static int read(GifFileType* gif, GifByteType* to, int count) {
        ByteSpan& rest = static_cast<ReadFrom*>(gif->UserData)->rest;
        const std::size_t size = std::min(rest.size(), static_cast<std::size_t>(count));
        std::memcpy(to, rest.data(), size);
        rest = rest.subspan(size);
        return static_cast<int>(size);
    }
};

void draw_over(ByteVector& canvas, const GifFileType& gif, const SavedImage& image, int clear) {
    const GifImageDesc& at = image.ImageDesc;
    for (int y = 0; y < at.Height; ++y)
        for (int x = 0; x < at.Width; ++x) {
            const int index = image.RasterBits[y * at.Width + x];
            if (index == clear) continue;
            const GifColorType& color = gif.SColorMap->Colors[index];
            const int pixel = (at.Top + y) * gif.SWidth + at.Left + x;
            std::byte* to = canvas.data() + std::ptrdiff_t{3} * pixel;
            to[0] = std::byte{color.Red};
            to[1] = std::byte{color.Green};
            to[2] = std::byte{color.Blue};
        }
}

std::vector<DecodedFrame> decode(ByteSpan bytes) {
    ReadFrom source{bytes};
    int error = 0;
    GifFileType* gif = DGifOpen(&source, &ReadFrom::read, &error);
    if (gif == nullptr) throw std::runtime_error(GifErrorString(error));
    EXPECT_EQ(DGifSlurp(gif), GIF_OK);
    std::vector<DecodedFrame> frames;
    ByteVector canvas(std::size_t{3} * kSize.width * kSize.height);
    for (int i = 0; i < gif->ImageCount; ++i) {
        GraphicsControlBlock control{};
        EXPECT_EQ(DGifSavedExtensionToGCB(gif, i, &control), GIF_OK);
        EXPECT_EQ(control.DisposalMode, DISPOSE_DO_NOT);
        draw_over(canvas, *gif, gif->SavedImages[i], control.TransparentColor);
        const GifImageDesc& place = gif->SavedImages[i].ImageDesc;
        frames.push_back({canvas, control.DelayTime, place.Width, place.Height});
    }
    DGifCloseFile(gif, &error);
    return frames;
}

/// A white box that wanders over random dust; 201 greys, so that one palette has them all.
std::vector<Image> wandering_box(std::size_t count) {
    std::mt19937 random(5);
    Image ground{kSize.width, kSize.height, {}};
    for (std::size_t i = 0; i < std::size_t{kSize.width} * kSize.height; ++i)
        ground.pixels.insert(ground.pixels.end(), 3, static_cast<std::byte>(random() % 200));
    std::vector<Image> frames;
    for (std::size_t frame = 0; frame < count; ++frame) {
        frames.push_back(ground);
        for (std::size_t y = 5; y < 15; ++y)
            std::fill_n(frames.back().pixels.data() + 3 * (y * kSize.width + frame), 3 * 20,
                        std::byte{255});
    }
    return frames;
}

ByteVector film_of(const std::vector<Image>& frames, std::uint32_t rate, std::uint32_t stand = 1) {
    ColorCounts counts;
    counts.add(frames.front());
    ByteVector bytes;
    const auto writer = open_gif(kSize, FilmPalette(counts), rate, [&](ByteSpan some) {
        bytes.insert(bytes.end(), some.begin(), some.end());
    });
    for (const Image& frame : frames) {
        const std::size_t before = bytes.size();
        writer->add(frame, &frame == &frames.back() ? stand : 1);
        EXPECT_GT(bytes.size(), before) << "a frame leaves when it is added";
    }
    writer->finish();
    return bytes;
}

class Gif : public testing::Test {
protected:
    void SetUp() override {
        if (!built_with_pictures()) GTEST_SKIP() << "this build has no giflib";
    }
};

TEST_F(Gif, DecodesToEveryPixelOfEveryFrame) {
    const std::vector<Image> frames = wandering_box(30);
    const auto decoded = decode(film_of(frames, 12));
    ASSERT_EQ(decoded.size(), frames.size());
    for (std::size_t i = 0; i < frames.size(); ++i)
        EXPECT_TRUE(decoded[i].pixels == frames[i].pixels) << i;
}

TEST_F(Gif, WritesOnlyTheRectangleThatChanged) {
    std::vector<Image> frames = wandering_box(3);
    frames.push_back(frames.back());
    const auto decoded = decode(film_of(frames, 12));
    EXPECT_EQ(std::pair(decoded[0].width, decoded[0].height), std::pair(70, 40));
    EXPECT_EQ(std::pair(decoded[1].width, decoded[1].height), std::pair(21, 10));
    EXPECT_EQ(std::pair(decoded[3].width, decoded[3].height), std::pair(1, 1));
    EXPECT_TRUE(decoded[3].pixels == decoded[2].pixels);
}

TEST_F(Gif, ShowsFramesForTheirTicksWithoutRunningAway) {
    const std::vector<Image> frames = wandering_box(25);
    for (const std::uint32_t rate : {1U, 7U, 12U, 30U, 50U}) {
        const auto decoded = decode(film_of(frames, rate, 2 * rate));
        ASSERT_EQ(decoded.size(), 25u);
        int until = 0;
        for (std::size_t i = 0; i + 1 < decoded.size(); ++i) {
            until += decoded[i].hundredths;
            EXPECT_NEAR(until, 100.0 * static_cast<double>(i + 1) / rate, 0.5 + 1e-9) << rate;
        }
        EXPECT_NEAR(decoded.back().hundredths, 200, 1) << rate;
    }
}

TEST_F(Gif, IsTheSameBytesTwiceAndPlaysWithoutEnd) {
    const std::vector<Image> frames = wandering_box(10);
    const ByteVector bytes = film_of(frames, 12);
    EXPECT_TRUE(film_of(frames, 12) == bytes);
    const std::string_view text = as_text(bytes);
    EXPECT_EQ(text.substr(0, 6), "GIF89a");
    EXPECT_NE(text.find(std::string_view("\x0BNETSCAPE2.0\x03\x01\0\0\0", 17)),
              std::string_view::npos);
    EXPECT_EQ(text.back(), ';');
}

TEST_F(Gif, PassesOnWhatItsSinkThrows) {
    ColorCounts counts;
    const std::vector<Image> frames = wandering_box(1);
    counts.add(frames[0]);
    const auto writer =
        open_gif(kSize, FilmPalette(counts), 12, [](ByteSpan) { throw MachineError("no space"); });
    EXPECT_THROW(writer->add(frames[0], 1), MachineError);
}

}  // namespace
}  // namespace refit
