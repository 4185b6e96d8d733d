// What cuda_device.hpp declares, where nvcc is missing.
#include <stdexcept>

#include "kernels/cuda/cuda_device.hpp"

namespace refit {
namespace {

constexpr const char* kAbsent = "this build has no CUDA";

}  // namespace

bool built_with_cuda() { return false; }

int cuda_runtime_version() { return 0; }

std::string cuda_refusal(const std::vector<int>& /*devices*/) { return kAbsent; }

std::unique_ptr<Device> make_cuda_device(const std::vector<int>& /*devices*/,
                                         unsigned /*threads*/) {
    throw std::runtime_error(kAbsent);
}

}  // namespace refit
