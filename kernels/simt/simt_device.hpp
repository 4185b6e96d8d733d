// The kernels of kernels/cuda on the host executor as a Device: to prove them, not to be fast.
//
// Schedule  that of every launch; results do not depend on it.
// Speed     tens to hundreds of times slower than the CPU backend; it says nothing about a GPU.
#pragma once

#include <memory>

#include "kernels/device.hpp"
#include "kernels/simt/executor.hpp"

namespace refit {

/// `threads` 0 means one per usable core.
std::unique_ptr<Device> make_simt_device(unsigned threads = 0, const simt::Schedule& schedule = {});

}  // namespace refit
