#include "kernels/cuda/gemm_cublaslt.hpp"

#include "kernels/cuda/cublaslt_gemm.hpp"
#include "kernels/cuda/cuda_api.cuh"
#include "kernels/cuda/cuda_device.hpp"
#include "kernels/cuda/driver.hpp"

namespace refit {

OpenedGpuGemm open_cublaslt_gemm(int device) {
    OpenedGpuGemm opened;
    opened.trouble = cuda_trouble(find_cuda_driver(cuda_runtime_version()));
    if (opened.trouble.empty()) opened.trouble = cuda_refusal({device});
    if (!opened.trouble.empty()) return opened;
    try {
        const kernels::CudaApi api;
        api.use(device);
        cudaDeviceProp facts{};
        api.check(cudaGetDeviceProperties(&facts, device), "cudaGetDeviceProperties");
        char bus[32] = {};
        api.check(cudaDeviceGetPCIBusId(bus, sizeof(bus), device), "cudaDeviceGetPCIBusId");
        OpenedCublasLt cublaslt = open_cublaslt(cublaslt_names());
        opened.trouble = cublaslt.trouble;
        if (cublaslt.library == nullptr) return opened;
        opened.gemm = std::make_unique<kernels::CublasLtGemm<kernels::CudaApi>>(
            api, device, std::move(cublaslt.library));
        opened.device = facts.name;
        opened.pci_bus_id = bus;
    } catch (const std::runtime_error& failure) {
        opened.trouble = failure.what();
    }
    return opened;
}

}  // namespace refit
