// From how much each segment stores to where it begins: a sum over all segments before it, in one
// launch, by decoupled look-back (Merrill and Garland 2016).
//
// Model      a block takes a part of kScanThreads segments by ticket, in the order blocks start, so
//            that those it waits for are running. It publishes its own sum, adds up what the parts
//            before it have published, 32 of them at a time, and publishes the sum of all.
// Packed     one 64-bit number holds both counts and the state: positions in bits 0-30, words in
//            bits 31-61, state in bits 62-63. A part is read and written as a whole and says all
//            there is to know, so relaxed order is enough.
#pragma once

#include <cstdint>

#include "kernels/cuda/tables.hpp"
#include "kernels/cuda/words.cuh"

namespace refit::kernels {

inline constexpr unsigned kScanThreads = 128;
inline constexpr unsigned kScanWarps = kScanThreads / simt::kWarpLanes;
inline constexpr unsigned kStoredBits = 31;
inline constexpr unsigned long long kStoredMask = (1ull << kStoredBits) - 1;
inline constexpr unsigned long long kPartSum = 1ull << 62;  // of the part alone
inline constexpr unsigned long long kPartAll = 2ull << 62;  // of it and all before it
inline constexpr unsigned long long kPartCounts = (1ull << 62) - 1;

constexpr unsigned scan_parts(unsigned segments) {
    return (segments + kScanThreads - 1) / kScanThreads;
}

/// Device memory of a scan over `count` numbers. clear_scan() makes it ready.
struct ScanScratch {
    unsigned long long* offsets;  // [count + 1]
    unsigned long long* parts;    // [scan_parts(count)]
    unsigned* ticket;             // [1]
};

struct StoredCounts {
    std::uint32_t positions;
    std::uint32_t words;
};

inline namespace SIMT_TARGET {

__host__ __device__ inline StoredCounts unpack_stored(unsigned long long packed) {
    return {static_cast<std::uint32_t>(packed & kStoredMask),
            static_cast<std::uint32_t>(packed >> kStoredBits & kStoredMask)};
}

/// What a segment of `words` words with `changed` changes stores.
__host__ __device__ inline unsigned long long packed_stored(unsigned changed, unsigned words) {
    const unsigned long long both = 1ull << kStoredBits | 1u;
    return changed > kSparseMax ? std::uint64_t{words} << kStoredBits : changed * both;
}

/// Lets the launch before the scan make its memory ready: once for every number.
__device__ inline void clear_scan(const ScanScratch& scratch, unsigned index) {
    if (index % kScanThreads == 0) scratch.parts[index / kScanThreads] = 0;
    if (index == 0) *scratch.ticket = 0;
}

/// The counts of all parts before `part`, in every lane of the warp that calls.
__device__ inline unsigned long long look_back(unsigned long long* parts,
                                               unsigned part,
                                               unsigned lane) {
    unsigned long long before = 0;
    unsigned end = part;  // parts [end, part) are added up
    while (end > 0) {
        unsigned long long seen = kPartAll;  // of what is before part 0
        if (lane < end) {
            seen = simt::load(parts + end - 1 - lane, false);
            while (seen < kPartSum) {
                __nanosleep(20);
                seen = simt::load(parts + end - 1 - lane, false);
            }
        }
        const unsigned all = __ballot_sync(kAllLanes, seen >= kPartAll);
        const unsigned last = all != 0 ? static_cast<unsigned>(__ffs(static_cast<int>(all))) - 1
                                       : simt::kWarpLanes - 1;
        before += warp_sum(lane <= last ? seen & kPartCounts : 0ull);
        if (all != 0) break;
        end -= simt::kWarpLanes;
    }
    return before;
}

struct ScanShared {
    unsigned long long warp_sums[kScanWarps];
    unsigned long long before;
    unsigned part;
};

/// offsets[i]: the sum of value(0) .. value(i - 1), for i up to and with `count`. A block calls it.
template <class Value>
__device__ void scan_with(unsigned count, const ScanScratch& scratch, const Value& value) {
    auto& s = simt::shared<ScanShared>();
    const unsigned lane = threadIdx.x % simt::kWarpLanes;
    const unsigned warp = threadIdx.x / simt::kWarpLanes;
    if (threadIdx.x == 0) s.part = atomicAdd(scratch.ticket, 1u);
    SIMT_SYNC(scan_part_taken, __syncthreads());

    const unsigned part = s.part;
    const unsigned index = part * kScanThreads + threadIdx.x;
    const unsigned long long mine = index < count ? value(index) : 0ull;
    const unsigned long long up_to = sum_up_to_lane(mine, lane);
    if (lane == simt::kWarpLanes - 1) s.warp_sums[warp] = up_to;
    SIMT_SYNC(scan_warps_summed, __syncthreads());

    unsigned long long in_part = up_to - mine;
    unsigned long long sum = 0;
    for (unsigned w = 0; w < kScanWarps; ++w) {
        if (w < warp) in_part += s.warp_sums[w];
        sum += s.warp_sums[w];
    }
    if (warp == 0) {
        if (lane == 0 && part > 0) simt::store(scratch.parts + part, kPartSum | sum, false);
        const unsigned long long before = look_back(scratch.parts, part, lane);
        if (lane == 0) {
            simt::store(scratch.parts + part, kPartAll | (before + sum), false);
            s.before = before;
        }
    }
    SIMT_SYNC(scan_looked_back, __syncthreads());

    if (index >= count) return;
    scratch.offsets[index] = s.before + in_part;
    if (index + 1 == count) scratch.offsets[count] = s.before + in_part + mine;
}

/// For sums over what no launch of ours wrote: a thread per part.
__global__ void __launch_bounds__(kScanThreads) scan_clear(unsigned parts, ScanScratch scratch) {
    const unsigned part = blockIdx.x * kScanThreads + threadIdx.x;
    if (part < parts) clear_scan(scratch, part * kScanThreads);
}

/// Packed counts of what segments store.
__global__ void __launch_bounds__(kScanThreads) scan_staged(const std::uint32_t* changed,
                                                            const SegmentSpan* spans,
                                                            unsigned count,
                                                            ScanScratch scratch) {
    scan_with(count, scratch,
              [=](unsigned i) { return packed_stored(changed[i], spans[i].words); });
}

/// Plain sums, below 2^62.
__global__ void __launch_bounds__(kScanThreads)
    scan_counts(const std::uint32_t* counts, unsigned count, ScanScratch scratch) {
    scan_with(count, scratch, [=](unsigned i) { return 1ull * counts[i]; });
}

}  // namespace SIMT_TARGET
}  // namespace refit::kernels
