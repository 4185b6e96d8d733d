// Where the words of one tile lie in one rank's memory: an affine box, as plain numbers.
//
// Model    A tile piece is a contiguous run of one canonical tensor, seen as rows x columns
//          (row-major; a 1-D tensor is one row). Tile word `tile_first + k` is canonical word
//          `tensor_first + k`, that is row (tensor_first + k) / columns, column the remainder.
//          The rank holds rows row_first + i * row_step (i < row_count) and columns
//          col_first + j * col_step (j < col_count) at
//          local_first + i * local_row_stride + j * local_col_stride.
//          Words of the piece outside the box are somebody else's.
// Limit    64-bit everywhere; the caller guarantees that every local index is inside the memory.
#pragma once

#include <cstdint>

namespace refit {

struct Placement {
    std::uint64_t tile_first = 0;
    std::uint64_t tile_words = 0;
    std::uint64_t tensor_first = 0;
    std::uint64_t columns = 1;

    std::uint64_t row_first = 0;
    std::uint64_t row_count = 0;
    std::uint64_t row_step = 1;
    std::uint64_t col_first = 0;
    std::uint64_t col_count = 0;
    std::uint64_t col_step = 1;

    std::uint64_t local_first = 0;
    std::uint64_t local_row_stride = 0;
    std::uint64_t local_col_stride = 1;

    std::uint64_t tensor = 0;  // canonical tensor id: the digest key needs it

    friend bool operator==(const Placement&, const Placement&) = default;
};

}  // namespace refit
