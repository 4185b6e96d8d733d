// How many words of two arrays differ, bits and not values.
#pragma once

#include <cstdint>

#include "kernels/cuda/words.cuh"

namespace refit::kernels {

inline constexpr unsigned kCompareThreads = 256;

inline namespace SIMT_TARGET {

/// Adds to *differing_words. The grid may be of any size.
__global__ void __launch_bounds__(kCompareThreads)
    compare_words(const std::uint16_t* __restrict__ a,
                  const std::uint16_t* __restrict__ b,
                  std::uint64_t words,
                  unsigned long long* differing_words) {
    const std::uint64_t step = std::uint64_t{gridDim.x} * kCompareThreads * kGroupWords;
    const std::uint64_t first =
        (std::uint64_t{blockIdx.x} * kCompareThreads + threadIdx.x) * kGroupWords;
    unsigned long long found = 0;
    for (std::uint64_t at = first; at < words; at += step) {
        const unsigned held = group_mask(words - at);
        const unsigned bits = differing(load_group(a, at, 1, held), load_group(b, at, 1, held));
        found += static_cast<unsigned>(__popc(bits));
    }
    found = warp_sum(found);
    if (threadIdx.x % simt::kWarpLanes == 0 && found != 0) atomicAdd(differing_words, found);
}

}  // namespace SIMT_TARGET
}  // namespace refit::kernels
