// What the host decides before it launches the kernel of the weight field: rows and runs. Errors as
// in kernels/cuda/plan.hpp: limits that are broken are bugs of the caller and abort.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/field_tables.hpp"
#include "kernels/simt/shape.hpp"
#include "kernels/weight_field.hpp"

namespace refit::kernels {

/// Words [first, first + words) of a tensor, into words [at, at + words) of both outputs.
struct FieldPiece {
    FieldTensor tensor;
    FieldSpan span;
    std::uint64_t first = 0;
    std::uint64_t words = 0;
    std::uint64_t at = 0;
};

struct FieldPlan {
    std::vector<FieldRow> rows;
    std::vector<FieldWarp> warps;
};

FieldPlan plan_field(std::span<const FieldPiece> pieces);

simt::LaunchShape field_shape(std::uint32_t warps);

}  // namespace refit::kernels
