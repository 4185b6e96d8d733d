// What crossed each edge of the tree: a fold over chunk events.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/net/relay_tree.hpp"
#include "engine/observe/timeline.hpp"

namespace refit {

/// One edge in one refit. Times are of chunks that arrived and were kept.
struct EdgeTraffic {
    NodeId parent = kNoNode;
    NodeId child = kNoNode;
    std::uint64_t version = 0;
    std::uint32_t chunks = 0;    // kept by the child
    std::uint32_t repeated = 0;  // arrived although held
    std::uint64_t sent_bytes = 0;
    std::uint64_t kept_bytes = 0;
    Nanoseconds first{0};
    Nanoseconds last{0};
};

/// Sorted by version, then child, then parent.
std::vector<EdgeTraffic> fold_traffic(const Timeline& timeline);

struct TrafficTotals {
    std::uint64_t sent_bytes = 0;
    std::uint64_t needed_bytes = 0;  // kept by somebody: each chunk once per node
};
/// How often a node went on with a transfer at a parent after it had lost one.
std::uint64_t count_resumes(const Timeline& timeline);

TrafficTotals total(const std::vector<EdgeTraffic>& edges);

}  // namespace refit
