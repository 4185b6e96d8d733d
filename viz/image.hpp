// A picture as bytes: 8-bit RGB, rows from top to bottom, no padding.
#pragma once

#include "engine/base/bytes.hpp"

namespace refit {

struct PixelSize {
    std::uint32_t width = 0;
    std::uint32_t height = 0;

    friend bool operator==(const PixelSize&, const PixelSize&) = default;
};

struct Image {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    ByteVector pixels;  // 3 * width * height
};

}  // namespace refit
