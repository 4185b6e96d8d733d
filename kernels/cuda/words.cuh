// Eight words at a time: one 16-byte access where memory allows, single words where it does not.
#pragma once

#include <cstdint>

#include "kernels/simt/simt.hpp"

namespace refit::kernels {

inline constexpr unsigned kAllLanes = 0xFFFFFFFFu;
inline constexpr unsigned kGroupWords = 8;
inline constexpr unsigned kWholeGroup = 0xFF;  // a mask of the words of a group

inline namespace SIMT_TARGET {

struct Group {
    std::uint32_t pairs[4];  // the lower word of a pair is the earlier one

    __device__ std::uint16_t word(unsigned i) const {
        return static_cast<std::uint16_t>(pairs[i / 2] >> (i % 2 * 16));
    }
};

__device__ __forceinline__ bool is_aligned(const void* at) {
    return reinterpret_cast<std::uintptr_t>(at) % 16 == 0;
}

/// The first `count` words of a group, at most 8.
__device__ __forceinline__ unsigned group_mask(std::uint64_t count) {
    return count >= kGroupWords ? kWholeGroup : (1u << count) - 1;
}

/// Words first + i * stride of `words` for the bits i of `held`; the others are 0. `first` itself
/// may lie outside the memory, even below it.
__device__ __forceinline__ Group load_group(const std::uint16_t* words,
                                            std::uint64_t first,
                                            std::uint64_t stride,
                                            unsigned held) {
    if (held == kWholeGroup && stride == 1 && is_aligned(words + first)) {
        const uint4 all = simt::load_vector(words + first);
        return {{all.x, all.y, all.z, all.w}};
    }
    Group group{};
    for (unsigned i = 0; i < kGroupWords; ++i) {
        if ((held >> i & 1u) == 0) continue;
        group.pairs[i / 2] |= std::uint32_t{__ldg(words + (first + i * stride))} << (i % 2 * 16);
    }
    return group;
}

__device__ __forceinline__ void store_group(std::uint16_t* words,
                                            std::uint64_t first,
                                            std::uint64_t stride,
                                            unsigned held,
                                            const Group& group) {
    if (held == kWholeGroup && stride == 1 && is_aligned(words + first)) {
        simt::store_vector(words + first,
                           {group.pairs[0], group.pairs[1], group.pairs[2], group.pairs[3]});
        return;
    }
    for (unsigned i = 0; i < kGroupWords; ++i)
        if (held >> i & 1u) words[first + i * stride] = group.word(i);
}

/// Bit i: word i of the two groups differs.
__device__ __forceinline__ unsigned differing(const Group& a, const Group& b) {
    unsigned bits = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const std::uint32_t difference = a.pairs[i] ^ b.pairs[i];
        bits |= ((difference & 0xFFFFu) != 0 ? 1u : 0u) << (2 * i);
        bits |= (difference >> 16 != 0 ? 1u : 0u) << (2 * i + 1);
    }
    return bits;
}

/// Sum of `value` over this lane and those below it. All lanes of the warp call.
template <class T>
__device__ __forceinline__ T sum_up_to_lane(T value, unsigned lane) {
    for (unsigned distance = 1; distance < simt::kWarpLanes; distance *= 2) {
        const T below = __shfl_up_sync(kAllLanes, value, distance);
        if (lane >= distance) value += below;
    }
    return value;
}

/// The sum over the warp, in every lane.
__device__ __forceinline__ unsigned long long warp_sum(unsigned long long value) {
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_xor_sync(kAllLanes, value, distance);
    return value;
}

}  // namespace SIMT_TARGET
}  // namespace refit::kernels
