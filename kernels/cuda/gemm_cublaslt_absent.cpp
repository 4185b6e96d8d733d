// What gemm_cublaslt.hpp declares, where nvcc is missing.
#include "kernels/cuda/gemm_cublaslt.hpp"

namespace refit {

OpenedGpuGemm open_cublaslt_gemm(int /*device*/) {
    OpenedGpuGemm opened;
    opened.trouble = "this build has no CUDA";
    return opened;
}

}  // namespace refit
