// What a warp intrinsic gives each lane once all lanes of its mask have called it.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/simt/executor.hpp"

namespace refit::simt {

using LaneValues = std::array<std::uint64_t, kWarpLanes>;

/// The CUDA name of `op`, for messages.
const char* warp_op_name(WarpOp op);

inline bool is_shuffle(WarpOp op) { return op >= WarpOp::shuffle; }

/// Results of every `op` but the shuffles, of the lanes in `mask`.
LaneValues warp_results(WarpOp op, unsigned mask, const LaneValues& values);

}  // namespace refit::simt
