// A seeded stratified draw of whole tiles, and what they hold of two versions as a smaller model.
//
// Strata    tensor kind x layer group. The layer is the first all-digit component of a name; the
//           layers make four groups, tensors without one a group of their own.
// Draw      strata in seeded order, the tiles of each in seeded order; a tile is taken whenever the
//           words taken so far stay within the share of the words passed so far. Every stratum
//           gets its share to within one tile, and all together never more than `limit_words`.
// Model     tensors keep name and type; the rows of the drawn tiles stand one below the other, so
//           its grid has the tiles that were drawn. Runs out of rows longer than a tile make a
//           1-D tensor.
// Memory    4 bytes per drawn word.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "app/console.hpp"
#include "engine/coords/grid.hpp"
#include "engine/coords/weights.hpp"
#include "workloads/profile.hpp"

namespace refit {

/// Ascending tile numbers; none when no tile fits into `limit_words`.
std::vector<std::uint32_t> draw_tiles(const Catalog& catalog,
                                      const Grid& grid,
                                      std::uint64_t limit_words,
                                      std::uint64_t seed);

/// The catalog the drawn tiles make. `tiles` ascends.
Catalog catalog_of_tiles(const Catalog& catalog,
                         const Grid& grid,
                         std::span<const std::uint32_t> tiles);

/// Two versions of `catalog`.
struct Versions {
    const Weights& base;
    const Weights& next;
};

/// Reads the drawn tiles of both versions. `tiles` ascends.
WordPair read_tiles(const Console& console,
                    const Catalog& catalog,
                    const Grid& grid,
                    std::span<const std::uint32_t> tiles,
                    const Versions& versions);

}  // namespace refit
