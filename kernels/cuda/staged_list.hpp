// The staging list between the form of the Device port and that of the kernels.
//
// Exact    to_changes(to_staged(c), ...) is c: segments that do not change are not in either.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/changes.hpp"
#include "kernels/cuda/tables.hpp"

namespace refit::kernels {

/// Segments of one tile, number 0 of its batch; their positions and words are those of `changes`.
std::vector<StagedSegment> to_staged(const Changes& changes);

/// What kernels staged, as host memory.
struct StagedResult {
    std::span<const StagedSegment> segments;  // in any number of tiles
    std::span<const std::uint16_t> positions;
    std::span<const std::uint16_t> words;
};

/// The list of one tile. Replaces `out`.
void to_changes(const StagedResult& staged, std::uint32_t tile, Changes& out);

}  // namespace refit::kernels
