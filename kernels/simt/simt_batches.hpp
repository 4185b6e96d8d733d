// Batches of the kernels on the host executor: the path that a GPU takes, without its speed.
#pragma once

#include <memory>

#include "kernels/batch.hpp"
#include "kernels/simt/executor.hpp"

namespace refit {

std::unique_ptr<BatchDevice> make_simt_batches(const simt::Schedule& schedule = {});

}  // namespace refit
