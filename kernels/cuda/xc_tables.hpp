// What the kernels of xc read besides words and payloads: plain structs, the same on host and
// device.
//
// Batch     the tiles of one launch may be of several units: each names its tables.
// Limits    a tile has at most 2^25 words, all tiles of a batch fewer than 2^31 changes
//           (kernels/cuda/xc_plan.hpp checks).
#pragma once

#include <cstdint>

#include "kernels/xc.hpp"

namespace refit::kernels {

/// XcTables as odds.
struct XcOddsTable {
    std::uint16_t flags[kXcLevels][kXcBuckets];
    std::uint16_t stage[kXcStages][kXcBuckets];  // [k - 1]: |step| >= 2^k
    std::uint16_t nodes[kXcLevels];
    XcContext context;
    std::uint8_t stages;
};

/// A tile of a batch, and its payload.
struct XcTileSpan {
    std::uint64_t first;          // word of the batch
    std::uint64_t payload_at;     // among the bytes of all payloads; encoding: of the room for them
    std::uint32_t payload_bytes;  // likewise
    std::uint32_t words;
    std::uint32_t changed;  // as stated; encoding: as counted
    std::uint32_t entries_at;
    std::uint32_t first_segment;
    std::uint32_t tables;
};

/// The segments of a tile.
constexpr std::uint32_t xc_segments(const XcTileSpan& tile) {
    return (tile.words + kSegmentWords - 1) / kSegmentWords;
}

}  // namespace refit::kernels
