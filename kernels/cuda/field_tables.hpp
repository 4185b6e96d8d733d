// What the kernel of the weight field reads: plain structs, the same on host and device.
#pragma once

#include <cstdint>

#include "kernels/weight_field.hpp"

namespace refit::kernels {

inline constexpr std::uint32_t kFieldRunWords = 4096;  // at most, for one warp

/// Words of one row, into words [at, at + words) of both outputs.
struct FieldWarp {
    std::uint64_t at;
    std::uint32_t row;  // in the table of rows
    std::uint32_t column;
    std::uint32_t words;
    FieldLaw law;
};

}  // namespace refit::kernels
