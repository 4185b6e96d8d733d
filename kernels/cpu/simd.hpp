// The vector inner loops, compiled once per instruction set and chosen by name at run time.
//
// Exact    every level computes the same numbers: sums are modulo 2^64, so order is free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cpu/column_keys.hpp"
#include "kernels/cpu/xc_ops.hpp"
#include "kernels/device.hpp"

namespace refit {

/// changed_positions() may write this many words past the positions it counts.
inline constexpr std::size_t kPositionSlack = 8;

struct SimdOps {
    /// How many leading words are known to be equal: n when all are, else a number below n that is
    /// not above the index of the first difference.
    std::size_t (*equal_prefix)(const std::uint16_t* a, const std::uint16_t* b, std::size_t n);

    /// Counts the words of one segment that differ (n <= 4096). Up to kSparseMax of them, also
    /// writes their positions, ascending.
    std::size_t (*changed_positions)(const std::uint16_t* base,
                                     const std::uint16_t* next,
                                     std::size_t n,
                                     std::uint16_t* positions);

    /// Computes the keys of a range.
    void (*fill_keys)(const KeyRange& range, ColumnKeys& keys);

    /// Sum of key * word over a run, mod 2^64. Fetches what lies `ahead` words further into the
    /// cache on the way; that need not exist.
    std::uint64_t (*dot)(const KeyRun& run, const std::uint16_t* words, std::size_t ahead);

    /// The same of two rows of words at once, for less than two of the former.
    TileDigests (*dot_pair)(const KeyRun& run,
                            const std::uint16_t* base,
                            const std::uint16_t* next,
                            std::size_t ahead);
};

struct SimdLevel {
    std::string name;
    SimdOps ops;
    XcOps xc;
};

/// What this machine can run of what was compiled, best first.
std::vector<SimdLevel> simd_levels();

}  // namespace refit
