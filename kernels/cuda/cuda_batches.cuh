// Batches of the kernels on a GPU. Part of the one source that nvcc compiles: a kernel has one
// definition in a binary.
//
// Memory    plain device memory, one stream. Everything a batch needs is there before it is timed.
// Time      of the events around the launches of one run: the gaps between them count, what a run
//           has to clear before does not.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_api.cuh"
#include "kernels/cuda/cuda_batches.hpp"
#include "kernels/cuda/kernel_batches.hpp"

namespace refit {
namespace {

class BatchMemory {
public:
    explicit BatchMemory(int device) : device_(device) {}

    class Session {
    public:
        explicit Session(const BatchMemory& memory) {
            kernels::CudaApi::check(cudaSetDevice(memory.device_), "cudaSetDevice");
            kernels::CudaApi::check(
                cudaStreamCreateWithFlags(&queue_.stream, cudaStreamNonBlocking), "stream");
            kernels::CudaApi::check(cudaEventCreate(&begin_), "event");
            kernels::CudaApi::check(cudaEventCreate(&end_), "event");
        }
        Session(const Session&) = delete;
        Session& operator=(const Session&) = delete;
        ~Session() {
            cudaStreamSynchronize(queue_.stream);
            for (void* at : blocks_) cudaFree(at);
            if (end_ != nullptr) cudaEventDestroy(end_);
            if (begin_ != nullptr) cudaEventDestroy(begin_);
            cudaStreamDestroy(queue_.stream);
        }

        simt::Queue& queue() { return queue_; }

        template <class T>
        const T* in(std::span<const T> from) {
            return values(from);
        }
        template <class T>
        T* fresh(std::size_t count) {
            void* at = nullptr;
            kernels::CudaApi::check(cudaMalloc(&at, std::max<std::size_t>(count * sizeof(T), 16)),
                                    kNoDeviceMemory.data());
            blocks_.push_back(at);
            return static_cast<T*>(at);
        }
        template <class T>
        T* values(std::span<const T> from) {
            T* const at = fresh<T>(from.size());
            copy_bytes(at, from.data(), from.size_bytes(), cudaMemcpyHostToDevice);
            return at;
        }
        template <class T>
        std::span<const T> fetch(const T* at, std::size_t count) {
            fetched_.push_back(std::make_unique_for_overwrite<std::byte[]>(count * sizeof(T)));
            std::byte* const bytes = fetched_.back().get();
            copy_bytes(bytes, at, count * sizeof(T), cudaMemcpyDeviceToHost);
            finish();
            return {reinterpret_cast<const T*>(bytes), count};
        }
        void finish() { kernels::CudaApi::check(cudaStreamSynchronize(queue_.stream), "kernel"); }
        void fill(void* at, unsigned char byte, std::size_t count) {
            kernels::CudaApi::check(cudaMemsetAsync(at, byte, count, queue_.stream), "fill");
        }
        void copy(void* to, const void* from, std::size_t bytes) {
            copy_bytes(to, from, bytes, cudaMemcpyDeviceToDevice);
        }
        template <class Work>
        std::optional<double> timed(const Work& work) {
            fetched_.clear();
            kernels::CudaApi::check(cudaEventRecord(begin_, queue_.stream), "event");
            work();
            kernels::CudaApi::check(cudaEventRecord(end_, queue_.stream), "event");
            kernels::CudaApi::check(cudaEventSynchronize(end_), "kernel");
            float milliseconds = 0;
            kernels::CudaApi::check(cudaEventElapsedTime(&milliseconds, begin_, end_), "event");
            return 1e-3 * static_cast<double>(milliseconds);
        }

    private:
        void copy_bytes(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
            if (bytes > 0)
                kernels::CudaApi::check(cudaMemcpyAsync(to, from, bytes, kind, queue_.stream),
                                        "copy");
        }

        simt::Queue queue_;
        cudaEvent_t begin_ = nullptr;
        cudaEvent_t end_ = nullptr;
        std::vector<void*> blocks_;
        std::vector<std::unique_ptr<std::byte[]>> fetched_;
    };

private:
    int device_;
};

class CudaBatches final : public KernelBatches<BatchMemory> {
public:
    explicit CudaBatches(int device) : KernelBatches(BatchMemory(device)) {
        cudaDeviceProp properties{};
        kernels::CudaApi::check(cudaGetDeviceProperties(&properties, device), "cuda device");
        detail_ = std::string(properties.name) + ", sm_" + std::to_string(properties.major) +
                  std::to_string(properties.minor) + ", " +
                  std::to_string(properties.multiProcessorCount) + " SMs";
    }

    std::string_view name() const override { return "cuda"; }
    std::string detail() const override { return detail_; }

private:
    std::string detail_;
};

}  // namespace

std::unique_ptr<BatchDevice> make_cuda_batches(int device) {
    return std::make_unique<CudaBatches>(device);
}

}  // namespace refit
