// The inner loops of the blocked product, compiled once per instruction set.
//
// Panels   A in strips of `rows`, B in strips of `columns`, each strip with its k outermost and
//          widened to FP32, so that the tile loop reads both front to back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace refit {

struct GemmOps {
    std::size_t rows = 0;     // of the tile of C that stays in registers
    std::size_t columns = 0;  // at most kGemmTileColumnsMax

    /// Packs k rows of one strip of B, `count` <= columns words of each; the others become 0.
    void (*pack_columns)(
        const std::uint16_t* b, std::size_t stride, std::size_t k, std::size_t count, float* out);

    /// Adds the product of two strips, k long, to a whole tile of C, or stores it.
    void (*tile)(std::size_t k, const float* a, const float* b, float* c, std::size_t stride);
    void (*tile_add)(std::size_t k, const float* a, const float* b, float* c, std::size_t stride);

    /// Multiply-adds in registers; returns the FLOP done.
    std::uint64_t (*multiply_adds)(std::uint64_t rounds);
};

inline constexpr std::size_t kGemmTileRowsMax = 12;
inline constexpr std::size_t kGemmTileColumnsMax = 32;

struct GemmLevel {
    std::string name;
    GemmOps ops;
};

/// What this machine can run of what was compiled, best first; without the plain loop.
std::vector<GemmLevel> gemm_levels();

}  // namespace refit
