// A made-up recording as large as that of a refit of a 1T model: 70,000 tensors, 64 replicas in
// four sites, 100,000 events. For benchmarks and tests of what the views cost; nothing in it was
// run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/observe/recording.hpp"

namespace refit {

inline constexpr std::uint32_t kLargeReplicas = 64;

inline constexpr std::uint32_t kLargeSites = 4;
inline constexpr std::uint32_t kLargeParts = 110;
inline constexpr std::uint32_t kLargeChunks = 700;
inline constexpr std::uint32_t kLargeUnits = 60'000;

inline Cast large_cast() {
    Cast cast;
    TreeNode source{NodeRole::source, "source", 0, 0, kNoNode, {}};
    cast.tree.nodes.push_back(source);
    for (std::uint32_t s = 0; s < kLargeSites; ++s) {
        cast.sites.push_back("site-" + std::to_string(s));
        cast.tree.nodes.push_back(
            {NodeRole::relay, cast.sites[s] + "/relay-1", s, 0, s == 0 ? 0u : 1u, {}});
    }
    for (std::uint32_t r = 0; r < kLargeReplicas; ++r)
        cast.tree.nodes.push_back({NodeRole::replica,
                                   "replica-" + std::to_string(r),
                                   r % kLargeSites,
                                   r / kLargeSites,
                                   1 + r % kLargeSites,
                                   {}});
    std::vector<TensorSpec> specs;
    for (int layer = 0; layer < 61; ++layer)
        for (int expert = 0; expert < 384; ++expert)
            for (const char* kind : {"gate_proj", "up_proj", "down_proj"})
                specs.push_back({"model.layers." + std::to_string(layer) + ".mlp.experts." +
                                     std::to_string(expert) + "." + kind + ".weight",
                                 WordType::bf16,
                                 {2048, 7168}});
    cast.catalog = std::move(Catalog::make(std::move(specs))).value();
    const std::size_t tensors = cast.catalog.tensors().size();
    for (std::size_t t = 0; t < tensors; ++t) {
        const auto unit = static_cast<std::uint32_t>(t * kLargeUnits / tensors);
        cast.units.push_back({unit, unit});
    }
    return cast;
}

/// One refit: units encoded, chunks through every node, parts staged, committed.
inline Recording large_recording() {
    Recording recording{large_cast(), {}, ""};
    Timeline timeline(node_names(recording.cast.tree));
    const auto nodes = static_cast<NodeId>(recording.cast.tree.nodes.size());
    std::int64_t at = 0;
    const auto add = [&](NodeId node, EventKind kind, std::uint32_t index, std::uint64_t amount) {
        const NodeId parent = recording.cast.tree.nodes[node].parent;
        timeline.append({Nanoseconds{at += 600'000}, 1, amount, node, parent, index, kind});
    };
    for (NodeId node = nodes - kLargeReplicas; node < nodes; ++node)
        add(node, EventKind::serving, 0, 0);
    add(0, EventKind::encode_begin, 0, 0);
    std::uint32_t unit = 0;
    for (std::uint32_t chunk = 0; chunk < kLargeChunks; ++chunk) {
        for (std::uint32_t n = 0; n < kLargeUnits / kLargeChunks; ++n)
            add(0, EventKind::unit_encoded, unit++, 1 << 20);
        const std::uint32_t every = kLargeChunks / kLargeParts;
        if (chunk % every == 0)
            add(0, EventKind::part_durable, chunk / every,
                std::uint64_t{kLargeUnits / kLargeChunks} << 20);
        for (NodeId node = 1; node < nodes; ++node) {
            add(node, EventKind::chunk_received, chunk, 8 << 20);
            if (chunk % every != 0 || node < nodes - kLargeReplicas) continue;
            add(node, EventKind::stage_begin, chunk / every, 0);
            add(node, EventKind::part_staged, chunk / every, 64 << 20);
        }
    }
    for (const EventKind kind : {EventKind::pause_begin, EventKind::overwrite_begin,
                                 EventKind::check_begin, EventKind::applied, EventKind::serving})
        for (NodeId node = nodes - kLargeReplicas; node < nodes; ++node) add(node, kind, 0, 0);
    recording.timeline = std::move(timeline);
    return recording;
}

}  // namespace refit
