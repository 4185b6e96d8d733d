// RelayTree: who forwards to whom, derived from a topology alone.
//
// Model    Node 0 is the source. The sites form the widest spanning tree of the links, rooted at
//          the trainer: links are taken by rate, ties by least rtt, then names. So the narrowest
//          link on the way to each site is as wide as on any way, and find_route() between a site
//          and its parent is that one link. The first relay of each site hangs off the first relay
//          of its parent site, or off the source if that is the trainer's; a site without relays is
//          passed over. The other relays of a site chain off the first; a site's replicas are
//          dealt round-robin over its relays, at the trainer's site as well.
//          Every node lists backups for when its parent dies: the other relays of its site, then
//          its parent's parent, then the source; never a descendant of its own, never the parent.
// Order    parents before children; site by site, its relays, then its replicas.
// Exact    reaches every relay and replica exactly once; the same topology, the same tree.
// Bound    broadcast_seconds(): over the members, the largest of payload / narrowest cut between
//          the source and it, plus its least one-way delay: no schedule is faster. Cuts count the
//          source's NIC, the links and the replica's NIC, not the relays'.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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
    /// kNoNode if absent.
    NodeId find(std::string_view name) const;
};

/// Of a topology that passed validate().
RelayTree derive_tree(const Topology& topology);

/// The broadcast bound for the replicas that are members from the start; 0 when there are none.
double broadcast_seconds(const Topology& topology, Bytes payload);

}  // namespace refit
