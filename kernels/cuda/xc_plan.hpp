// What the host decides before it launches the kernels of xc. Errors as in kernels/cuda/plan.hpp,
// which has the rest: limits that are broken are bugs of the caller and abort. What a payload says,
// its size and its number of changes included, is never one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/plan.hpp"
#include "kernels/cuda/xc_tables.hpp"
#include "kernels/simt/shape.hpp"
#include "kernels/xc.hpp"

namespace refit::kernels {

inline constexpr std::uint64_t kXcTileMax = std::uint64_t{1} << 25;  // words

XcOddsTable make_xc_odds(const XcTables& tables);

/// A tile to be decoded.
struct XcPayload {
    TileSpan tile;
    std::uint64_t at = 0;  // among the bytes of all payloads
    std::uint64_t bytes = 0;
    std::uint32_t changed = 0;
    std::uint32_t tables = 0;
};

struct XcPlan {
    std::vector<XcTileSpan> tiles;
    std::vector<SegmentSpan> segments;
    std::uint64_t entries = 0;  // room for the changes of all tiles
    std::uint64_t room = 0;     // encoding: bytes for all payloads
};

XcPlan plan_xc_decode(std::span<const XcPayload> payloads);

/// A tile to be encoded, whose changes xc_list has put behind those of the tiles before it.
struct XcCoding {
    TileSpan tile;
    std::uint32_t changed = 0;
    std::uint32_t tables = 0;
};

XcPlan plan_xc_encode(std::span<const XcCoding> tiles);

/// What xc_list has counted, as Device::xc_scan() gives it. `counts`: kXcCounts numbers.
XcCounts sum_xc_counts(std::span<const std::uint32_t> counts);

simt::LaunchShape xc_sample_shape(std::uint32_t segments);
/// `blocks_max`: as many as the device runs at once.
simt::LaunchShape xc_list_shape(std::uint32_t segments, std::uint32_t blocks_max);
simt::LaunchShape xc_encode_shape(std::uint32_t tiles);
simt::LaunchShape xc_gather_shape(std::uint32_t tiles);

simt::LaunchShape xc_decode_shape(std::uint32_t tiles);
simt::LaunchShape xc_emit_shape(std::uint32_t segments);

}  // namespace refit::kernels
