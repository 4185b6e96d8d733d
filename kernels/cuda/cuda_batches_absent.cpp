// What cuda_batches.hpp declares, where nvcc is missing.
#include <stdexcept>

#include "kernels/cuda/cuda_batches.hpp"

namespace refit {

std::unique_ptr<BatchDevice> make_cuda_batches(int /*device*/) {
    throw std::runtime_error("this build has no CUDA");
}

}  // namespace refit
