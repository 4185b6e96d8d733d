// The tiles that `refit bench kernels` works on, with what every operation must make of them.
//
// Words     of the weight field. `mixed`: tiles of every kind side by side, one where nothing
//           changes, one that is dense, one that does not end with a segment: to prove bits.
//           Otherwise tiles of one size in which about 3 % of the words change, by the law of a
//           trainer: to measure.
// Expected  from `reference`, a CPU device.
#pragma once

#include <cstdint>

#include "kernels/batch.hpp"

namespace refit {

struct KernelCaseSpec {
    std::uint64_t words = 0;  // a multiple of 8 tiles
    bool mixed = false;
    std::uint64_t seed = 1;
};

inline constexpr std::uint64_t kKernelTileWords = std::uint64_t{256} << 10;
inline constexpr std::uint64_t kMixedTiles = 8;

BatchCase make_kernel_case(Device& reference, const KernelCaseSpec& spec);

/// What floors are made of, summed over the tiles.
struct KernelCounts {
    std::uint64_t words = 0;
    std::uint64_t tiles = 0;
    std::uint64_t changed = 0;
    std::uint64_t segments = 0;
    std::uint64_t changing_words = 0;  // of segments with a change
    std::uint64_t sectors = 0;         // 32-byte pieces of a version with a change
    std::uint64_t positions = 0;       // of the staging list
    std::uint64_t stored = 0;          // words of the staging list
    std::uint64_t payload_bytes = 0;
};

KernelCounts count_kernel_case(const BatchCase& of);

}  // namespace refit
