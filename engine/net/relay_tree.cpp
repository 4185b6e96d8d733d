#include "engine/net/relay_tree.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "engine/base/assert.hpp"

namespace refit {

namespace {

constexpr std::size_t kNoSite = ~std::size_t{0};

struct SiteTree {
    std::vector<std::size_t> order;   // of sites, parents before children
    std::vector<std::size_t> parent;  // by site; kNoSite for the trainer's
};

/// The order in which links are worth having. No two links are equal in it, so the widest spanning
/// tree is unique, wherever one starts to grow it.
auto rank_of(const WanLink& link) {
    const auto names = std::minmax({std::string_view{link.from}, std::string_view{link.to}});
    return std::tuple{~link.rate.count, link.rtt.count, names.first, names.second};
}

/// Grows the tree from the trainer's site by the best link that leaves it (Prim).
SiteTree widest_tree(const Topology& topology) {
    const std::vector<LinkEnds> ends = link_ends(topology);
    const std::size_t root = topology.trainer_site();
    SiteTree tree{{root}, std::vector<std::size_t>(topology.sites.size(), kNoSite)};
    std::vector<bool> inside(topology.sites.size(), false);
    inside[root] = true;
    while (tree.order.size() < topology.sites.size()) {
        std::size_t best = ends.size();
        for (std::size_t link = 0; link < ends.size(); ++link) {
            if (inside[ends[link].from] == inside[ends[link].to]) continue;
            if (best == ends.size() ||
                rank_of(topology.links[link]) < rank_of(topology.links[best])) {
                best = link;
            }
        }
        REFIT_ASSERT(best < ends.size());
        const auto [from, to] = ends[best];
        const std::size_t fresh = inside[from] ? to : from;
        tree.parent[fresh] = inside[from] ? from : to;
        tree.order.push_back(fresh);
        inside[fresh] = true;
    }
    return tree;
}

/// Parents have the smaller number, so the way up may stop once it has passed the ancestor.
bool descends_from(const RelayTree& tree, NodeId node, NodeId ancestor) {
    while (node > ancestor) node = tree.nodes[node].parent;
    return node == ancestor;
}

class TreeBuilder {
public:
    explicit TreeBuilder(const Topology& topology)
        : topology_(topology), relays_(topology.sites.size()) {}

    RelayTree build() {
        const SiteTree sites = widest_tree(topology_);
        TreeNode source;
        source.role = NodeRole::source;
        source.name = "source";
        source.site = sites.order.front();
        tree_.nodes.push_back(std::move(source));
        for (const std::size_t site : sites.order) add_site(site, uplink_of(sites, site));
        for (NodeId node = 1; node < tree_.nodes.size(); ++node) list_backups(node);
        return std::move(tree_);
    }

private:
    /// What a site's first relay hangs off.
    NodeId uplink_of(const SiteTree& sites, std::size_t site) const {
        const std::size_t root = sites.order.front();
        if (site == root) return 0;
        std::size_t above = sites.parent[site];
        while (above != root && relays_[above].empty()) above = sites.parent[above];
        return above == root ? 0 : relays_[above].front();
    }

    void add_site(std::size_t index, NodeId uplink) {
        const Site& site = topology_.sites[index];
        std::vector<NodeId>& relays = relays_[index];
        for (std::uint32_t i = 0; i < site.relays; ++i) {
            TreeNode relay;
            relay.role = NodeRole::relay;
            relay.name = site.name + "/relay-" + std::to_string(i + 1);
            relay.site = index;
            relay.parent = relays.empty() ? uplink : relays.back();
            relays.push_back(add(std::move(relay)));
        }
        for (std::size_t i = 0; i < site.replicas.size(); ++i) {
            TreeNode replica;
            replica.role = NodeRole::replica;
            replica.name = site.name + "/" + site.replicas[i].name;
            replica.site = index;
            replica.replica = i;
            replica.parent = relays[i % relays.size()];
            add(std::move(replica));
        }
    }

    NodeId add(TreeNode node) {
        tree_.nodes.push_back(std::move(node));
        return static_cast<NodeId>(tree_.nodes.size() - 1);
    }

    void list_backups(NodeId id) {
        TreeNode& node = tree_.nodes[id];
        std::vector<NodeId> wanted = relays_[node.site];
        wanted.push_back(tree_.nodes[node.parent].parent);
        wanted.push_back(0);
        for (const NodeId candidate : wanted) {
            if (candidate == kNoNode || candidate == node.parent) continue;
            if (descends_from(tree_, candidate, id)) continue;
            if (std::find(node.backups.begin(), node.backups.end(), candidate) !=
                node.backups.end()) {
                continue;
            }
            node.backups.push_back(candidate);
        }
    }

    const Topology& topology_;
    std::vector<std::vector<NodeId>> relays_;  // by site
    RelayTree tree_;
};

/// What a direction of each link still carries: [2 * link] from -> to, [2 * link + 1] back.
using Residual = std::vector<std::uint64_t>;

/// Bits per second that fit from `root` to `site` at once, at most `limit` (Edmonds and Karp).
std::uint64_t narrowest_cut(const Topology& topology,
                            const std::vector<LinkEnds>& ends,
                            std::size_t site,
                            std::uint64_t limit) {
    const std::size_t root = topology.trainer_site();
    if (site == root) return limit;
    Residual residual;
    for (const WanLink& link : topology.links) residual.insert(residual.end(), 2, link.rate.count);
    std::vector<std::vector<std::size_t>> leaving(topology.sites.size());
    for (std::size_t link = 0; link < ends.size(); ++link) {
        leaving[ends[link].from].push_back(2 * link);
        leaving[ends[link].to].push_back(2 * link + 1);
    }
    const auto tail = [&](std::size_t arc) {
        return arc % 2 == 0 ? ends[arc / 2].from : ends[arc / 2].to;
    };

    std::uint64_t flow = 0;
    while (flow < limit) {
        constexpr std::size_t kUnseen = ~std::size_t{0};
        std::vector<std::size_t> into(topology.sites.size(), kUnseen);
        std::deque<std::size_t> queue{root};
        while (!queue.empty() && into[site] == kUnseen) {
            const std::size_t at = queue.front();
            queue.pop_front();
            for (const std::size_t arc : leaving[at]) {
                const std::size_t to = tail(arc ^ 1);
                if (residual[arc] == 0 || to == root || into[to] != kUnseen) continue;
                into[to] = arc;
                queue.push_back(to);
            }
        }
        if (into[site] == kUnseen) break;
        std::uint64_t more = limit - flow;
        for (std::size_t at = site; at != root; at = tail(into[at])) {
            more = std::min(more, residual[into[at]]);
        }
        for (std::size_t at = site; at != root; at = tail(into[at])) {
            residual[into[at]] -= more;
            residual[into[at] ^ 1] += more;
        }
        flow += more;
    }
    return flow;
}

/// Least rtt from the trainer to every site, over any links; 0 for the trainer's own.
std::vector<std::int64_t> least_rtts(const Topology& topology, const std::vector<LinkEnds>& ends) {
    constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max() / 2;
    std::vector<std::int64_t> best(topology.sites.size(), kFar);
    best[topology.trainer_site()] = 0;
    for (bool better = true; better;) {
        better = false;
        for (std::size_t link = 0; link < ends.size(); ++link) {
            const std::int64_t rtt = topology.links[link].rtt.count;
            for (const auto& [from, to] : {std::pair{ends[link].from, ends[link].to},
                                           std::pair{ends[link].to, ends[link].from}}) {
                if (best[from] + rtt >= best[to]) continue;
                best[to] = best[from] + rtt;
                better = true;
            }
        }
    }
    return best;
}

}  // namespace

std::vector<NodeId> RelayTree::children(NodeId node) const {
    std::vector<NodeId> result;
    for (NodeId id = 0; id < nodes.size(); ++id) {
        if (nodes[id].parent == node) result.push_back(id);
    }
    return result;
}

NodeId RelayTree::find(std::string_view name) const {
    for (NodeId id = 0; id < nodes.size(); ++id) {
        if (nodes[id].name == name) return id;
    }
    return kNoNode;
}

RelayTree derive_tree(const Topology& topology) { return TreeBuilder{topology}.build(); }

double broadcast_seconds(const Topology& topology, Bytes payload) {
    const std::vector<LinkEnds> ends = link_ends(topology);
    const std::vector<std::int64_t> rtts = least_rtts(topology, ends);
    const std::size_t root = topology.trainer_site();
    const std::uint64_t source_nic = topology.sites[root].relay_nic.count;
    double bound = 0;
    for (std::size_t i = 0; i < topology.sites.size(); ++i) {
        const Site& site = topology.sites[i];
        const bool has_members =
            std::any_of(site.replicas.begin(), site.replicas.end(),
                        [](const ReplicaSpec& replica) { return replica.join_at.count == 0; });
        if (!has_members) continue;
        const std::uint64_t cut =
            narrowest_cut(topology, ends, i, std::min(source_nic, site.replica_nic.count));
        const Nanoseconds rtt{i == root ? site.local_rtt.count : rtts[i]};
        bound = std::max(bound, static_cast<double>(payload.count) * 8 / static_cast<double>(cut) +
                                    to_seconds(rtt) / 2);
    }
    return bound;
}

}  // namespace refit
