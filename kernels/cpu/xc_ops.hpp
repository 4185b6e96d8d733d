// The inner loops of xc. Those over groups do some leading (decoding) or trailing (encoding) part
// of what they are offered and say how much; the callers do the rest step by step.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/xc_lanes.hpp"
#include "kernels/xc.hpp"

namespace refit {

/// Whole groups with their odds: of 256 words for flags, of 32 entries of a list of changed words.
struct XcRun {
    const std::uint16_t* base;
    std::size_t groups;
    XcContext context;
    const XcOdds& odds;
};

/// Fetches the words of the group that put_flags() comes to four groups after this one into the
/// cache; they need not exist. No processor foresees that memory is read backwards.
inline void fetch_group_before(const std::uint16_t* words) {
    constexpr std::uintptr_t kBytes = kXcGroupWords * sizeof(*words);
    const std::uintptr_t group = reinterpret_cast<std::uintptr_t>(words) - 4 * kBytes;
    for (std::uintptr_t at = 0; at < kBytes; at += 64)
        __builtin_prefetch(reinterpret_cast<const void*>(group + at), 0, 3);
}

struct Shifts {
    unsigned left;
    unsigned right;

    bool test(std::uint16_t value) const {
        return static_cast<std::uint16_t>(value << left) >> right != 0;
    }
};

/// set_bits() may write this many positions past those it counts.
inline constexpr std::size_t kXcPositionSlack = 8;

/// How far get_flags() and get_list() may read past the end of a payload.
inline constexpr std::size_t kXcReadSlack = 8 * kXcStepBytesMax + 64;

struct XcOps {
    /// The numbers of the bits that are set in a whole number of 64, ascending, and how many they
    /// are: at most 2^16.
    std::size_t (*set_bits)(const std::uint8_t* bits, std::size_t bytes, std::uint16_t* positions);

    /// Bit i says whether value i, shifted left and then right in its 16 bits, is not 0. Writes
    /// whole words; bits past the last value are 0.
    void (*test_bits)(const std::uint16_t* values,
                      std::size_t count,
                      Shifts shifts,
                      std::uint32_t* bits);

    /// Adds the words of a prefix to their buckets; how many words that is.
    std::size_t (*count_buckets)(const std::uint16_t* base,
                                 std::size_t words,
                                 XcContext context,
                                 XcBucketWords& counts);

    /// `bits`: 32 bytes per group. Bytes grow downwards from `out`. Encodes from the last group on.
    std::size_t (*put_flags)(const XcRun& run,
                             const std::uint8_t* bits,
                             XcLanes& lanes,
                             std::byte*& out);

    /// Writes `bits`. Stops behind the group that passed `end`; kXcReadSlack bytes follow that.
    std::size_t (*get_flags)(const XcRun& run,
                             std::uint8_t* bits,
                             XcLanes& lanes,
                             const std::byte*& in,
                             const std::byte* end);

    /// `bits`: one word per group, bit i is entry i of the group.
    std::size_t (*put_list)(const XcRun& run,
                            const std::uint32_t* bits,
                            XcLanes& lanes,
                            std::byte*& out);

    std::size_t (*get_list)(const XcRun& run,
                            std::uint32_t* bits,
                            XcLanes& lanes,
                            const std::byte*& in,
                            const std::byte* end);
};

/// Every step is the reference.
XcOps xc_plain_ops();

/// What there is for a target of Highway; the plain ops where nothing quicker was written.
XcOps xc_ops_of_target(std::int64_t target);

}  // namespace refit
