// What a delta carries as bytes, added up and said: for encode and inspect.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/base/units.hpp"
#include "engine/codec/opaque.hpp"

namespace refit {

struct OpaqueTotals {
    std::uint64_t tensors = 0;
    std::uint64_t files = 0;
    Bytes bytes;
    Bytes payload;
    std::uint64_t changed_elements = 0;
};

OpaqueTotals add_up(const std::vector<OpaqueItem>& items);

/// "2 other tensors and 1 file, 4.5 KiB as bytes, 312 B of the payload"; empty for nothing.
std::string opaque_text(const OpaqueTotals& totals);

nlohmann::ordered_json opaque_document(const OpaqueTotals& totals);

}  // namespace refit
