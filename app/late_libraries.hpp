// GPU libraries that this program opens on first use, asked for their versions.
//
// Opened    as kernels/cuda/late_open.hpp finds them; they stay open.
#pragma once

#include <cstdint>
#include <string>

namespace refit {

enum class LateLibrary : std::uint8_t { nccl, cublaslt, nvml };

/// "2.28.9 (libnccl.so.2)", or "not here".
std::string late_library_state(LateLibrary library);

}  // namespace refit
