// The values of a record under their dotted keys, in the record's order.
//
// Keys      "refit.seconds"; of a list the item's `name`, else its `codec`, else its place from 1:
//           "rows.xor-zstd/uniform-3%.exact", "refits.1.seconds".
// Leaves    a figure ({"value", "unit", "provenance", "ci95"?}, each of its type) is one value; so
//           is everything that is neither an object nor a list.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace refit {

bool is_figure(const nlohmann::ordered_json& value);

void each_value(
    const nlohmann::ordered_json& record,
    const std::function<void(const std::string& key, const nlohmann::ordered_json& value)>& take);

}  // namespace refit
