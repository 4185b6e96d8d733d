#include "kernels/cuda/cuda_device.hpp"

#include <algorithm>
#include <thread>

#include "kernels/cpu/thread_pool.hpp"
#include "kernels/cuda/cuda_api.cuh"
#include "kernels/cuda/cuda_batches.cuh"
#include "kernels/cuda/driver.hpp"
#include "kernels/cuda/kernel_device.hpp"
#include "kernels/cuda/lane_memory.hpp"

namespace refit {
namespace {

using kernels::CudaApi;
using CudaMemory = kernels::LaneMemory<CudaApi>;

std::string device_name(int device) {
    cudaDeviceProp facts{};
    CudaApi::check(cudaGetDeviceProperties(&facts, device), "cudaGetDeviceProperties");
    return facts.name;
}

class CudaDevice final : public KernelDevice<CudaMemory> {
public:
    CudaDevice(const std::vector<int>& devices, unsigned threads)
        : KernelDevice(CudaMemory(CudaApi(), devices)), pool_(threads) {
        std::vector<std::string> names;
        for (const int device : devices) names.push_back(device_name(device));
        detail_ = cuda_devices_text(names) + ", " + std::to_string(threads) +
                  (threads == 1 ? " thread" : " threads");
    }

    std::string_view name() const override { return "cuda"; }
    std::string detail() const override { return detail_; }
    unsigned lanes() const override { return pool_.lanes(); }
    std::vector<StageTime> stage_times() const override { return memory().times(); }
    void for_each(std::uint64_t count,
                  const std::function<void(std::uint64_t, unsigned)>& task) override {
        pool_.for_each(count, task);
    }

private:
    ThreadPool pool_;
    std::string detail_;
};

}  // namespace

bool built_with_cuda() { return true; }

int cuda_runtime_version() { return CUDART_VERSION; }

std::string cuda_refusal(const std::vector<int>& devices) {
    for (const int device : devices) {
        cudaFuncAttributes facts{};
        cudaError_t code = cudaSetDevice(device);
        // Loads the kernels, which are not for every GPU.
        if (code == cudaSuccess) code = cudaFuncGetAttributes(&facts, kernels::diff_mark);
        if (code == cudaSuccess) continue;
        cudaGetLastError();
        return "CUDA device " + std::to_string(device) + ": " + cudaGetErrorString(code);
    }
    return {};
}

std::unique_ptr<Device> make_cuda_device(const std::vector<int>& devices, unsigned threads) {
    if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
    return std::make_unique<CudaDevice>(devices, threads);
}

}  // namespace refit
