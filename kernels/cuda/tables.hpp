// What the kernels read and write besides words: plain structs, the same on host and device.
//
// Batch     one launch works on any number of tiles. Segments of all tiles form one list, boxes of
//           all tiles another; each names its tile.
// Limits    a batch holds fewer than 2^31 words and 2^31 segments (kernels/cuda/plan.hpp checks).
#pragma once

#include <cstdint>

#include "kernels/changes.hpp"
#include "kernels/cuda/divisor.hpp"
#include "kernels/placement.hpp"

namespace refit::kernels {

/// Words [first, first + words) of the batch are one segment.
struct SegmentSpan {
    std::uint64_t first;
    std::uint32_t words;  // 1..4096
    std::uint32_t tile;
    std::uint32_t segment;  // its number in the tile
};

/// A segment of the staging list. `changed` 0: nothing of it is stored.
struct StagedSegment {
    std::uint32_t tile;
    std::uint32_t segment;
    std::uint32_t positions_at;  // of the first position; sparse segments only
    std::uint32_t words_at;      // of the first word
    std::uint16_t changed;
    std::uint16_t stored;

    friend bool operator==(const StagedSegment&, const StagedSegment&) = default;
};

/// A placement and what a launch needs to find its words without dividing.
struct Box {
    Placement placement;
    Divisor columns;
    Divisor row_step;
    Divisor col_step;
    std::uint64_t rows_begin;  // box rows that meet the tile piece
    std::uint64_t rows_end;
    std::uint64_t tile_at;       // where the tile begins among the words of the batch
    std::uint64_t first_block;   // of those that walk this box
    std::uint32_t column_parts;  // blocks side by side
    std::uint32_t lanes_wide;    // threads side by side in a block: a power of two
    std::uint32_t block_rows;    // rows that a block walks
    std::uint32_t tile;
};

/// Boxes [first, first + count) are those of one tile.
struct TileBoxes {
    std::uint32_t first;
    std::uint32_t count;
};

}  // namespace refit::kernels
