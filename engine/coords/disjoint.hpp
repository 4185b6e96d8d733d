// Disjointness: no two canonical words of a rank share a place in its memory.
//
// Method   A box's local words are runs (progressions) a fixed distance apart. Boxes whose local
//          hulls overlap are compared run by run, exactly; boxes side by side cost only a sort.
// Errors   invalid_input: names the rank, a local word and its two owners. unsupported: boxes
//          interleave in more than kRunPairsMax pairs of runs.
#pragma once

#include <cstdint>

#include "engine/coords/shard_map.hpp"

namespace refit {

inline constexpr std::uint64_t kRunPairsMax = std::uint64_t{1} << 22;

Status prove_disjoint(const Catalog& catalog, const RankMap& map, std::uint32_t rank);

}  // namespace refit
