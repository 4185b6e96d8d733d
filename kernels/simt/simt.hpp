// The one include of a kernel source: CUDA under nvcc; under a host compiler the executor, which
// gives the same names the same meaning on the CPU.
//
// Kernels    plain CUDA C++ in `inline namespace SIMT_TARGET`, so that both versions of a kernel
//            link into one binary. Two things are ours: shared<T>(), the block's one object in
//            dynamic shared memory, and launch(queue, shape, kernel, arguments...).
// Order      load(at, SIMT_ORDER(name)) acquires and store(at, value, SIMT_ORDER(name)) releases,
//            at device scope; with `false` they are relaxed. Every barrier stands in
//            SIMT_SYNC(name, ...). On the host a test takes these away by name, one at a time, and
//            fails if nobody notices.
// Vectors    load_vector() and store_vector() move 16 bytes at once. A misaligned one faults on a
//            device, and is a Misuse on the host.
// Waiting    a loop that waits for another thread calls __nanosleep, which is a yield on the host.
// Errors     a launch that fails throws std::runtime_error with the kernel's name.
#pragma once

#include "kernels/simt/shape.hpp"

#ifdef __CUDACC__

#include <cuda_runtime.h>

#include <cuda/atomic>
#include <stdexcept>
#include <string>

namespace refit::simt {

// Like the kernels: a program links both versions of every launch.
inline namespace device_target {

struct Queue {
    cudaStream_t stream = nullptr;
};

template <class T>
__device__ __forceinline__ T& shared() {
    extern __shared__ uint4 simt_arena[];
    return *reinterpret_cast<T*>(simt_arena);
}

template <class T>
__device__ __forceinline__ T load(T* at, bool acquire) {
    const cuda::atomic_ref<T, cuda::thread_scope_device> ref(*at);
    return ref.load(acquire ? cuda::memory_order_acquire : cuda::memory_order_relaxed);
}

template <class T>
__device__ __forceinline__ void store(T* at, T value, bool release) {
    const cuda::atomic_ref<T, cuda::thread_scope_device> ref(*at);
    ref.store(value, release ? cuda::memory_order_release : cuda::memory_order_relaxed);
}

__device__ __forceinline__ uint4 load_vector(const void* at) {
    return __ldg(static_cast<const uint4*>(at));
}

/// Spelled out, because nvcc takes apart a uint4 that was made of four values.
__device__ __forceinline__ void store_vector(void* at, const uint4& value) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(__cvta_generic_to_global(at)), "r"(value.x), "r"(value.y), "r"(value.z),
                   "r"(value.w)
                 : "memory");
}

inline void check(cudaError_t code, const LaunchShape& shape) {
    if (code == cudaSuccess) return;
    throw std::runtime_error(std::string("kernel ") + shape.kernel + ": " +
                             cudaGetErrorString(code));
}

template <class... Parameters, class... Arguments>
void launch(Queue& queue,
            const LaunchShape& shape,
            void (*kernel)(Parameters...),
            Arguments&&... arguments) {
    if (shape.shared_bytes > 48 * 1024) {
        check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(shape.shared_bytes)),
              shape);
    }
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(shape.grid.x, shape.grid.y, shape.grid.z);
    config.blockDim = dim3(shape.block.x, shape.block.y, shape.block.z);
    config.dynamicSmemBytes = shape.shared_bytes;
    config.stream = queue.stream;
    check(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...), shape);
}

}  // namespace device_target
}  // namespace refit::simt

#define SIMT_TARGET device_target
#define SIMT_SYNC(name, ...) __VA_ARGS__
#define SIMT_ORDER(name) true

#else

#include "kernels/simt/host.hpp"

#define SIMT_TARGET host_target
#define SIMT_SYNC(name, ...)                  \
    do {                                      \
        if (!::refit::simt::removed(#name)) { \
            __VA_ARGS__;                      \
        }                                     \
    } while (false)
#define SIMT_ORDER(name) (!::refit::simt::removed(#name))

#endif
