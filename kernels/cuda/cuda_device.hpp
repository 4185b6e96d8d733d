// The kernels of this folder on GPUs as a Device: backend `cuda`. Without nvcc it is not built, and
// these functions say so.
//
// Driver    nothing here is touched, and no library opened, before the first of these calls.
// Memory    weights and tiles are those of the host; a call takes its tile to a device and back, so
//           neither has to fit into device memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/device.hpp"

namespace refit {

bool built_with_cuda();

/// As CUDA numbers it: 13000 is 13.0. 0 in a build without.
int cuda_runtime_version();

/// Why the runtime cannot use one of these devices; empty where it can.
std::string cuda_refusal(const std::vector<int>& devices);

/// Lane l works on device l mod n. `threads` 0 means one per usable core.
/// What fails, now or later: std::runtime_error with the call and CUDA's text.
std::unique_ptr<Device> make_cuda_device(const std::vector<int>& devices, unsigned threads = 0);

}  // namespace refit
