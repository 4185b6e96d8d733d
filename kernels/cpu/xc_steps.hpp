// Which lanes decide what in the steps of a tile (FORMAT.md 3.1), for encoder and decoder.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/cpu/xc_lanes.hpp"
#include "kernels/xc.hpp"

namespace refit {

/// Step j of a group of 256 words: word 8i + j in lane i, as far as there are words.
inline XcStep flag_step(std::span<const std::uint16_t> segment,
                        std::size_t group,
                        unsigned j,
                        XcContext context,
                        const XcOdds& odds) {
    XcStep step;
    for (std::size_t i = 0; i < kXcLanes; ++i) {
        const std::size_t at = group * kXcGroupWords + 8 * i + j;
        if (at >= segment.size()) break;
        step.active |= 1u << i;
        step.odds[i] = odds[context.bucket(segment[at])];
    }
    return step;
}

/// The bits of step j from the 32 bytes of a group: bit j of each.
inline std::uint32_t flag_bits(const std::uint8_t* bytes, unsigned j) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < kXcLanes; ++i) bits |= (bytes[i] >> j & 1u) << i;
    return bits;
}

/// Entries 32g .. 32g+31 of a list, as far as there are entries.
inline XcStep list_step(std::span<const std::uint16_t> base,
                        std::size_t group,
                        XcContext context,
                        const XcOdds& odds) {
    XcStep step;
    for (std::size_t i = 0; i < kXcLanes; ++i) {
        const std::size_t at = group * kXcLanes + i;
        if (at >= base.size()) break;
        step.active |= 1u << i;
        step.odds[i] = odds[context.bucket(base[at])];
    }
    return step;
}

}  // namespace refit
