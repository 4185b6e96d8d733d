// The share of words that a refit changed, by layer and kind of tensor: what the heat map of a run
// is drawn from.
//
// Measured  what `refits[].changed_by_layer` of the record has. A sampled run has no share of what
//           its sample missed: absent, never 0.
// Means     of a kind or a layer: over its measured cells, weighted by the words of each.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "viz/tensor_view.hpp"

namespace refit {

struct RateMap {
    std::string of;                               // "refit 2", "the mean of 2 refits"
    std::vector<std::optional<double>> cells;     // as TensorMap::cells
    std::vector<std::optional<double>> of_kind;   // as TensorMap::columns
    std::vector<std::optional<double>> of_layer;  // as TensorMap::rows
    std::size_t measured = 0;                     // cells
    double most = 0;                              // of the cells
};

/// Of the refit that makes `version`; 0, or one the record does not have: the mean of all. A record
/// without shares by layer measures nothing.
RateMap rate_map(const nlohmann::ordered_json& record, const TensorMap& map, std::uint64_t version);

/// In percent, at most four characters, without the sign: "12.3", "3.02", "0.03".
std::string share_text(double share);

}  // namespace refit
