// Deltas and anchors as objects: how a version is published, found and rebuilt from the store.
//
// Model    An anchor is a delta from nothing (manifest.hpp). Every manifest names the sealed id of
//          the delta that made its base, so a version is a chain back to an anchor, and a late
//          joiner folds it. Parts first, manifest last: a manifest in the store is complete.
// Errors   not_found when a link of the chain was pruned; corrupt; both name the object.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/codec/delta.hpp"
#include "engine/store/object_store.hpp"

namespace refit {

struct AnchorOptions {
    std::string codec = "full-zstd";
    Bytes chunk = 8_MiB;
    std::uint32_t chunks_per_part = 64;
    std::uint64_t unit_words = std::uint64_t{16} << 20;
};

/// Publishes `weights` as version 0 and returns its manifest.
Manifest publish_anchor(Device& device,
                        const DeltaContext& context,
                        const Weights& weights,
                        ObjectStore& store,
                        const AnchorOptions& options);

/// The manifests that lead to `sealed`, oldest first, starting after `have` (zero: from the
/// anchor on). Chains longer than 2^16 are refused.
Result<std::vector<Manifest>> find_chain(const ObjectStore& store,
                                         const Hash256& sealed,
                                         const Hash256& have);

}  // namespace refit
