// The CUDA runtime as kernels/cuda/lane.hpp wants it. Only calls that 12.4 and 13.x share.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>

#include "kernels/cuda/lane.hpp"
#include "kernels/cuda/nvtx.hpp"
#include "kernels/simt/simt.hpp"

namespace refit::kernels {

class CudaApi {
public:
    using Stream = cudaStream_t;
    using Event = cudaEvent_t;

    static void check(cudaError_t code, const char* call) {
        if (code == cudaSuccess) return;
        cudaGetLastError();  // else the next launch would report this one again
        throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(code));
    }

    void use(int device) const { check(cudaSetDevice(device), "cudaSetDevice"); }
    void use_quietly(int device) const { cudaSetDevice(device); }

    Stream make_stream() const {
        Stream stream = nullptr;
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
              "cudaStreamCreateWithFlags");
        return stream;
    }
    void drop(Stream stream) const { cudaStreamDestroy(stream); }

    Event make_event() const {
        Event event = nullptr;
        check(cudaEventCreate(&event), "cudaEventCreate");
        return event;
    }
    void drop(Event event) const { cudaEventDestroy(event); }

    std::byte* make_block(MemoryKind kind, std::size_t bytes) const {
        void* block = nullptr;
        if (kind == MemoryKind::device) {
            check(cudaMalloc(&block, bytes), "cudaMalloc");
        } else {
            check(cudaHostAlloc(&block, bytes, cudaHostAllocDefault), "cudaHostAlloc");
        }
        return static_cast<std::byte*>(block);
    }
    void drop(MemoryKind kind, std::byte* block) const {
        if (kind == MemoryKind::device) {
            cudaFree(block);
        } else {
            cudaFreeHost(block);
        }
    }

    void copy_in(Stream stream, void* to, const void* from, std::size_t bytes) const {
        check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
    }
    void copy_out(Stream stream, void* to, const void* from, std::size_t bytes) const {
        check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
    }

    void record(Event event, Stream stream) const {
        check(cudaEventRecord(event, stream), "cudaEventRecord");
    }
    double seconds_between(Event from, Event to) const {
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, from, to), "cudaEventElapsedTime");
        return static_cast<double>(milliseconds) / 1e3;
    }

    void wait(Stream stream) const {
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    }
    void wait_quietly(Stream stream) const { cudaStreamSynchronize(stream); }

    simt::Queue queue(Stream stream) const { return {stream}; }

    void begin_range(const char* name) const { REFIT_NVTX(nvtxRangePushA(name)); }
    void end_range() const { REFIT_NVTX(nvtxRangePop()); }
};

}  // namespace refit::kernels
