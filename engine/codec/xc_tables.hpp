// The tables of the codecs xc and cf: made from counts, written to and read from a unit's body.
//
// Exact    integers only: the same counts, the same tables, everywhere.
// Errors   truncated, corrupt.
// Source   FORMAT.md 3.1.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/result.hpp"
#include "engine/coords/catalog.hpp"
#include "kernels/xc.hpp"

namespace refit {

/// Mantissa bits of the words of a type.
constexpr std::uint8_t xc_mantissa_bits(WordType type) {
    return type == WordType::f16 ? std::uint8_t{10} : std::uint8_t{7};
}

/// Where the sixteen buckets lie best.
XcContext fit_xc_context(const XcExponents& sample, std::uint8_t mantissa_bits);

/// Everything but the nodes of the levels. `words`: of the tiles counted, by bucket; they need not
/// be told apart when `contextual` is off, and all buckets get the same odds.
XcTables fit_xc_tables(const XcCounts& counts,
                       const XcContext& context,
                       const XcBucketWords& words,
                       bool contextual);

/// How often each segment of a tile changes, and how often the tables would expect it to: as often
/// as the words of its sample say.
std::vector<XcSegment> expect_xc(const XcTile& tile, const XcTables& tables);

/// How much each level costs a segment, in 2^-16 bits.
using XcLevelCosts = std::array<std::int64_t, kXcLevels>;

/// Which levels take the fewest bits. Appends one per segment.
void choose_xc_levels(std::span<const XcSegment> segments,
                      const XcLevelCosts& costs,
                      std::vector<std::uint8_t>& levels);

/// -log2 of the share of each level; what is not there is dear, not impossible.
XcLevelCosts xc_level_costs(std::span<const std::uint8_t> levels);

/// The odds of the tree of levels that these levels have.
std::array<std::uint8_t, kXcLevels> fit_xc_nodes(std::span<const std::uint8_t> levels);

void write_xc_tables(const XcTables& tables, ByteVector& body);
Result<XcTables> read_xc_tables(ByteReader& reader, bool contextual);

}  // namespace refit
