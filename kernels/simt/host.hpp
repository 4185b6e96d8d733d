// The CUDA names that kernels use, as the host executor understands them.
//
// Types      uint4 may alias anything, so that 16-byte loads of words are as legal as on a device.
// Atomics    read-modify-writes are relaxed, as in CUDA.
// Missing    textures, thread fences, cooperative groups, inline PTX: a kernel that needs one keeps
//            it behind a small function with a portable twin.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/simt/executor.hpp"

#define __global__ inline  // a header may be in several sources; nvcc has one per binary
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define threadIdx (::refit::simt::ids().thread)
#define blockIdx (::refit::simt::ids().block)
#define blockDim (::refit::simt::ids().block_dim)
#define gridDim (::refit::simt::ids().grid_dim)

namespace refit {

struct alignas(16) [[gnu::may_alias]] uint4 {
    unsigned x;
    unsigned y;
    unsigned z;
    unsigned w;
};

}  // namespace refit

namespace refit::simt {

template <class T>
T& shared(Place place = Place::current()) {
    static_assert(std::is_trivially_destructible_v<T>);
    return *static_cast<T*>(shared_memory(sizeof(T), place));
}

template <class T>
T load(T* at, bool acquire) {
    const std::atomic_ref<T> ref(*at);
    return acquire ? ref.load(std::memory_order_acquire) : ref.load(std::memory_order_relaxed);
}

template <class T>
void store(T* at, T value, bool release) {
    const std::atomic_ref<T> ref(*at);
    if (release) {
        ref.store(value, std::memory_order_release);
    } else {
        ref.store(value, std::memory_order_relaxed);
    }
}

inline uint4 load_vector(const void* at, Place place = Place::current()) {
    check_aligned(at, sizeof(uint4), place);
    return *static_cast<const uint4*>(at);
}

inline void store_vector(void* at, const uint4& value, Place place = Place::current()) {
    check_aligned(at, sizeof(uint4), place);
    *static_cast<uint4*>(at) = value;
}

template <class... Parameters, class... Arguments>
void launch(Queue& queue,
            const LaunchShape& shape,
            void (*kernel)(Parameters...),
            Arguments&&... arguments) {
    static_assert((std::is_trivially_copyable_v<Parameters> && ...));
    run(queue, shape, [&] { kernel(Parameters(arguments)...); });
}

template <class T>
T shuffled(WarpOp op, unsigned mask, T value, unsigned lane, Place place) {
    static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
    WarpCall call{op, mask, 0, lane};
    std::memcpy(&call.value, &value, sizeof(T));
    const std::uint64_t found = warp_call(call, place);
    std::memcpy(&value, &found, sizeof(T));
    return value;
}

/// First lane of the calling lane's group of `width` lanes.
inline unsigned group_first(int width) { return ids().lane & ~(static_cast<unsigned>(width) - 1); }

}  // namespace refit::simt

namespace refit {

// The names below are CUDA's, so they follow its spelling.

inline void __syncthreads(simt::Place place = simt::Place::current()) { simt::barrier(place); }

inline void __syncwarp(unsigned mask = ~0u, simt::Place place = simt::Place::current()) {
    simt::warp_call({simt::WarpOp::sync, mask}, place);
}

inline unsigned __ballot_sync(unsigned mask,
                              int predicate,
                              simt::Place place = simt::Place::current()) {
    return static_cast<unsigned>(
        simt::warp_call({simt::WarpOp::ballot, mask, predicate != 0}, place));
}

inline int __all_sync(unsigned mask, int predicate, simt::Place place = simt::Place::current()) {
    return simt::warp_call({simt::WarpOp::all, mask, predicate != 0}, place) != 0;
}

inline int __any_sync(unsigned mask, int predicate, simt::Place place = simt::Place::current()) {
    return simt::warp_call({simt::WarpOp::any, mask, predicate != 0}, place) != 0;
}

template <class T>
unsigned __match_any_sync(unsigned mask, T value, simt::Place place = simt::Place::current()) {
    static_assert(std::is_integral_v<T>);
    const auto bits = static_cast<std::uint64_t>(value);
    return static_cast<unsigned>(simt::warp_call({simt::WarpOp::match_any, mask, bits}, place));
}

#define REFIT_SIMT_REDUCE(name, operation)                                   \
    inline unsigned name(unsigned mask, unsigned value,                      \
                         simt::Place place = simt::Place::current()) {       \
        return static_cast<unsigned>(                                        \
            simt::warp_call({simt::WarpOp::operation, mask, value}, place)); \
    }
REFIT_SIMT_REDUCE(__reduce_add_sync, reduce_add)
REFIT_SIMT_REDUCE(__reduce_min_sync, reduce_min)
REFIT_SIMT_REDUCE(__reduce_max_sync, reduce_max)
REFIT_SIMT_REDUCE(__reduce_and_sync, reduce_and)
REFIT_SIMT_REDUCE(__reduce_or_sync, reduce_or)
REFIT_SIMT_REDUCE(__reduce_xor_sync, reduce_xor)
#undef REFIT_SIMT_REDUCE

template <class T>
T __shfl_sync(
    unsigned mask, T value, int lane, int width = 32, simt::Place place = simt::Place::current()) {
    const unsigned from = static_cast<unsigned>(lane) & (static_cast<unsigned>(width) - 1);
    return simt::shuffled(simt::WarpOp::shuffle, mask, value, simt::group_first(width) + from,
                          place);
}

template <class T>
T __shfl_up_sync(unsigned mask,
                 T value,
                 unsigned delta,
                 int width = 32,
                 simt::Place place = simt::Place::current()) {
    const unsigned lane = simt::ids().lane;
    const bool inside = lane - simt::group_first(width) >= delta;
    return simt::shuffled(simt::WarpOp::shuffle_up, mask, value, inside ? lane - delta : lane,
                          place);
}

template <class T>
T __shfl_down_sync(unsigned mask,
                   T value,
                   unsigned delta,
                   int width = 32,
                   simt::Place place = simt::Place::current()) {
    const unsigned lane = simt::ids().lane;
    const unsigned end = simt::group_first(width) + static_cast<unsigned>(width);
    const bool inside = delta < end - lane;
    return simt::shuffled(simt::WarpOp::shuffle_down, mask, value, inside ? lane + delta : lane,
                          place);
}

template <class T>
T __shfl_xor_sync(unsigned mask,
                  T value,
                  int lane_mask,
                  int width = 32,
                  simt::Place place = simt::Place::current()) {
    const unsigned lane = simt::ids().lane;
    const unsigned from = lane ^ static_cast<unsigned>(lane_mask);
    const unsigned end = simt::group_first(width) + static_cast<unsigned>(width);
    return simt::shuffled(simt::WarpOp::shuffle_xor, mask, value, from < end ? from : lane, place);
}

inline void __nanosleep(unsigned /*nanoseconds*/, simt::Place place = simt::Place::current()) {
    simt::yield(place);
}

inline int __popc(unsigned value) { return std::popcount(value); }
inline int __popcll(unsigned long long value) { return std::popcount(value); }
inline int __clz(int value) { return std::countl_zero(static_cast<unsigned>(value)); }
inline int __clzll(long long value) {
    return std::countl_zero(static_cast<unsigned long long>(value));
}
inline int __ffs(int value) { return __builtin_ffs(value); }
inline int __ffsll(long long value) { return __builtin_ffsll(value); }

inline unsigned __brev(unsigned value) {
    unsigned reversed = 0;
    for (unsigned bit = 0; bit < 32; ++bit) reversed |= (value >> bit & 1u) << (31 - bit);
    return reversed;
}

inline unsigned __umulhi(unsigned a, unsigned b) {
    return static_cast<unsigned>(std::uint64_t{a} * b >> 32);
}

inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<unsigned long long>(Wide{a} * b >> 64);
}

template <class T>
T __ldg(const T* at) {
    return *at;
}

template <class T>
T atomicAdd(T* at, T value) {
    return std::atomic_ref<T>(*at).fetch_add(value, std::memory_order_relaxed);
}

template <class T>
T atomicXor(T* at, T value) {
    return std::atomic_ref<T>(*at).fetch_xor(value, std::memory_order_relaxed);
}

template <class T>
T atomicOr(T* at, T value) {
    return std::atomic_ref<T>(*at).fetch_or(value, std::memory_order_relaxed);
}

template <class T>
T atomicMax(T* at, T value) {
    const std::atomic_ref<T> ref(*at);
    T before = ref.load(std::memory_order_relaxed);
    while (before < value && !ref.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
    }
    return before;
}

}  // namespace refit
