// Words held through boxes: their digest, and copies between tile and rank memory.
//
// Model      a block walks block_rows rows of a box, lanes_wide groups of eight held columns side
//            by side; its other threads take further rows. A thread keeps its columns from row to
//            row, so a digest computes each column's key once per block and each row's once.
// Traffic    every held word once (copies: twice). Per word a digest needs one 64-bit
//            multiply-add, an eighth of another, and its share of the keys.
// Same words of a tile in two boxes: for gathering the plan puts them into separate launches, the
//            later box last. The digest counts both.
#pragma once

#include <cstdint>

#include "kernels/cuda/tables.hpp"
#include "kernels/cuda/words.cuh"
#include "kernels/digest_key.hpp"

namespace refit::kernels {

inline constexpr unsigned kBoxThreads = 128;
inline constexpr unsigned kBoxRowsMax = 1024;

inline namespace SIMT_TARGET {

/// What one block has to do, and this thread's share of it.
struct BoxPart {
    const Box* box;
    std::uint64_t row;     // the block's first, an index into the box
    unsigned rows;         // of the block
    std::uint64_t column;  // this thread's first, an index into the box
    unsigned columns;      // as a mask of the group
    unsigned row_lane;     // this thread walks rows row_lane, row_lane + row_lanes, ...
    unsigned row_lanes;
};

__device__ inline BoxPart find_part(const Box* boxes, unsigned count) {
    unsigned low = 0;  // the last box whose blocks begin at or before this one
    unsigned high = count;
    while (high - low > 1) {
        const unsigned middle = (low + high) / 2;
        if (boxes[middle].first_block <= boxes[0].first_block + blockIdx.x) {
            low = middle;
        } else {
            high = middle;
        }
    }
    const Box* box = boxes + low;
    const auto part = static_cast<unsigned>(boxes[0].first_block + blockIdx.x - box->first_block);
    BoxPart mine{};
    mine.box = box;
    mine.row = box->rows_begin + std::uint64_t{part / box->column_parts} * box->block_rows;
    const std::uint64_t left = box->rows_end - mine.row;
    mine.rows = left < box->block_rows ? static_cast<unsigned>(left) : box->block_rows;
    const unsigned wide = box->lanes_wide;
    const std::uint64_t group = std::uint64_t{part % box->column_parts} * wide + threadIdx.x % wide;
    mine.column = group * kGroupWords;
    const std::uint64_t held = box->placement.col_count;
    mine.columns = mine.column < held ? group_mask(held - mine.column) : 0u;
    mine.row_lane = threadIdx.x / wide;
    mine.row_lanes = kBoxThreads / wide;
    return mine;
}

/// A group of one row: which of its words the tile piece has, and where they are.
struct HeldGroup {
    unsigned held;
    std::uint64_t local;
    std::uint64_t tile;  // among the words of the batch
};

__device__ inline HeldGroup find_group(const BoxPart& part, unsigned row) {
    const Placement& p = part.box->placement;
    const std::uint64_t index = part.row + row;
    const std::uint64_t first = (p.row_first + index * p.row_step) * p.columns + p.col_first +
                                part.column * p.col_step - p.tensor_first;
    HeldGroup group{part.columns,
                    p.local_first + index * p.local_row_stride + part.column * p.local_col_stride,
                    part.box->tile_at + p.tile_first + first};
    // Only the first and the last row of a piece can be cut short.
    if (index == part.box->rows_begin || index + 1 == part.box->rows_end) {
        for (unsigned i = 0; i < kGroupWords; ++i)
            if (first + i * p.col_step >= p.tile_words) group.held &= ~(1u << i);
    }
    return group;
}

struct DigestShared {
    std::uint64_t row_keys[kBoxRowsMax];
};

/// Adds to digests[tile] for every box.
__global__ void __launch_bounds__(kBoxThreads) digest_boxes(const std::uint16_t* weights,
                                                            const Box* __restrict__ boxes,
                                                            unsigned count,
                                                            std::uint64_t salt,
                                                            unsigned long long* digests) {
    auto& s = simt::shared<DigestShared>();
    const BoxPart part = find_part(boxes, count);
    const Placement& p = part.box->placement;
    const std::uint64_t rows = digest_key_prefix(salt, p.tensor, DigestAxis::row);
    for (unsigned row = threadIdx.x; row < part.rows; row += kBoxThreads)
        s.row_keys[row] = digest_key_at(rows, p.row_first + (part.row + row) * p.row_step);
    const std::uint64_t columns = digest_key_prefix(salt, p.tensor, DigestAxis::column);
    std::uint64_t column_keys[kGroupWords];
    for (unsigned i = 0; i < kGroupWords; ++i)
        column_keys[i] = digest_key_at(columns, p.col_first + (part.column + i) * p.col_step);
    SIMT_SYNC(digest_rows_keyed, __syncthreads());

    std::uint64_t digest = 0;
    for (unsigned row = part.row_lane; row < part.rows; row += part.row_lanes) {
        const HeldGroup at = find_group(part, row);
        const Group group = load_group(weights, at.local, p.local_col_stride, at.held);
        std::uint64_t sum = 0;
        for (unsigned i = 0; i < kGroupWords; ++i) sum += column_keys[i] * group.word(i);
        digest += s.row_keys[row] * sum;
    }
    const unsigned long long sum = warp_sum(digest);
    if (threadIdx.x % simt::kWarpLanes == 0) atomicAdd(digests + part.box->tile, sum);
}

__global__ void __launch_bounds__(kBoxThreads) gather_boxes(const std::uint16_t* weights,
                                                            const Box* __restrict__ boxes,
                                                            unsigned count,
                                                            std::uint16_t* tiles) {
    const BoxPart part = find_part(boxes, count);
    const Placement& p = part.box->placement;
    for (unsigned row = part.row_lane; row < part.rows; row += part.row_lanes) {
        const HeldGroup at = find_group(part, row);
        const Group group = load_group(weights, at.local, p.local_col_stride, at.held);
        store_group(tiles, at.tile, p.col_step, at.held, group);
    }
}

__global__ void __launch_bounds__(kBoxThreads) scatter_boxes(const std::uint16_t* tiles,
                                                             const Box* __restrict__ boxes,
                                                             unsigned count,
                                                             std::uint16_t* weights) {
    const BoxPart part = find_part(boxes, count);
    const Placement& p = part.box->placement;
    for (unsigned row = part.row_lane; row < part.rows; row += part.row_lanes) {
        const HeldGroup at = find_group(part, row);
        const Group group = load_group(tiles, at.tile, p.col_step, at.held);
        store_group(weights, at.local, p.local_col_stride, at.held, group);
    }
}

}  // namespace SIMT_TARGET
}  // namespace refit::kernels
