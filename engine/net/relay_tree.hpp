// RelayTree: who forwards to whom, derived from a topology alone.
//
// Model    Node 0 is the source. The first relay of each site hangs off the source or the first
//          relay of another site, whichever maximises the narrowest link on the way to it; the
//          other relays of a site chain off the first; a site's replicas are dealt round-robin
//          over its relays. Replicas at the trainer's site hang off that site's relays.
//          Every node lists backups for when its parent dies: the other relays of its site, then
//          its parent's parent, then the source; never a descendant of its own, never the parent.
// Exact    reaches every relay and replica exactly once; the same topology, the same tree.
// Bound    broadcast_seconds(): payload / narrowest cut between the source and any site or
//          replica, plus the largest one-way delay: no schedule is faster.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/net/topology.hpp"

namespace refit {

using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = ~NodeId{0};

enum class NodeRole : std::uint8_t { source, relay, replica };

struct TreeNode {
    NodeRole role = NodeRole::relay;
    std::string name;  // "source", "eu-west/relay-1", "eu-west/replica-2"
    std::size_t site = 0;
    std::size_t replica = 0;  // index into the site's replicas, for replicas
    NodeId parent = kNoNode;
    std::vector<NodeId> backups;  // in the order they are tried; may all fail
};

struct RelayTree {
    std::uint64_t number = 1;  // grows when the tree is changed
    std::vector<TreeNode> nodes;

    std::vector<NodeId> children(NodeId node) const;
    NodeId find(std::string_view name) const;  // kNoNode if absent
};

RelayTree derive_tree(const Topology& topology);

/// The broadcast bound for the replicas that are members from the start.
double broadcast_seconds(const Topology& topology, Bytes payload);

}  // namespace refit
