// One GPU's memory for a collective: a stream of its own, and a pair of events around the work.
#include <cuda_runtime.h>

#include "engine/base/result.hpp"
#include "engine/collective/memory.hpp"

namespace refit {
namespace {

void check(cudaError_t code, const char* what) {
    if (code == cudaSuccess) return;
    cudaGetLastError();  // or the next call would report it again
    throw MachineError(std::string(what) + ": " + cudaGetErrorString(code));
}

class CudaMemory final : public CollectiveMemory {
public:
    explicit CudaMemory(int device) : device_(device) {
        check(cudaSetDevice(device), "cudaSetDevice");
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
        check(cudaEventCreate(&start_), "event");
        check(cudaEventCreate(&end_), "event");
    }
    CudaMemory(const CudaMemory&) = delete;
    CudaMemory& operator=(const CudaMemory&) = delete;
    ~CudaMemory() override {
        if (end_ != nullptr) cudaEventDestroy(end_);
        if (start_ != nullptr) cudaEventDestroy(start_);
        if (stream_ != nullptr) cudaStreamDestroy(stream_);
    }

    std::string detail() const override {
        cudaDeviceProp properties{};
        check(cudaGetDeviceProperties(&properties, device_), "device properties");
        return std::string(properties.name) + ", device " + std::to_string(device_);
    }

    std::byte* allocate(std::size_t bytes) override {
        void* block = nullptr;
        check(cudaMalloc(&block, bytes > 0 ? bytes : 1), "device memory");
        return static_cast<std::byte*>(block);
    }
    void release(std::byte* block) override { cudaFree(block); }

    void write(std::byte* to, std::span<const std::byte> from) override {
        if (from.empty()) return;
        check(cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyHostToDevice, stream_),
              "copy to the device");
        check(cudaStreamSynchronize(stream_), "copy to the device");
    }
    void read(std::span<std::byte> to, const std::byte* from) override {
        if (to.empty()) return;
        check(cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDeviceToHost, stream_),
              "copy from the device");
        check(cudaStreamSynchronize(stream_), "copy from the device");
    }
    void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
        if (bytes == 0) return;
        check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_),
              "copy on the device");
    }

    void* queue() override { return stream_; }
    bool idle() override {
        const cudaError_t code = cudaStreamQuery(stream_);
        if (code == cudaErrorNotReady) return false;
        check(code, "stream");
        return true;
    }

    void mark_start() override { check(cudaEventRecord(start_, stream_), "event"); }
    void mark_end() override { check(cudaEventRecord(end_, stream_), "event"); }
    std::optional<double> marked_seconds() override {
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, start_, end_), "event");
        return milliseconds / 1e3;
    }

private:
    int device_;
    cudaStream_t stream_ = nullptr;
    cudaEvent_t start_ = nullptr;
    cudaEvent_t end_ = nullptr;
};

}  // namespace

std::unique_ptr<CollectiveMemory> make_cuda_memory(int device) {
    return std::make_unique<CudaMemory>(device);
}

int cuda_device_count() {
    int count = 0;
    const cudaError_t code = cudaGetDeviceCount(&count);
    cudaGetLastError();
    if (code == cudaSuccess) return count;
    throw MachineError(std::string("no GPU: ") + cudaGetErrorString(code));
}

}  // namespace refit
