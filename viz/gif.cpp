#include "viz/gif.hpp"

#include <gif_lib.h>

#include <algorithm>
#include <array>
#include <new>
#include <span>
#include <string>

#include "engine/base/result.hpp"

namespace refit {

namespace {

constexpr std::uint64_t kHundredths = 100;  // of a second
constexpr int kColorBits = 8;
constexpr int kTransparent = 255;  // index; kFilmColors of others are below it

struct Indices {
    std::size_t left = 0;
    std::size_t top = 0;
    std::size_t width = 0;
    std::size_t height = 0;
    std::vector<std::uint8_t> rows;
};

/// Where two frames differ, the rest of that rectangle transparent; one pixel if they are equal,
/// because a frame must have one.
Indices change_of(const std::vector<std::uint8_t>& before,
                  const std::vector<std::uint8_t>& after,
                  std::size_t width) {
    std::size_t left = width;
    std::size_t right = 0;
    std::size_t top = after.size();
    std::size_t bottom = 0;
    for (std::size_t i = 0; i < after.size(); ++i) {
        if (before[i] == after[i]) continue;
        left = std::min(left, i % width);
        right = std::max(right, i % width + 1);
        top = std::min(top, i / width);
        bottom = i / width + 1;
    }
    if (right == 0) return {0, 0, 1, 1, {kTransparent}};
    Indices change{left, top, right - left, bottom - top, {}};
    for (std::size_t y = top; y < bottom; ++y)
        for (std::size_t i = y * width + left; i < y * width + right; ++i)
            change.rows.push_back(before[i] == after[i] ? std::uint8_t{kTransparent} : after[i]);
    return change;
}

class GifWriter final : public FilmWriter {
public:
    GifWriter(const PixelSize& size, FilmPalette palette, std::uint32_t rate, ByteSink sink)
        : size_(size), palette_(std::move(palette)), rate_(rate), sink_(std::move(sink)) {
        REFIT_ASSERT(size.width <= 0xFFFF && size.height <= 0xFFFF);
        REFIT_ASSERT(rate > 0 && rate <= kGifFramesPerSecondMost);
        int error = 0;
        gif_ = EGifOpen(this, &GifWriter::take, &error);
        if (gif_ == nullptr) fail(error);
        try {
            write_head();
        } catch (...) {
            close();
            throw;
        }
    }
    ~GifWriter() override { close(); }

    void add(const Image& frame, std::uint32_t ticks) override {
        REFIT_ASSERT(frame.width == size_.width && frame.height == size_.height && ticks > 0);
        std::vector<std::uint8_t> indices = palette_.indexed(frame);
        if (shown_.empty())
            write({0, 0, size_.width, size_.height, indices}, ticks);
        else
            write(change_of(shown_, indices, size_.width), ticks);
        shown_ = std::move(indices);
        pass_on();
    }

    void finish() override {
        int error = 0;
        const int closed = EGifCloseFile(gif_, &error);
        gif_ = nullptr;
        if (closed != GIF_OK) fail(error);
        pass_on();
    }

private:
    [[noreturn]] static void fail(int error) {
        const char* why = GifErrorString(error);
        throw MachineError(std::string("no GIF: ") + (why == nullptr ? "giflib fails" : why));
    }
    void check(int result) const {
        if (result != GIF_OK) fail(gif_->Error);
    }

    /// Called by giflib, through which no exception may pass.
    static int take(GifFileType* gif, const GifByteType* bytes, int count) {
        const std::span span(reinterpret_cast<const std::byte*>(bytes),
                             static_cast<std::size_t>(count));
        try {
            ByteVector& pending = static_cast<GifWriter*>(gif->UserData)->pending_;
            pending.insert(pending.end(), span.begin(), span.end());
        } catch (const std::bad_alloc&) {
            return 0;
        }
        return count;
    }

    void pass_on() {
        sink_(pending_);
        pending_.clear();
    }

    void close() {
        int error = 0;
        if (gif_ != nullptr) EGifCloseFile(gif_, &error);
    }

    void write_head() {
        std::array<GifColorType, std::size_t{1} << kColorBits> colors{};
        for (std::size_t i = 0; i < palette_.colors().size(); ++i) {
            const Rgb24 color = palette_.colors()[i];
            colors[i] = {static_cast<GifByteType>(color >> 16),
                         static_cast<GifByteType>(color >> 8), static_cast<GifByteType>(color)};
        }
        const std::unique_ptr<ColorMapObject, decltype(&GifFreeMapObject)> map(
            GifMakeMapObject(static_cast<int>(colors.size()), colors.data()), &GifFreeMapObject);
        if (map == nullptr) throw std::bad_alloc();
        EGifSetGifVersion(gif_, true);
        check(EGifPutScreenDesc(gif_, static_cast<int>(size_.width), static_cast<int>(size_.height),
                                kColorBits, 0, map.get()));
        constexpr std::array<GifByteType, 3> kWithoutEnd = {1, 0, 0};
        check(EGifPutExtensionLeader(gif_, APPLICATION_EXT_FUNC_CODE));
        check(EGifPutExtensionBlock(gif_, 11, "NETSCAPE2.0"));
        check(EGifPutExtensionBlock(gif_, kWithoutEnd.size(), kWithoutEnd.data()));
        check(EGifPutExtensionTrailer(gif_));
    }

    void write(Indices indices, std::uint32_t ticks) {
        ticks_ += ticks;
        // Rounded from the beginning of the film, so that it does not run away.
        const std::uint64_t until = (ticks_ * kHundredths + rate_ / 2) / rate_;
        GraphicsControlBlock control{};
        control.DisposalMode = DISPOSE_DO_NOT;
        control.DelayTime = static_cast<int>(std::min<std::uint64_t>(until - until_, 0xFFFF));
        control.TransparentColor = kTransparent;
        until_ = until;
        std::array<GifByteType, 4> block{};
        EGifGCBToExtension(&control, block.data());
        check(EGifPutExtension(gif_, GRAPHICS_EXT_FUNC_CODE, block.size(), block.data()));
        check(EGifPutImageDesc(gif_, static_cast<int>(indices.left), static_cast<int>(indices.top),
                               static_cast<int>(indices.width), static_cast<int>(indices.height),
                               false, nullptr));
        for (std::size_t y = 0; y < indices.height; ++y)
            check(EGifPutLine(gif_, indices.rows.data() + y * indices.width,
                              static_cast<int>(indices.width)));
    }

    PixelSize size_;
    FilmPalette palette_;
    std::uint64_t rate_;
    ByteSink sink_;
    GifFileType* gif_ = nullptr;
    ByteVector pending_;
    std::vector<std::uint8_t> shown_;  // empty before the first frame
    std::uint64_t ticks_ = 0;
    std::uint64_t until_ = 0;  // hundredths of a second, of all frames so far
};

}  // namespace

std::unique_ptr<FilmWriter> open_gif(const PixelSize& size,
                                     FilmPalette palette,
                                     std::uint32_t frames_per_second,
                                     ByteSink sink) {
    return std::make_unique<GifWriter>(size, std::move(palette), frames_per_second,
                                       std::move(sink));
}

}  // namespace refit
