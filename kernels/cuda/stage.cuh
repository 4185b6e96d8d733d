// Sparse XOR masks into the staging list: base[index[k]] ^ mask[k], in three launches.
//
//   stage_count   one thread per segment: which masks are its own, by two binary searches
//   scan_staged   where each segment's positions and words begin (kernels/cuda/scan.cuh)
//   stage_emit    one warp per segment: positions and words, or all words of a dense segment
//
// Traffic    masks once, of the base the 32-byte sectors with a change; a dense segment whole.
// Input      as plan_masks() has checked it: indices of a tile ascend strictly and stay inside it.
#pragma once

#include <cstdint>

#include "kernels/cuda/diff.cuh"
#include "kernels/cuda/scan.cuh"
#include "kernels/cuda/tables.hpp"
#include "kernels/cuda/words.cuh"

namespace refit::kernels {

/// `index`: words of their tile. Those of tile t are entries starts[t] to starts[t + 1] - 1.
struct StageInput {
    const std::uint16_t* base;
    const std::uint32_t* index;
    const std::uint16_t* mask;
    const std::uint32_t* starts;  // [tiles + 1]
    const SegmentSpan* spans;
    std::uint32_t segments;
};

struct StageScratch {
    std::uint32_t* changed;     // [segments]
    std::uint32_t* entries_at;  // [segments]
    ScanScratch scan;           // of what the segments store
};

inline namespace SIMT_TARGET {

/// The first of entries [low, high) whose index is `least` or more.
__device__ inline std::uint32_t first_entry(const std::uint32_t* __restrict__ index,
                                            std::uint32_t low,
                                            std::uint32_t high,
                                            std::uint64_t least) {
    while (low < high) {
        const std::uint32_t middle = low + (high - low) / 2;
        if (__ldg(index + middle) < least) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

__global__ void __launch_bounds__(kDiffThreads) stage_count(StageInput in, StageScratch scratch) {
    const unsigned index = blockIdx.x * kDiffThreads + threadIdx.x;
    if (index >= in.segments) return;
    clear_scan(scratch.scan, index);
    const SegmentSpan span = in.spans[index];
    const std::uint64_t first = std::uint64_t{span.segment} * kSegmentWords;
    const std::uint32_t end = in.starts[span.tile + 1];
    const std::uint32_t begin = first_entry(in.index, in.starts[span.tile], end, first);
    scratch.entries_at[index] = begin;
    scratch.changed[index] = first_entry(in.index, begin, end, first + kSegmentWords) - begin;
}

__global__ void __launch_bounds__(kDiffThreads)
    stage_emit(StageInput in, StageScratch scratch, StagedList out) {
    const unsigned lane = threadIdx.x % simt::kWarpLanes;
    const unsigned index = blockIdx.x * kDiffWarps + threadIdx.x / simt::kWarpLanes;
    if (index >= in.segments) return;
    const SegmentSpan span = in.spans[index];
    const unsigned changed = scratch.changed[index];
    const StoredCounts before = unpack_stored(scratch.scan.offsets[index]);
    if (lane == 0) out.segments[index] = staged_segment(span, before, changed);
    if (changed == 0) return;
    const bool dense = changed > kSparseMax;
    const std::uint16_t* base = in.base + span.first;
    std::uint16_t* words = out.words + before.words;
    if (dense) {
        emit_dense(base, span.words, words, lane);
        SIMT_SYNC(stage_copied, __syncwarp());  // words that change are written once more
    }
    const std::uint32_t entries = scratch.entries_at[index];
    for (unsigned k = lane; k < changed; k += simt::kWarpLanes) {
        const std::uint32_t at = __ldg(in.index + entries + k) - span.segment * kSegmentWords;
        words[dense ? at : k] = static_cast<std::uint16_t>(base[at] ^ in.mask[entries + k]);
        if (!dense) out.positions[before.positions + k] = static_cast<std::uint16_t>(at);
    }
}

}  // namespace SIMT_TARGET
}  // namespace refit::kernels
