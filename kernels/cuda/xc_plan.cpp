#include "kernels/cuda/xc_plan.hpp"

#include <algorithm>

#include "kernels/check.hpp"
#include "kernels/cuda/xc_decode.cuh"
#include "kernels/cuda/xc_encode.cuh"
#include "kernels/cuda/xc_scan.cuh"

namespace refit::kernels {
namespace {

/// A payload of a tile of 2^25 words that takes so many bytes is longer than anything it can say:
/// one that is longer still has the same fault.
constexpr std::uint64_t kPayloadMax = (std::uint64_t{1} << 31) - 1;
constexpr std::uint64_t kEntriesMax = (std::uint64_t{1} << 31) - 1;

template <std::size_t kCount>
void copy_odds(const XcOdds& odds, std::uint16_t (&to)[kCount]) {
    std::ranges::copy(odds, to);
}

simt::LaunchShape warps_shape(const char* kernel, std::uint32_t warps, unsigned in_block) {
    const std::uint32_t blocks = warps / in_block + (warps % in_block != 0 ? 1 : 0);
    return {kernel, {blocks, 1, 1}, {in_block * simt::kWarpLanes, 1, 1}, 0};
}

/// Behind the tiles that are there.
XcTileSpan& add_tile(XcPlan& plan,
                     const TileSpan& tile,
                     std::uint32_t changed,
                     std::uint32_t tables) {
    REFIT_KERNEL_CHECK(tile.words <= kXcTileMax);
    XcTileSpan span{};
    span.first = tile.first;
    span.words = static_cast<std::uint32_t>(tile.words);
    span.changed = changed;
    span.entries_at = static_cast<std::uint32_t>(plan.entries);
    span.tables = tables;
    if (!plan.tiles.empty())
        span.first_segment = plan.tiles.back().first_segment + xc_segments(plan.tiles.back());
    plan.entries += std::min(span.changed, span.words);
    REFIT_KERNEL_CHECK(plan.entries <= kEntriesMax);
    return plan.tiles.emplace_back(span);
}

}  // namespace

XcOddsTable make_xc_odds(const XcTables& tables) {
    REFIT_KERNEL_CHECK(tables.stages <= kXcStages && tables.context.mantissa_bits < 16);
    XcOddsTable odds{};
    for (unsigned level = 1; level < kXcLevels; ++level)
        copy_odds(xc_odds(tables.flags, level), odds.flags[level]);
    for (std::size_t k = 0; k < kXcStages; ++k) copy_odds(xc_odds(tables.stage[k]), odds.stage[k]);
    for (std::size_t node = 0; node < kXcLevels; ++node)
        odds.nodes[node] = xc_hazard(tables.level_nodes[node]);
    odds.context = tables.context;
    odds.stages = tables.stages;
    return odds;
}

XcPlan plan_xc_decode(std::span<const XcPayload> payloads) {
    XcPlan plan;
    std::vector<TileSpan> tiles;
    for (const XcPayload& payload : payloads) {
        XcTileSpan& span = add_tile(plan, payload.tile, payload.changed, payload.tables);
        span.payload_at = payload.at;
        span.payload_bytes = static_cast<std::uint32_t>(std::min(payload.bytes, kPayloadMax));
        tiles.push_back(payload.tile);
    }
    plan.segments = plan_segments(tiles);
    return plan;
}

XcPlan plan_xc_encode(std::span<const XcCoding> tiles) {
    XcPlan plan;
    std::vector<TileSpan> spans;
    for (const XcCoding& tile : tiles) {
        REFIT_KERNEL_CHECK(tile.changed <= tile.tile.words);
        XcTileSpan& span = add_tile(plan, tile.tile, tile.changed, tile.tables);
        span.payload_at = plan.room;
        span.payload_bytes = (2 * span.words + kXcRoomSlack + 15) / 16 * 16;
        plan.room += span.payload_bytes;
        spans.push_back(tile.tile);
    }
    plan.segments = plan_segments(spans);
    return plan;
}

XcCounts sum_xc_counts(std::span<const std::uint32_t> counts) {
    REFIT_KERNEL_CHECK(counts.size() == kXcCounts);
    XcCounts sums;
    for (std::size_t k = kXcClasses; k-- > 0;) {
        if (k + 1 < kXcClasses) sums.steps[k] = sums.steps[k + 1];
        for (std::size_t e = 0; e < kXcExponents; ++e)
            sums.steps[k][e] += counts[k * kXcExponents + e];
    }
    return sums;
}

simt::LaunchShape xc_sample_shape(std::uint32_t segments) {
    simt::LaunchShape shape = warps_shape("xc_sample", segments, kXcListWarps);
    shape.shared_bytes = sizeof(XcSampleShared);
    return shape;
}

simt::LaunchShape xc_list_shape(std::uint32_t segments, std::uint32_t blocks_max) {
    simt::LaunchShape shape = warps_shape("xc_list", segments, kXcListWarps);
    shape.grid.x = std::min(shape.grid.x, blocks_max);
    shape.shared_bytes = sizeof(XcListShared);
    return shape;
}

simt::LaunchShape xc_encode_shape(std::uint32_t tiles) {
    return warps_shape("xc_encode", tiles, kXcWarps);
}

simt::LaunchShape xc_gather_shape(std::uint32_t tiles) {
    return {"xc_gather", {tiles, 1, 1}, {kXcGatherThreads, 1, 1}, 0};
}

simt::LaunchShape xc_decode_shape(std::uint32_t tiles) {
    return warps_shape("xc_decode", tiles, kXcWarps);
}

simt::LaunchShape xc_emit_shape(std::uint32_t segments) {
    return warps_shape("xc_emit", segments, kDiffWarps);
}

}  // namespace refit::kernels
