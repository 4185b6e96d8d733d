// What the tables of xc are made from: a sample of exponents, the words of every segment by bucket,
// and the changed words as a list, with how often they change by how much.
//
// Input      of xc_list: the marks and counts that diff_mark left; scan_counts finds where the
//            changes of each segment begin. Both versions are on the device anyway.
// Traffic    xc_sample 1/64 of the base; xc_list half of the base, the marks, and of the words that
//            change the 32-byte sectors in both versions.
// Sums       are of integers and are added to what is there, so no schedule shows; the caller
//            clears them.
#pragma once

#include <cstdint>

#include "kernels/cuda/diff.cuh"
#include "kernels/cuda/tables.hpp"
#include "kernels/cuda/words.cuh"
#include "kernels/xc.hpp"

namespace refit::kernels {

inline constexpr unsigned kXcListThreads = 128;
inline constexpr unsigned kXcListWarps = kXcListThreads / simt::kWarpLanes;
inline constexpr unsigned kXcClasses = kXcStages + 1;
inline constexpr unsigned kXcCounts = kXcClasses * kXcExponents;

struct XcListInput {
    const std::uint16_t* base;
    const std::uint16_t* next;
    const SegmentSpan* spans;
    const std::uint8_t* marks;
    const std::uint32_t* changed;
    std::uint32_t segments;
    XcContext context;
};

/// XcTile of a batch. `counts`: changes by class of the step and exponent of the base.
struct XcLists {
    std::uint16_t* base;    // [changes]
    std::uint16_t* step;    // [changes]
    std::uint64_t* words;   // [segments * kXcBuckets]
    std::uint32_t* counts;  // [kXcCounts]
    ScanScratch scan;       // of the changes of the segments
};

inline namespace SIMT_TARGET {

struct XcSampleShared {
    std::uint32_t words[kXcExponents];
};

/// Adds to words[exponent].
__global__ void __launch_bounds__(kXcListThreads) xc_sample(const std::uint16_t* __restrict__ base,
                                                            const SegmentSpan* __restrict__ spans,
                                                            unsigned count,
                                                            unsigned mantissa_bits,
                                                            std::uint32_t* words) {
    auto& s = simt::shared<XcSampleShared>();
    for (unsigned e = threadIdx.x; e < kXcExponents; e += kXcListThreads) s.words[e] = 0;
    SIMT_SYNC(xc_sample_cleared, __syncthreads());
    const unsigned index = blockIdx.x * kXcListWarps + threadIdx.x / simt::kWarpLanes;
    if (index < count && spans[index].segment % kXcWindowSegments == 0) {
        static_assert(kXcWindowSample == kWarpWords);
        const SegmentSpan span = spans[index];
        const unsigned at = threadIdx.x % simt::kWarpLanes * kGroupWords;
        const unsigned held = at < span.words ? group_mask(span.words - at) : 0u;
        const Group group = load_group(base, span.first + at, 1, held);
        for (unsigned i = 0; i < kGroupWords; ++i)
            if (held >> i & 1u)
                atomicAdd(s.words + ((group.word(i) & 0x7FFFu) >> mantissa_bits), 1u);
    }
    SIMT_SYNC(xc_sample_counted, __syncthreads());
    for (unsigned e = threadIdx.x; e < kXcExponents; e += kXcListThreads)
        if (s.words[e] != 0) atomicAdd(words + e, s.words[e]);
}

/// The words of a segment by bucket, from the first 512 of every 1024. A lane sees at most 64 of
/// them, so it counts in bytes; the sums over the warp need 16 bits.
__device__ inline void count_buckets(const std::uint16_t* base,
                                     std::uint32_t words,
                                     const XcContext& context,
                                     std::uint64_t* out) {
    const unsigned lane = threadIdx.x % simt::kWarpLanes;
    std::uint32_t four[kXcBuckets / 4] = {};
    std::uint32_t sampled = 0;
    for (unsigned start = 0; start < words; start += kWarpWords) {
        if (start % kXcBucketSampleEvery >= kXcBucketSample) continue;
        const unsigned left = words - start;
        sampled += left < kWarpWords ? left : kWarpWords;
        const unsigned at = start + lane * kGroupWords;
        const unsigned held = at < words ? group_mask(words - at) : 0u;
        const Group group = load_group(base, at, 1, held);
        for (unsigned i = 0; i < kGroupWords; ++i) {
            const std::uint32_t bucket = context.bucket(group.word(i));
            const std::uint32_t one = (held >> i & 1u) << bucket % 4 * 8;
            for (unsigned f = 0; f < kXcBuckets / 4; ++f) four[f] += f == bucket / 4 ? one : 0u;
        }
    }
    std::uint64_t mine = 0;
    for (unsigned f = 0; f < kXcBuckets / 4; ++f) {
        const unsigned even = __reduce_add_sync(kAllLanes, four[f] & 0x00FF00FFu);
        const unsigned odd = __reduce_add_sync(kAllLanes, four[f] >> 8 & 0x00FF00FFu);
        if (lane / 4 == f) mine = (lane % 2 == 0 ? even : odd) >> lane % 4 / 2 * 16 & 0xFFFFu;
    }
    if (lane < kXcBuckets) out[lane] = mine * words / sampled;
}

struct XcListShared {
    std::uint32_t counts[kXcCounts];
};

/// Lists what changes in one segment, from entry `entry` on, and counts it.
__device__ inline void list_changes(const XcListInput& in,
                                    const SegmentSpan& span,
                                    const std::uint8_t* marks,
                                    std::uint64_t entry,
                                    const XcLists& out,
                                    std::uint32_t* counts) {
    const unsigned lane = threadIdx.x % simt::kWarpLanes;
    for (unsigned start = 0; start < span.words; start += kWarpWords) {
        const unsigned at = start + lane * kGroupWords;
        const unsigned bits = at < span.words ? marks[at / kGroupWords] : 0u;
        if (__ballot_sync(kAllLanes, bits != 0) == 0) continue;
        const auto mine = static_cast<unsigned>(__popc(bits));
        const unsigned up_to = sum_up_to_lane(mine, lane);
        std::uint64_t k = entry + up_to - mine;
        for (unsigned left = bits; left != 0; left &= left - 1, ++k) {
            const std::uint64_t word =
                span.first + at + static_cast<unsigned>(__ffs(static_cast<int>(left))) - 1;
            const std::uint16_t base = __ldg(in.base + word);
            const std::uint16_t step = xc_step(base, __ldg(in.next + word));
            out.base[k] = base;
            out.step[k] = step;
            const auto size_class = 31u - static_cast<unsigned>(__clz(xc_step_size(step)));
            atomicAdd(counts + size_class * kXcExponents + in.context.exponent(base), 1u);
        }
        entry += __shfl_sync(kAllLanes, up_to, simt::kWarpLanes - 1);
    }
}

/// The grid may be of any size.
__global__ void __launch_bounds__(kXcListThreads) xc_list(XcListInput in, XcLists out) {
    auto& s = simt::shared<XcListShared>();
    for (unsigned i = threadIdx.x; i < kXcCounts; i += kXcListThreads) s.counts[i] = 0;
    SIMT_SYNC(xc_list_cleared, __syncthreads());
    unsigned index = blockIdx.x * kXcListWarps + threadIdx.x / simt::kWarpLanes;
    for (; index < in.segments; index += gridDim.x * kXcListWarps) {
        const SegmentSpan span = in.spans[index];
        count_buckets(in.base + span.first, span.words, in.context,
                      out.words + std::uint64_t{index} * kXcBuckets);
        list_changes(in, span, in.marks + std::uint64_t{index} * kMarkBytes,
                     out.scan.offsets[index], out, s.counts);
    }
    SIMT_SYNC(xc_list_counted, __syncthreads());
    for (unsigned i = threadIdx.x; i < kXcCounts; i += kXcListThreads)
        if (s.counts[i] != 0) atomicAdd(out.counts + i, s.counts[i]);
}

}  // namespace SIMT_TARGET
}  // namespace refit::kernels
