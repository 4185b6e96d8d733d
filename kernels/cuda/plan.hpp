// What the host decides before it launches: segments, boxes, shapes. The one place for it, used by
// every backend that runs the kernels of this folder.
//
// Input     a batch of tiles that lie in one array of words, anywhere in it. A tile that begins at
// a
//           multiple of eight words is read 16 bytes at a time.
// Errors    a batch of 2^31 words or launch blocks, or a placement that leaves its memory or tile,
//           is a bug of the caller and aborts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/tables.hpp"
#include "kernels/placement.hpp"
#include "kernels/simt/shape.hpp"

namespace refit::kernels {

/// Words [first, first + words) of the batch are one tile.
struct TileSpan {
    std::uint64_t first = 0;
    std::uint64_t words = 0;
};

/// Segments of all tiles, in the order of the tiles.
std::vector<SegmentSpan> plan_segments(std::span<const TileSpan> tiles);

/// A tile and its sparse XOR masks, one for each index.
struct TileMasks {
    TileSpan tile;
    std::span<const std::uint32_t> index;
    std::span<const std::uint16_t> mask;
};

/// Checks the masks as Device::stage() does. [t]: where those of tile t begin when the masks of all
/// tiles are put one behind the other; the last number is how many there are.
std::vector<std::uint32_t> plan_masks(std::span<const TileMasks> tiles);

struct TilePlacements {
    TileSpan tile;
    std::span<const Placement> placements;
};

/// Some neighbouring boxes, walked by one launch.
struct BoxRange {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t blocks = 0;
};

struct BoxPlan {
    std::vector<Box> boxes;
    std::vector<TileBoxes> tiles;
    BoxRange all;
    /// No two boxes of a wave hold the same tile word, so that the later placement wins when waves
    /// are gathered one after the other. One wave, unless a rank holds words twice.
    std::vector<BoxRange> waves;
};

/// `memory_words`: of the rank memory that the placements point into.
BoxPlan plan_boxes(std::span<const TilePlacements> tiles, std::uint64_t memory_words);

// Shapes; the grid of an empty launch is empty, and it must not be launched.
simt::LaunchShape mark_shape(std::uint32_t segments);
simt::LaunchShape scan_shape(std::uint32_t segments);
simt::LaunchShape scan_counts_shape(std::uint32_t count);
simt::LaunchShape scan_clear_shape(std::uint32_t count);
simt::LaunchShape emit_shape(std::uint32_t segments);
simt::LaunchShape stage_count_shape(std::uint32_t segments);
simt::LaunchShape stage_emit_shape(std::uint32_t segments);
simt::LaunchShape staged_shape(const char* kernel, std::uint32_t segments);
simt::LaunchShape box_shape(const char* kernel, const BoxRange& boxes);
simt::LaunchShape digest_shape(const BoxRange& boxes);
/// `blocks_max`: as many as the device runs at once.
simt::LaunchShape compare_shape(std::uint64_t words, std::uint32_t blocks_max);

}  // namespace refit::kernels
