// What the tests of xc share: tiles with steps of chosen sizes, tables of all kinds, and the way
// from two versions of a tile to a payload.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>

#include "tests/kernels/support.hpp"

namespace refit {

/// A tile, its tables, and one level per segment.
struct XcCase {
    WordVector base;
    WordVector next;
    XcTables tables;
    std::vector<std::uint8_t> levels;

    std::size_t segments() const { return (base.size() + kSegmentWords - 1) / kSegmentWords; }
    std::span<const std::uint16_t> segment(std::size_t s) const {
        const std::size_t first = s * kSegmentWords;
        return std::span(base).subspan(first,
                                       std::min<std::size_t>(kSegmentWords, base.size() - first));
    }
    bool changes_in(std::size_t s) const {
        const std::size_t first = s * kSegmentWords;
        return !std::ranges::equal(segment(s), std::span(next).subspan(first, segment(s).size()));
    }
};

/// The word `step` behind `word` in monotone order, modulo 2^16.
inline std::uint16_t stepped(std::uint16_t word, int step) {
    return xc_ordinal(static_cast<std::uint16_t>(xc_ordinal(word) + step));
}

/// |step| of a change, 1 to 2^15.
inline unsigned step_size(std::uint16_t base, std::uint16_t next) {
    const unsigned up = (xc_ordinal(next) - xc_ordinal(base)) & 0xFFFFu;
    return std::min(up, 0x10000 - up);
}

/// A step of a class, up or down.
inline int random_step(TestRng& rng, unsigned size_class) {
    const auto least = std::uint64_t{1} << size_class;
    const int size = static_cast<int>(size_class == 15 ? least : least + rng.below(least));
    return rng.below(2) == 0 ? size : -size;
}

/// Any q but for the flags, whose odds are around `flags`. All stages, so every step can be coded.
inline XcTables random_tables(TestRng& rng, XcContext context, bool contextual, int flags) {
    const auto byte = [&] { return static_cast<std::uint8_t>(rng.next()); };
    XcTables tables;
    tables.contextual = contextual;
    tables.context = context;
    tables.stages = kXcStages;
    for (std::size_t node = 1; node < kXcLevels; ++node)
        tables.level_nodes[node] = static_cast<std::uint8_t>(100 + rng.below(80));
    for (std::uint8_t& q : tables.flags)
        q = static_cast<std::uint8_t>(flags - 8 + static_cast<int>(rng.below(16)));
    for (auto& stage : tables.stage)
        for (std::uint8_t& q : stage) q = byte();
    if (contextual) return tables;
    tables.flags.fill(tables.flags[0]);
    for (auto& stage : tables.stage) stage.fill(stage[0]);
    return tables;
}

/// Random levels where something changes, 0 elsewhere.
inline std::vector<std::uint8_t> random_levels(TestRng& rng, const XcCase& of) {
    std::vector<std::uint8_t> levels(of.segments());
    for (std::size_t s = 0; s < levels.size(); ++s)
        if (of.changes_in(s)) levels[s] = static_cast<std::uint8_t>(1 + rng.below(kXcLevels - 1));
    return levels;
}

/// The payload of a tile; nothing where plain words are shorter.
inline std::vector<std::byte> encode_xc(Device& device, const XcCase& of) {
    Changes changes;
    device.diff(of.base, of.next, changes);
    XcTile tile;
    XcCounts counts;
    device.xc_scan(of.base, changes, of.tables.context, tile, counts);
    std::vector<std::byte> payload(3, std::byte{0xAB});
    const bool coded = device.xc_encode(of.base, tile, of.tables, of.levels, payload);
    EXPECT_EQ(std::vector<std::byte>(payload.begin(), payload.begin() + 3),
              std::vector<std::byte>(3, std::byte{0xAB}));
    payload.erase(payload.begin(), payload.begin() + 3);
    EXPECT_EQ(coded, !payload.empty());
    EXPECT_LT(payload.size(), std::max<std::size_t>(2 * of.base.size(), 1));
    return payload;
}

/// What FORMAT.md 3.1 says a tile holds, in bits.
struct XcInformation {
    long double decisions = 0;
    std::size_t raw = 0;
};

inline XcInformation xc_information(const XcCase& of) {
    XcInformation information;
    const auto decide = [&](int q, bool one) {
        const auto p = xc_hazard(static_cast<std::uint8_t>(std::clamp(q, 0, 255))) /
                       static_cast<long double>(kXcOddsOne);
        information.decisions -= std::log2(one ? p : 1 - p);
    };
    for (std::size_t s = 0; s < of.segments(); ++s) {
        const unsigned leaf = 16u + of.levels[s];
        for (unsigned depth = 4; depth-- > 0;)
            decide(of.tables.level_nodes[leaf >> (depth + 1)], (leaf >> depth & 1) != 0);
        for (std::size_t i = 0; i < of.segment(s).size() && of.levels[s] != 0; ++i) {
            const std::size_t at = s * kSegmentWords + i;
            const std::size_t b = of.tables.context.bucket(of.base[at]);
            const bool changed = of.base[at] != of.next[at];
            decide(of.tables.flags[b] + 4 * (of.levels[s] - 8), changed);
            if (!changed) continue;
            information.raw += 1;
            const unsigned size = step_size(of.base[at], of.next[at]);
            for (unsigned k = 1; k <= of.tables.stages; ++k) {
                decide(of.tables.stage[k - 1][b], size >> k != 0);
                if (size >> k == 0) break;
                information.raw += 1;
            }
        }
    }
    return information;
}

/// Changes that take no notice of the base, and such as grow rarer with its exponent.
inline XcCase random_xc_case(TestRng& rng, std::size_t words, std::uint64_t per_mille) {
    XcCase of;
    const bool by_exponent = rng.below(2) == 0;
    const bool contextual = rng.below(4) != 0;
    const XcContext context = contextual && rng.below(3) == 0
                                  ? XcContext{10, static_cast<std::uint8_t>(rng.below(24))}
                                  : XcContext{7, static_cast<std::uint8_t>(100 + rng.below(20))};
    const std::uint64_t classes = 1 + rng.below(kXcStages + 1);
    for (std::size_t i = 0; i < words; ++i) {
        // Exponents fall off by half from 124 downwards, as those of weights do.
        const unsigned below = static_cast<unsigned>(std::countr_zero(rng.next() | 1u << 14));
        const std::uint16_t word = rng.word();
        of.base.push_back(
            by_exponent ? static_cast<std::uint16_t>((word & 0x807F) | (124 - below) << 7) : word);
        const std::uint64_t rate = by_exponent ? per_mille << std::min(below, 10u) : per_mille;
        const bool changes = rng.below(1000) < rate;
        const auto size_class = static_cast<unsigned>(rng.below(classes));
        of.next.push_back(changes ? stepped(of.base[i], random_step(rng, size_class)) : of.base[i]);
    }
    const int flags = 160 + static_cast<int>(8 * std::log2(static_cast<double>(per_mille) / 1000));
    of.tables = random_tables(rng, context, contextual, flags);
    of.levels = random_levels(rng, of);
    return of;
}

}  // namespace refit
