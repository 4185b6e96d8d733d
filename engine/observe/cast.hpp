// Who takes part in a run, and what they work on: what a timeline alone does not say.
//
// Bytes     little-endian; texts and lists are u32 length, then their items:
//             text title; list of site names; list of links: text from, text to, u64 bit/s;
//             u64 tree number; list of nodes: u8 role, text name, u32 site, u32 replica,
//             u32 parent, list of u32 backups;
//             loop: u8 shape, u64 step, u64 generation, u32 staleness, u64 kv recompute (ns);
//             the catalog (catalog.hpp), then for each of its tensors u32 first and u32 last unit;
//             each as one zstd frame behind its u64 size.
// Errors    truncated, corrupt: a role, shape, site or node that does not exist, a child before its
//           parent, a last unit before the first, more of anything than its limit (100,256 nodes,
//           256 sites, 65,536 links).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/coords/grid.hpp"
#include "engine/net/relay_tree.hpp"
#include "engine/plan.hpp"

namespace refit {

struct CastLink {
    std::string from;
    std::string to;
    BitsPerSecond rate;  // per direction, as it drives the run's time

    friend bool operator==(const CastLink&, const CastLink&) = default;
};

/// Which units of a delta carry a tensor. One without words: 1 to 0.
struct TensorUnits {
    std::uint32_t first = 1;
    std::uint32_t last = 0;

    friend bool operator==(const TensorUnits&, const TensorUnits&) = default;
};

/// As a timeline numbers them: those of the tree, then the coordinator.
std::vector<std::string> node_names(const RelayTree& tree);

struct Cast {
    std::string title;
    std::vector<std::string> sites;
    std::vector<CastLink> links;
    RelayTree tree;  // as the run begins
    Loop loop;
    Catalog catalog;
    std::vector<TensorUnits> units;  // one for each tensor of the catalog
};

/// Of a run over this topology, whose deltas are cut into units of `unit_words` of the grid.
Cast make_cast(const std::string& title,
               const Topology& topology,
               const Loop& loop,
               const Catalog& catalog,
               const Grid& grid,
               std::uint64_t unit_words);

ByteVector serialize(const Cast& cast);
Result<Cast> parse_cast(ByteSpan bytes);

}  // namespace refit
