// Which lanes decide what in the steps of a tile, and which entries go on (FORMAT.md 3.1), for
// encoder and decoder.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "kernels/cpu/xc_lanes.hpp"
#include "kernels/cpu/xc_ops.hpp"
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

/// Calls visit(number) for every bit of `bits` that is set, ascending.
template <class Visit>
void for_each_set_entry(const XcOps& ops, std::span<const std::uint32_t> bits, const Visit& visit) {
    constexpr std::size_t kWordsAtOnce = 128;
    std::array<std::uint16_t, 32 * kWordsAtOnce + kXcPositionSlack> positions;
    for (std::size_t first = 0; first < bits.size(); first += kWordsAtOnce) {
        std::array<std::uint32_t, kWordsAtOnce> these{};
        const std::size_t words = std::min(kWordsAtOnce, bits.size() - first);
        std::copy_n(bits.data() + first, words, these.data());
        const std::size_t count = ops.set_bits(reinterpret_cast<const std::uint8_t*>(these.data()),
                                               (words + 1) / 2 * 8, positions.data());
        for (std::size_t k = 0; k < count; ++k) visit(32 * first + positions[k]);
    }
}

}  // namespace refit
