// Staged words through boxes: stored into rank memory, or as the change they make to a digest.
//
// Model      one warp per staged segment. Its lanes test 32 boxes of the tile at a time for meeting
//            the segment, then take the segment's words through each that does.
// Restart    overwriting is plain stores of absolute words: once, twice or half then whole, the
//            same bits.
#pragma once

#include <cstdint>

#include "kernels/cuda/diff.cuh"
#include "kernels/cuda/tables.hpp"
#include "kernels/cuda/words.cuh"
#include "kernels/digest_key.hpp"

namespace refit::kernels {

inline constexpr unsigned kStagedThreads = 128;
inline constexpr unsigned kStagedWarps = kStagedThreads / simt::kWarpLanes;

/// Boxes of a batch of tiles, device memory.
struct BoxTable {
    const Box* boxes;
    const TileBoxes* tiles;
};

inline namespace SIMT_TARGET {

__device__ inline std::uint64_t divide(std::uint64_t value, const Divisor& by) {
    const std::uint64_t high = __umul64hi(by.reciprocal, value);
    return (high + ((value - high) >> by.shift_first)) >> by.shift_last;
}

/// Where a tile word lies in rank memory and in its tensor; `found` false: somebody else has it.
struct HeldWord {
    bool found;
    std::uint64_t local;
    std::uint64_t row;
    std::uint64_t column;
};

__device__ inline HeldWord find_word(const Box& box, std::uint64_t tile_word) {
    const Placement& p = box.placement;
    HeldWord word{};
    const std::uint64_t in_piece = tile_word - p.tile_first;
    if (in_piece >= p.tile_words) return word;
    word.row = divide(p.tensor_first + in_piece, box.columns);
    word.column = p.tensor_first + in_piece - word.row * p.columns;
    if (word.row < p.row_first || word.column < p.col_first) return word;
    const std::uint64_t row = divide(word.row - p.row_first, box.row_step);
    const std::uint64_t column = divide(word.column - p.col_first, box.col_step);
    word.found = row < p.row_count && column < p.col_count &&
                 p.row_first + row * p.row_step == word.row &&
                 p.col_first + column * p.col_step == word.column;
    word.local = p.local_first + row * p.local_row_stride + column * p.local_col_stride;
    return word;
}

/// Does the box's piece share words with tile words [first, first + 4096)?
__device__ inline bool meets_segment(const Box& box, std::uint64_t first) {
    const Placement& p = box.placement;
    return p.tile_first < first + kSegmentWords && first < p.tile_first + p.tile_words;
}

/// Calls visit(box, held word, tile word, staged word) for each pair that meets, with a warp.
template <class Visit>
__device__ void visit_staged(const StagedList& list,
                             unsigned index,
                             const BoxTable& table,
                             const Visit& visit) {
    const unsigned lane = threadIdx.x % simt::kWarpLanes;
    const StagedSegment staged = list.segments[index];
    if (staged.changed == 0) return;
    const bool dense = staged.changed > kSparseMax;
    const std::uint64_t first = std::uint64_t{staged.segment} * kSegmentWords;
    const TileBoxes boxes = table.tiles[staged.tile];
    for (unsigned start = 0; start < boxes.count; start += simt::kWarpLanes) {
        const Box* some = table.boxes + boxes.first + start;
        const bool meets = start + lane < boxes.count && meets_segment(some[lane], first);
        unsigned those = __ballot_sync(kAllLanes, meets);
        for (; those != 0; those &= those - 1) {
            const Box& box = some[__ffs(static_cast<int>(those)) - 1];
            for (unsigned k = lane; k < staged.stored; k += simt::kWarpLanes) {
                const std::uint64_t word =
                    first + (dense ? k : list.positions[staged.positions_at + k]);
                const HeldWord held = find_word(box, word);
                if (held.found) visit(box, held, word, list.words[staged.words_at + k]);
            }
        }
    }
}

__global__ void __launch_bounds__(kStagedThreads)
    overwrite_staged(StagedList list, unsigned count, BoxTable table, std::uint16_t* weights) {
    const unsigned index = blockIdx.x * kStagedWarps + threadIdx.x / simt::kWarpLanes;
    if (index >= count) return;
    visit_staged(list, index, table,
                 [weights](const Box&, const HeldWord& held, std::uint64_t, std::uint16_t word) {
                     weights[held.local] = word;
                 });
}

/// Adds to changes[tile] by how much the digest of its boxes moves when the staged words replace
/// those of `base`, the words of the batch.
__global__ void __launch_bounds__(kStagedThreads) digest_staged(StagedList list,
                                                                unsigned count,
                                                                BoxTable table,
                                                                const std::uint16_t* base,
                                                                std::uint64_t salt,
                                                                unsigned long long* changes) {
    const unsigned index = blockIdx.x * kStagedWarps + threadIdx.x / simt::kWarpLanes;
    if (index >= count) return;
    std::uint64_t change = 0;
    visit_staged(list, index, table,
                 [&](const Box& box, const HeldWord& held, std::uint64_t at, std::uint16_t word) {
                     const std::uint64_t tensor = box.placement.tensor;
                     change += digest_key(salt, tensor, DigestAxis::row, held.row) *
                               digest_key(salt, tensor, DigestAxis::column, held.column) *
                               (std::uint64_t{word} - base[box.tile_at + at]);
                 });
    const unsigned long long sum = warp_sum(change);
    if (threadIdx.x % simt::kWarpLanes == 0) atomicAdd(changes + list.segments[index].tile, sum);
}

}  // namespace SIMT_TARGET
}  // namespace refit::kernels
