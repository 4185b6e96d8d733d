// Batches of the kernels on a GPU, timed by its events.
#pragma once

#include <memory>

#include "kernels/batch.hpp"

namespace refit {

/// Throws std::runtime_error with the driver's reason where there is no such device.
std::unique_ptr<BatchDevice> make_cuda_batches(int device);

}  // namespace refit
