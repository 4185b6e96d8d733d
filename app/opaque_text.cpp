#include "app/opaque_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/format.hpp"

namespace refit {

OpaqueTotals add_up(const std::vector<OpaqueItem>& items) {
    OpaqueTotals totals;
    for (const OpaqueItem& item : items) {
        ++(item.kind == OpaqueKind::tensor ? totals.tensors : totals.files);
        totals.bytes += Bytes{item.bytes};
        totals.payload += Bytes{item.payload_bytes};
        totals.changed_elements += item.changed_elements;
    }
    return totals;
}

std::string opaque_text(const OpaqueTotals& totals) {
    if (totals.tensors + totals.files == 0) return "";
    return fmt::format("{} other tensor{} and {} file{}, {} as bytes, {} of the payload",
                       format_count(totals.tensors), totals.tensors == 1 ? "" : "s",
                       format_count(totals.files), totals.files == 1 ? "" : "s",
                       format_bytes(totals.bytes), format_bytes(totals.payload));
}

nlohmann::ordered_json opaque_document(const OpaqueTotals& totals) {
    return {{"tensors", totals.tensors},
            {"files", totals.files},
            {"bytes", totals.bytes.count},
            {"payload_bytes", totals.payload.count},
            {"changed_elements", totals.changed_elements}};
}

}  // namespace refit
