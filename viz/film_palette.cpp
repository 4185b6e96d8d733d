#include "viz/film_palette.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace refit {

namespace {

constexpr std::size_t kExactColors = 160;  // of kFilmColors, where not all find room

struct Counted {
    Rgb24 color;
    std::uint64_t count;
};

std::uint32_t channel(Rgb24 color, std::size_t index) { return color >> (16 - 8 * index) & 0xFF; }

Rgb24 pixel(const Image& image, std::size_t index) {
    const std::byte* at = image.pixels.data() + 3 * index;
    return std::to_integer<Rgb24>(at[0]) << 16 | std::to_integer<Rgb24>(at[1]) << 8 |
           std::to_integer<Rgb24>(at[2]);
}

/// Colours in one box of the cube that will become one.
class Box {
public:
    explicit Box(std::span<Counted> colors) : colors_(colors) {
        for (std::size_t i = 0; i < 3; ++i) {
            const auto [low, high] = std::ranges::minmax(
                colors_, {}, [&](const Counted& entry) { return channel(entry.color, i); });
            const std::uint32_t wide = channel(high.color, i) - channel(low.color, i);
            if (wide > widest_) {
                widest_ = wide;
                axis_ = i;
            }
        }
        for (const Counted& entry : colors_) weight_ += entry.count;
    }

    /// How much is wrong when it is one colour; 0: nothing.
    std::uint64_t error() const { return weight_ * widest_ * widest_; }

    /// Parted above the mean of its widest channel; error() is not 0.
    std::array<Box, 2> parts() const {
        std::uint64_t sum = 0;
        for (const Counted& entry : colors_) sum += entry.count * channel(entry.color, axis_);
        const auto above = std::partition(
            colors_.begin(), colors_.end(),
            [&](const Counted& entry) { return weight_ * channel(entry.color, axis_) <= sum; });
        const auto low = static_cast<std::size_t>(above - colors_.begin());
        return {Box(colors_.first(low)), Box(colors_.subspan(low))};
    }

    Rgb24 mean() const {
        Rgb24 color = 0;
        for (std::size_t i = 0; i < 3; ++i) {
            std::uint64_t sum = 0;
            for (const Counted& entry : colors_) sum += entry.count * channel(entry.color, i);
            color = color << 8 | static_cast<Rgb24>((sum + weight_ / 2) / weight_);
        }
        return color;
    }

private:
    std::span<Counted> colors_;
    std::uint64_t weight_ = 0;
    std::uint64_t widest_ = 0;
    std::size_t axis_ = 0;
};

void append_cut(std::vector<Rgb24>& to, std::span<Counted> colors, std::size_t boxes_most) {
    std::vector<Box> boxes{Box(colors)};
    while (boxes.size() < boxes_most) {
        const auto worst = std::ranges::max_element(boxes, {}, &Box::error);
        if (worst->error() == 0) break;
        const auto [low, high] = worst->parts();
        *worst = low;
        boxes.push_back(high);
    }
    for (const Box& box : boxes) to.push_back(box.mean());
}

}  // namespace

void ColorCounts::add(const Image& image) {
    const std::size_t pixels = std::size_t{image.width} * image.height;
    for (std::size_t i = 0; i < pixels;) {
        const Rgb24 color = pixel(image, i);
        const std::size_t from = i;
        while (i < pixels && pixel(image, i) == color) ++i;
        counts_[color] += i - from;
    }
}

FilmPalette::FilmPalette(const ColorCounts& counts) {
    REFIT_ASSERT(!counts.counts().empty());
    std::vector<Counted> all;
    for (const auto& [color, count] : counts.counts()) all.push_back({color, count});
    std::ranges::sort(all, [](const Counted& a, const Counted& b) {
        return std::pair(b.count, a.color) < std::pair(a.count, b.color);
    });
    const std::size_t exact = all.size() <= kFilmColors ? all.size() : kExactColors;
    for (std::size_t i = 0; i < exact; ++i) colors_.push_back(all[i].color);
    if (exact < all.size()) append_cut(colors_, std::span(all).subspan(exact), kFilmColors - exact);
}

std::uint8_t FilmPalette::nearest(Rgb24 color) const {
    std::uint32_t least = ~0U;
    std::size_t found = 0;
    for (std::size_t i = 0; i < colors_.size(); ++i) {
        std::uint32_t distance = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            const std::uint32_t a = channel(color, axis);
            const std::uint32_t b = channel(colors_[i], axis);
            distance += a > b ? (a - b) * (a - b) : (b - a) * (b - a);
        }
        if (distance < least) {
            least = distance;
            found = i;
        }
    }
    return static_cast<std::uint8_t>(found);
}

std::vector<std::uint8_t> FilmPalette::indexed(const Image& image) {
    const std::size_t pixels = std::size_t{image.width} * image.height;
    std::vector<std::uint8_t> indices(pixels);
    for (std::size_t i = 0; i < pixels;) {
        const Rgb24 color = pixel(image, i);
        const auto [entry, is_new] = known_.try_emplace(color);
        if (is_new) entry->second = nearest(color);
        const std::uint8_t index = entry->second;
        for (; i < pixels && pixel(image, i) == color; ++i) indices[i] = index;
    }
    return indices;
}

}  // namespace refit
