// Which tiles of a model a sampled run takes: whole tiles, drawn by strata.
//
// Strata   tiles of one tensor kind (experts apart) in one third of the layers: what a change
//          profile and the shape of the weights have in common. Tensors that are known not to
//          change at all stand apart. In the order of their first tile.
// Draw     seeded and without replacement; in proportion to words, but two tiles of every stratum
//          (all, if it has fewer), so that each has a spread to go by.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/coords/grid.hpp"

namespace refit {

struct Stratum {
    std::string name;  // "experts.down_proj, layers 20-39"
    std::vector<std::uint32_t> tiles;
    Words words;
};

/// `still`: by tensor, whether it never changes; empty: nobody knows.
std::vector<Stratum> stratify(const Catalog& catalog,
                              const Grid& grid,
                              const std::vector<bool>& still = {});

/// Tiles of each stratum, ascending; about `budget` words in all.
std::vector<std::vector<std::uint32_t>> draw_tiles(const std::vector<Stratum>& strata,
                                                   Words budget,
                                                   std::uint64_t seed);

}  // namespace refit
