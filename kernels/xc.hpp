// The model of the codecs xc and cf: which binary decisions a tile becomes, and with which odds.
//
// Decisions  levels of the segments, changed or not for every word of a segment that changes, then
//            for the changed words alone |step| >= 2, >= 4, ... FORMAT.md is normative.
// Odds       P(1) = hazard(q) / 2^14. q is a byte of a table, chosen by the context of the word:
// the
//            bucket of its old exponent. In flags it moves by 4 per level of the segment, half an
//            octave. Integers only, so every backend makes the same bytes.
// Coder      32 interleaved binary rANS states, x in [2^15, 2^23), renormalised by bytes. Lane i
// owns
//            words 8i .. 8i+7 of every group of 256 words: sixteen bytes, one load of a GPU lane.
// Step       difference in monotone integer order, modulo 2^16: NaN, -0 and infinities are
// ordinary. Source     notes: change rates double with every exponent step down; asymmetric numeral
// systems:
//            arXiv:1311.2540; the interleaving and the tables are ours.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/changes.hpp"

namespace refit {

inline constexpr std::size_t kXcLanes = 32;
inline constexpr std::size_t kXcGroupWords = 256;  // eight words of every lane
inline constexpr std::size_t kXcBuckets = 16;
inline constexpr std::size_t kXcStages = 15;  // |step| >= 2^k, k = 1..15
inline constexpr std::size_t kXcLevels = 16;  // 0: the segment does not change

inline constexpr unsigned kXcOddsBits = 14;
inline constexpr std::uint32_t kXcOddsOne = 1u << kXcOddsBits;
inline constexpr unsigned kXcStateBits = 15;  // states are 2^15 or more, and below 2^23
inline constexpr std::uint32_t kXcStateMin = 1u << kXcStateBits;
inline constexpr std::uint32_t kXcStateEnd = kXcStateMin << 8;
inline constexpr std::size_t kXcStateBytes = 3;
inline constexpr std::size_t kXcStatesBytes = kXcStateBytes * kXcLanes;
inline constexpr std::size_t kXcRawInStates = kXcStateBits * kXcLanes;  // bits

inline constexpr unsigned kXcLevelStep = 4;    // in q: half an octave
inline constexpr unsigned kXcMiddleLevel = 8;  // moves nothing

/// Monotone integer order of 16-bit floating-point patterns, and back: its own inverse.
constexpr std::uint16_t xc_ordinal(std::uint16_t word) {
    const int negative =
        static_cast<std::int16_t>(word) >> 15;  // no branch, so that loops vectorise
    return static_cast<std::uint16_t>(word ^ (negative & 0x7FFF));
}

/// next - base in monotone order, modulo 2^16.
constexpr std::uint16_t xc_step(std::uint16_t base, std::uint16_t next) {
    return static_cast<std::uint16_t>(xc_ordinal(next) - xc_ordinal(base));
}

/// |step|, at most 2^15.
constexpr std::uint16_t xc_step_size(std::uint16_t step) {
    return (step & 0x8000) != 0 ? static_cast<std::uint16_t>(-step) : step;
}

/// Sixteen buckets of exponents: 0 is exponent 0, 1..15 a window.
struct XcContext {
    std::uint8_t mantissa_bits = 7;  // 7: BF16, 10: F16
    std::uint8_t window = 0;         // exponents up to window + 1 share bucket 1

    constexpr std::uint32_t exponent(std::uint16_t word) const {
        return (word & 0x7FFFu) >> mantissa_bits;
    }
    constexpr std::uint32_t bucket(std::uint16_t word) const {
        return bucket_of_exponent(exponent(word));
    }
    constexpr std::uint32_t bucket_of_exponent(std::uint32_t e) const {
        if (e == 0) return 0;
        const std::uint32_t above = e > window ? e - window : 0;
        return above < 1 ? 1 : above > 15 ? 15 : above;
    }

    friend bool operator==(const XcContext&, const XcContext&) = default;
};

/// What a unit sends once for all its tiles: bytes q for hazard().
struct XcTables {
    bool contextual = true;  // false: all buckets have the odds of bucket 0, as cf sends them
    XcContext context;
    std::array<std::uint8_t, kXcLevels> level_nodes{};  // of the tree of levels, 1..15
    std::array<std::uint8_t, kXcBuckets> flags{};       // at the middle level
    std::uint8_t stages = 0;
    std::array<std::array<std::uint8_t, kXcBuckets>, kXcStages> stage{};  // [k - 1]: |step| >= 2^k

    friend bool operator==(const XcTables&, const XcTables&) = default;
};

/// round(2^14 (1 - exp(-2^(q/8 - 20)))), at least 1 and at most 2^14 - 1.
std::uint16_t xc_hazard(std::uint8_t q);

/// The q whose odds are nearest to ones / all; `all` > 0, both below 2^31.
std::uint8_t xc_nearest_hazard(std::uint64_t ones, std::uint64_t all);

/// hazard() of every bucket, as the inner loops want it.
using XcOdds = std::array<std::uint16_t, kXcBuckets>;
XcOdds xc_odds(const std::array<std::uint8_t, kXcBuckets>& table, unsigned level = kXcMiddleLevel);

/// Words by exponent.
inline constexpr std::size_t kXcExponents = 256;
using XcExponents = std::array<std::uint32_t, kXcExponents>;

/// Words by bucket.
using XcBucketWords = std::array<std::uint64_t, kXcBuckets>;

// The encoder looks at samples where it only wants to know how many words are like what. A payload
// is the same whoever made it, so what is sampled is part of the encoder on every device.
/// For the window of exponents: the first 256 words of every fourth segment, from segment 0 on.
inline constexpr std::size_t kXcWindowSample = 256;
inline constexpr std::size_t kXcWindowSegments = 4;
/// For the words of a segment in each bucket: the first 512 of every 1024 words.
inline constexpr std::size_t kXcBucketSample = 512;
inline constexpr std::size_t kXcBucketSampleEvery = 1024;

/// How often words of a tile change, by exponent and size of the step.
struct XcCounts {
    /// [0]: changed words; [k]: those with |step| >= 2^k. All segments.
    std::array<XcExponents, kXcStages + 1> steps{};

    void add(const XcCounts& other);
};

/// Expected changes of one segment at the middle level in 2^-14, and changes.
struct XcSegment {
    std::uint64_t expected = 0;
    std::uint32_t changed = 0;
};

/// The tile as a list: what does not depend on the tables.
struct XcTile {
    std::vector<std::uint8_t> bits;      // bit i % 8 of byte i / 8: word i changed; whole groups
    std::vector<std::uint32_t> changed;  // words per segment
    std::vector<XcBucketWords> words;    // of every segment, as its sample says
    std::vector<std::uint16_t> base;     // of the changed words, ascending
    std::vector<std::uint16_t> step;     // next - base in monotone order, never 0
};

enum class XcFault : std::uint8_t { none, truncated, corrupt };

}  // namespace refit
