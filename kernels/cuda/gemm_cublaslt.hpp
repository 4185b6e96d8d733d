// The Gemm of a GPU: cuBLASLt on one device. Never linked: driver and library are looked for by the
// first call, the driver first, so a machine without a GPU opens nothing of theirs.
#pragma once

#include <memory>
#include <string>

#include "kernels/cuda/device_gemm.hpp"

namespace refit {

struct OpenedGpuGemm {
    std::unique_ptr<DeviceGemm> gemm;
    std::string device;      // "NVIDIA H200"
    std::string pci_bus_id;  // "0000:19:00.0", as NVML finds it
    std::string trouble;     // one line, where there is no gemm; of the library: "cuBLASLt: ..."
};

/// `device` as CUDA numbers them. Never throws for a machine that lacks something.
OpenedGpuGemm open_cublaslt_gemm(int device = 0);

}  // namespace refit
