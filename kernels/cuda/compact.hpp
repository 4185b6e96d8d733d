// Rank memory for a device that cannot reach it: the words that one tile holds of it, packed.
//
// Model     a placement becomes up to three, since the first and the last row of a piece may be cut
//           short; each is a dense box of a buffer. Boxes begin at multiples of eight words.
// Touches   exactly the words that the placements hold: what lies between them in rank memory may
//           be another tile's, in another lane's hands.
// Bytes     the buffer is as long as the held words, and up to seven words more for each box.
// Errors    a placement that leaves the rank memory is a bug of the caller and aborts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/placement.hpp"

namespace refit::kernels {

/// rows x columns words of rank memory, and where they begin in the buffer, row by row.
struct PackedBox {
    std::uint64_t local;
    std::uint64_t row_stride;
    std::uint64_t col_stride;
    std::uint64_t rows;
    std::uint64_t columns;
    std::uint64_t at;
};

struct CompactPlan {
    std::vector<Placement> placements;  // the same words of the tile, held in the buffer
    std::vector<PackedBox> boxes;
    std::uint64_t words = 0;  // of the buffer
};

CompactPlan plan_compact(std::span<const Placement> placements, std::uint64_t memory_words);

/// Rank memory into the buffer. Words between its boxes stay as they are.
void pack(const CompactPlan& plan,
          std::span<const std::uint16_t> weights,
          std::span<std::uint16_t> packed);

/// The inverse. Plain stores: restartable at any point.
void unpack(const CompactPlan& plan,
            std::span<const std::uint16_t> packed,
            std::span<std::uint16_t> weights);

}  // namespace refit::kernels
