// The words of `next` that differ from `base`, as a staging list, in three launches.
//
//   diff_mark     one warp per segment: a bit per word that differs, and how many there are
//   scan_staged   where each segment's positions and words begin (kernels/cuda/scan.cuh)
//   diff_emit     one warp per segment: positions and words in ascending order
//
// Traffic    base and next once; the bits, 1/16 of a word each, written and read; of next once more
//            the 32-byte sectors with a change. At 3 % changed that is 5.0 bytes per word.
// Order      of the list is fixed by the scan, so the bytes do not depend on the schedule.
#pragma once

#include <cstdint>

#include "kernels/cuda/scan.cuh"
#include "kernels/cuda/tables.hpp"
#include "kernels/cuda/words.cuh"

namespace refit::kernels {

inline constexpr unsigned kDiffThreads = 128;
inline constexpr unsigned kDiffWarps = kDiffThreads / simt::kWarpLanes;
inline constexpr unsigned kMarkBytes = kSegmentWords / 8;  // of one segment's bits
inline constexpr unsigned kWarpWords = simt::kWarpLanes * kGroupWords;

/// Device memory of a batch of `segments` segments. `marks` needs no alignment.
struct DiffScratch {
    std::uint8_t* marks;     // [segments * kMarkBytes]
    std::uint32_t* changed;  // [segments]
    ScanScratch scan;        // of what the segments store
};

/// The list itself: room for one position and one word per word of the batch.
struct StagedList {
    StagedSegment* segments;
    std::uint16_t* positions;
    std::uint16_t* words;
};

inline namespace SIMT_TARGET {

__global__ void __launch_bounds__(kDiffThreads) diff_mark(const std::uint16_t* __restrict__ base,
                                                          const std::uint16_t* __restrict__ next,
                                                          const SegmentSpan* __restrict__ spans,
                                                          unsigned count,
                                                          DiffScratch scratch) {
    const unsigned lane = threadIdx.x % simt::kWarpLanes;
    const unsigned index = blockIdx.x * kDiffWarps + threadIdx.x / simt::kWarpLanes;
    if (index >= count) return;
    if (lane == 0) clear_scan(scratch.scan, index);

    const SegmentSpan span = spans[index];
    std::uint8_t* marks = scratch.marks + std::uint64_t{index} * kMarkBytes;
    unsigned changed = 0;
    for (unsigned at = lane * kGroupWords; at < span.words; at += kWarpWords) {
        const unsigned held = group_mask(span.words - at);
        const unsigned bits = differing(load_group(base, span.first + at, 1, held),
                                        load_group(next, span.first + at, 1, held));
        marks[at / kGroupWords] = static_cast<std::uint8_t>(bits);
        changed += static_cast<unsigned>(__popc(bits));
    }
    changed = __reduce_add_sync(kAllLanes, changed);
    if (lane == 0) scratch.changed[index] = changed;
}

__device__ inline StagedSegment staged_segment(const SegmentSpan& span,
                                               const StoredCounts& before,
                                               unsigned changed) {
    const unsigned stored = changed > kSparseMax ? span.words : changed;
    return {span.tile,
            span.segment,
            before.positions,
            before.words,
            static_cast<std::uint16_t>(changed),
            static_cast<std::uint16_t>(stored)};
}

__device__ inline void emit_dense(const std::uint16_t* next,
                                  unsigned words,
                                  std::uint16_t* out,
                                  unsigned lane) {
    for (unsigned at = lane; at < words; at += simt::kWarpLanes) out[at] = __ldg(next + at);
}

__device__ inline void emit_sparse(const std::uint16_t* next,
                                   const std::uint8_t* marks,
                                   unsigned words,
                                   std::uint16_t* positions_out,
                                   std::uint16_t* words_out) {
    const unsigned lane = threadIdx.x % simt::kWarpLanes;
    unsigned done = 0;
    for (unsigned start = 0; start < words; start += kWarpWords) {
        const unsigned at = start + lane * kGroupWords;
        const unsigned bits = at < words ? marks[at / kGroupWords] : 0u;
        const auto mine = static_cast<unsigned>(__popc(bits));
        const unsigned up_to = sum_up_to_lane(mine, lane);
        if (bits != 0) {
            const Group group = load_group(next, at, 1, group_mask(words - at));
            unsigned k = done + up_to - mine;
            for (unsigned i = 0; i < kGroupWords; ++i) {
                if ((bits >> i & 1u) == 0) continue;
                positions_out[k] = static_cast<std::uint16_t>(at + i);
                words_out[k] = group.word(i);
                ++k;
            }
        }
        done += __shfl_sync(kAllLanes, up_to, simt::kWarpLanes - 1);
    }
}

__global__ void __launch_bounds__(kDiffThreads) diff_emit(const std::uint16_t* __restrict__ next,
                                                          const SegmentSpan* __restrict__ spans,
                                                          unsigned count,
                                                          DiffScratch scratch,
                                                          StagedList out) {
    const unsigned lane = threadIdx.x % simt::kWarpLanes;
    const unsigned index = blockIdx.x * kDiffWarps + threadIdx.x / simt::kWarpLanes;
    if (index >= count) return;
    const SegmentSpan span = spans[index];
    const unsigned changed = scratch.changed[index];
    const bool dense = changed > kSparseMax;
    const StoredCounts before = unpack_stored(scratch.scan.offsets[index]);
    if (lane == 0) out.segments[index] = staged_segment(span, before, changed);
    if (changed == 0) return;
    if (dense) {
        emit_dense(next + span.first, span.words, out.words + before.words, lane);
    } else {
        emit_sparse(next + span.first, scratch.marks + std::uint64_t{index} * kMarkBytes,
                    span.words, out.positions + before.positions, out.words + before.words);
    }
}

}  // namespace SIMT_TARGET
}  // namespace refit::kernels
