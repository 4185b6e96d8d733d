// Layouts: how a family of trainers or serving engines cuts a canonical checkpoint over ranks.
//
// Names    family:key<n>, as in the scenario and on the command line:
//          tp:tp4          tensor parallel: q/k/v/gate/up projections, embeddings and lm_head by
//                          rows; o/down projections by columns; everything 1-D replicated
//          rows:tp4        every 2-D tensor by rows, 1-D replicated
//          columns:tp4     every 2-D tensor by columns, 1-D replicated
//          fsdp:dp4        every tensor on dimension 0 (FSDP2 rule: chunks of ceil(n / ranks),
//                          the last ones short or empty)
//          replicated:r2   every rank holds everything
// Exact    uneven sizes are allowed: the first ranks take one more. Nothing is padded yet.
// Errors   invalid_input: unknown family, missing or bad number (1..4096), with the known names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/coords/shard_map.hpp"

namespace refit {

Result<ShardMap> make_layout(const Catalog& catalog, std::string_view layout);

struct LayoutFamily {
    std::string name;     // "tp"
    std::string key;      // "tp"
    std::string summary;  // one line for `refit list layouts`
};

/// The list: the one place a new family is added.
std::vector<LayoutFamily> layout_families();

}  // namespace refit
