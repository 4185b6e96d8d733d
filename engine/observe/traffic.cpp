#include "engine/observe/traffic.hpp"

#include <map>
#include <tuple>

namespace refit {

std::vector<EdgeTraffic> fold_traffic(const Timeline& timeline) {
    std::map<std::tuple<std::uint64_t, NodeId, NodeId>, EdgeTraffic> edges;
    for (const Event& event : timeline.events()) {
        const bool sent = event.kind == EventKind::chunk_sent;
        const bool kept = event.kind == EventKind::chunk_received;
        const bool repeated = event.kind == EventKind::chunk_repeated;
        if (!sent && !kept && !repeated) continue;
        const NodeId child = sent ? event.peer : event.node;
        const NodeId parent = sent ? event.node : event.peer;
        EdgeTraffic& edge = edges[{event.version, child, parent}];
        edge.version = event.version;
        edge.child = child;
        edge.parent = parent;
        if (sent) edge.sent_bytes += event.amount;
        if (repeated) ++edge.repeated;
        if (!kept) continue;
        if (edge.chunks == 0) edge.first = event.at;
        edge.last = event.at;
        ++edge.chunks;
        edge.kept_bytes += event.amount;
    }
    std::vector<EdgeTraffic> sorted;
    sorted.reserve(edges.size());
    for (const auto& [key, edge] : edges) sorted.push_back(edge);
    return sorted;
}

std::uint64_t count_resumes(const Timeline& timeline) {
    std::vector<bool> lost(timeline.node_names().size());
    std::uint64_t resumes = 0;
    for (const Event& event : timeline.events()) {
        if (event.kind == EventKind::disconnected) lost[event.node] = true;
        if (event.kind != EventKind::connected) continue;
        if (lost[event.node]) ++resumes;
        lost[event.node] = false;
    }
    return resumes;
}

TrafficTotals total(const std::vector<EdgeTraffic>& edges) {
    TrafficTotals totals;
    for (const EdgeTraffic& edge : edges) {
        totals.sent_bytes += edge.sent_bytes;
        totals.needed_bytes += edge.kept_bytes;
    }
    return totals;
}

}  // namespace refit
