#include "engine/closed_form.hpp"

#include <algorithm>
#include <map>

namespace refit {

namespace {

double bits(Bytes bytes) { return static_cast<double>(bytes.count) * 8; }
double number(BitsPerSecond rate) { return static_cast<double>(rate.count); }
double over(Bytes bytes, const DeclaredRate& rate) {
    return static_cast<double>(bytes.count) / static_cast<double>(rate.value.count);
}

/// A shared resource and how many edges use it.
struct Share {
    std::string name;
    double capacity = 0;
    int users = 0;

    double each() const { return capacity / users; }
};

class Wire {
public:
    Wire(const Topology& topology, const DeltaSpec& delta, const TransportSpec& transport)
        : topology_(topology),
          tree_(derive_tree(topology)),
          goodput_(transport.goodput),
          chunk_bits_(bits(delta.chunk)),
          window_bits_(chunk_bits_ * transport.window) {
        for (NodeId id = 1; id < tree_.nodes.size(); ++id)
            if (member(id)) add_edge(id);
        for (NodeId id = 1; id < tree_.nodes.size(); ++id)
            if (member(id)) rate_edge(id);
    }

    const RelayTree& tree() const { return tree_; }
    const std::vector<EdgeForm>& edges() const { return edges_; }
    const std::string& limit_of(NodeId node) const { return nodes_.at(node).limit; }
    double rate_of(NodeId node) const { return nodes_.at(node).rate; }
    /// From when the source has a chunk to when the node has it, with nothing before it.
    double latency_of(NodeId node) const { return nodes_.at(node).latency; }

    /// When a node has its first chunk. A parent sends none before the child has heard of the
    /// delta, which is opened at `opened`, and has answered.
    double first_chunk(NodeId node, double opened, double offered) const {
        if (node == 0) return offered;
        const NodeId parent = tree_.nodes[node].parent;
        const double rtt = rtt_.at(node);
        const double answered = heard(parent, opened) + rtt;
        return std::max(first_chunk(parent, opened, offered), answered) + rtt / 2 +
               chunk_bits_ / nodes_.at(node).edge_rate;
    }

    bool member(NodeId id) const {
        const TreeNode& node = tree_.nodes[id];
        if (node.role != NodeRole::replica) return true;
        return topology_.sites[node.site].replicas[node.replica].join_at.count == 0;
    }

private:
    struct Arrival {
        double rate = 0;       // bits a second, 0 at the source: no limit
        double edge_rate = 0;  // of the last edge alone
        double latency = 0;
        std::string limit;
    };

    Share& share(const std::string& name, double capacity) {
        Share& share = shares_[name];
        share.name = name;
        share.capacity = capacity * goodput_;
        return share;
    }
    double nic(NodeId id) const {
        const TreeNode& node = tree_.nodes[id];
        const Site& site = topology_.sites[node.site];
        return number(node.role == NodeRole::replica ? site.replica_nic : site.relay_nic);
    }

    void add_edge(NodeId child) {
        const NodeId parent = tree_.nodes[child].parent;
        std::vector<Share*>& used = used_[child];
        used.push_back(&share("NIC of " + tree_.nodes[parent].name + ", out", nic(parent)));
        used.push_back(&share("NIC of " + tree_.nodes[child].name + ", in", nic(child)));
        const auto route = find_route(topology_, tree_.nodes[parent].site, tree_.nodes[child].site);
        for (std::size_t i = 0; i < route->links.size(); ++i) {
            const WanLink& link = topology_.links[route->links[i]];
            const bool forward = route->forward[i];
            used.push_back(&share("link " + (forward ? link.from : link.to) + " -> " +
                                      (forward ? link.to : link.from),
                                  number(link.rate)));
        }
        for (Share* each : used) ++each->users;
        rtt_[child] = to_seconds(route->rtt);
    }

    double heard(NodeId node, double opened) const {
        return node == 0 ? opened : heard(tree_.nodes[node].parent, opened) + rtt_.at(node) / 2;
    }

    void rate_edge(NodeId child) {
        const NodeId parent = tree_.nodes[child].parent;
        const Arrival above = parent == 0 ? Arrival{} : nodes_[parent];
        Arrival& arrival = nodes_[child];
        for (const Share* used : used_[child]) {
            if (arrival.rate > 0 && arrival.rate <= used->each()) continue;
            arrival.rate = used->each();
            arrival.limit = used->name;
        }
        // A window travels, and its acknowledgements come back.
        const double window = window_bits_ / (rtt_[child] + chunk_bits_ / arrival.rate);
        if (window < arrival.rate) {
            arrival.rate = window;
            arrival.limit = "window of " + tree_.nodes[child].name;
        }
        arrival.edge_rate = arrival.rate;
        arrival.latency = above.latency + rtt_[child] / 2 + chunk_bits_ / arrival.rate;
        if (above.rate > 0 && above.rate < arrival.rate) {
            arrival.rate = above.rate;
            arrival.limit = above.limit;
        }
        edges_.push_back({parent, child, arrival.rate, arrival.limit});
    }

    const Topology& topology_;
    RelayTree tree_;
    double goodput_;
    double chunk_bits_;
    double window_bits_;
    std::map<std::string, Share> shares_;
    std::map<NodeId, std::vector<Share*>> used_;
    std::map<NodeId, double> rtt_;
    std::map<NodeId, Arrival> nodes_;
    std::vector<EdgeForm> edges_;
};

/// How parts become durable at the source.
struct Parts {
    double count = 0;
    double bits = 0;         // of one
    double first_ready = 0;  // offered, from when the weights were final
    double last_ready = 0;
    double decode = 0;  // staging one
    std::string limit;  // of the source itself
};

Parts parts_of(const Topology& topology,
               const DeltaSpec& delta,
               const Fleet& fleet,
               const DeltaSize& size) {
    const Site& home = topology.sites[topology.trainer_site()];
    const double full = bits(delta.chunk) * delta.chunks_per_part;
    const double units = std::max(
        1.0, static_cast<double>(size.weights.count) / 2 / static_cast<double>(delta.unit_words));
    const double payload = bits(size.payload);
    Parts parts;
    parts.count = std::clamp(payload / full, 1.0, units);
    parts.bits = payload / parts.count;
    const double encode = over(size.weights, fleet.encode) / parts.count;
    const double store = to_seconds(home.store_rtt) + parts.bits / number(home.store_rate);
    const double control = to_seconds(home.local_rtt);
    parts.first_ready = control + encode + store;
    parts.last_ready = parts.first_ready + (parts.count - 1) * std::max(encode, store);
    parts.decode = over(size.weights, fleet.decode) / parts.count;
    parts.limit = encode > store ? "encode" : "store of " + home.name;
    return parts;
}

}  // namespace

RefitForm closed_form(const Topology& topology,
                      const DeltaSpec& delta,
                      const TransportSpec& transport,
                      const Fleet& fleet,
                      const DeltaSize& size) {
    const Wire wire(topology, delta, transport);
    const Parts parts = parts_of(topology, delta, fleet, size);
    const std::size_t home = topology.trainer_site();
    const double local = to_seconds(topology.sites[home].local_rtt);
    const double overwrite = over(size.staged, fleet.overwrite);
    const double check = over(size.weights, fleet.digest);
    const double drain = to_seconds(fleet.drain);

    double last_arrival = parts.last_ready;
    double staged = 0;    // everybody has told the coordinator
    double prepared = 0;  // and promised, after that
    double applied = 0;
    double resumed = 0;
    RefitForm form;
    form.bottleneck = parts.limit;
    for (NodeId id = 1; id < wire.tree().nodes.size(); ++id) {
        const TreeNode& node = wire.tree().nodes[id];
        if (!wire.member(id)) continue;
        // Either the wire is behind with everything, or the source with the last part.
        const double by_wire =
            wire.first_chunk(id, local, parts.first_ready) +
            std::max(0.0, bits(size.payload) - bits(delta.chunk)) / wire.rate_of(id);
        const double by_source =
            parts.last_ready + parts.bits / wire.rate_of(id) + wire.latency_of(id);
        const double arrival = std::max(by_wire, by_source);
        if (arrival > last_arrival) {
            last_arrival = arrival;
            form.bottleneck = by_wire >= by_source ? wire.limit_of(id) : parts.limit;
        }
        if (node.role != NodeRole::replica) continue;
        const double rtt = to_seconds(find_route(topology, home, node.site)->rtt);
        staged = std::max(staged, arrival + parts.decode + rtt / 2);
        prepared = std::max(prepared, rtt);
        applied = std::max(applied, rtt / 2 + drain + overwrite + check + rtt / 2);
        resumed = std::max(resumed, rtt / 2);
        form.longest_pause_seconds =
            std::max(form.longest_pause_seconds, drain + overwrite + check + rtt);
    }
    form.encode_seconds = parts.first_ready;
    form.wire_seconds = last_arrival - parts.first_ready;
    form.stage_seconds = std::max(0.0, staged - last_arrival) + prepared + local;
    form.pause_seconds = applied + resumed;
    form.edges = wire.edges();
    return form;
}

}  // namespace refit
