// The interleaved binary rANS coder of xc, one step of 32 lanes at a time: the reference.
//
// Encoding  goes backwards, through steps and through memory; decoding goes forwards.
// Limits    a step writes or reads at most two bytes per lane.
// Source    asymmetric numeral systems: arXiv:1311.2540; FORMAT.md 3.1 says in which order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/xc.hpp"

namespace refit {

inline constexpr std::size_t kXcStepBytesMax = 2 * kXcLanes;

struct XcLanes {
    alignas(64) std::array<std::uint32_t, kXcLanes> x;
};

/// What each lane decides in one step: nothing where `active` has no bit.
struct XcStep {
    std::uint32_t active = 0;
    std::array<std::uint16_t, kXcLanes> odds{};
};

/// Encodes one step; the bytes grow downwards from `out`, whose new begin is the result.
inline std::byte* xc_put(XcLanes& lanes, const XcStep& step, std::uint32_t bits, std::byte* out) {
    std::array<std::uint32_t, kXcLanes> share{};
    for (std::size_t i = 0; i < kXcLanes; ++i) {
        const bool one = (bits >> i & 1) != 0;
        share[i] = one ? step.odds[i] : kXcOddsOne - step.odds[i];
    }
    const auto active = [&](std::size_t i) { return (step.active >> i & 1) != 0; };
    // The byte that is read last is written first: that of the lanes that need two.
    for (const unsigned more : {8u, 0u}) {
        for (std::size_t i = kXcLanes; i-- > 0;) {
            constexpr unsigned kRise = kXcStateBits - kXcOddsBits + 8;
            if (!active(i) || lanes.x[i] < std::uint64_t{share[i]} << (kRise + more)) continue;
            *--out = static_cast<std::byte>(lanes.x[i]);
            lanes.x[i] >>= 8;
        }
    }
    for (std::size_t i = 0; i < kXcLanes; ++i) {
        if (!active(i)) continue;
        const bool one = (bits >> i & 1) != 0;
        const std::uint32_t x = lanes.x[i];
        lanes.x[i] = (x / share[i] << kXcOddsBits) + x % share[i] + (one ? 0u : step.odds[i]);
    }
    return out;
}

/// Decodes one step: the bits of the lanes. Takes at most kXcStepBytesMax bytes from `in` on.
inline std::uint32_t xc_get(XcLanes& lanes, const XcStep& step, const std::byte*& in) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < kXcLanes; ++i) {
        if ((step.active >> i & 1) == 0) continue;
        const std::uint32_t odds = step.odds[i];
        const std::uint32_t s = lanes.x[i] & (kXcOddsOne - 1);
        const std::uint32_t t = (lanes.x[i] >> kXcOddsBits) * odds;
        const bool one = s < odds;
        lanes.x[i] = one ? t + s : lanes.x[i] - odds - t;
        bits |= std::uint32_t{one} << i;
    }
    for (int pass = 0; pass < 2; ++pass) {
        for (std::uint32_t& x : lanes.x)
            if (x < kXcStateMin) x = x << 8 | std::to_integer<std::uint32_t>(*in++);
    }
    return bits;
}

}  // namespace refit
