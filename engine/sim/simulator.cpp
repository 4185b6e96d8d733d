#include "engine/sim/simulator.hpp"

#include <algorithm>

namespace refit {

namespace {

BitsPerSecond payload_rate(BitsPerSecond rate, double goodput) {
    return BitsPerSecond{std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(static_cast<double>(rate.count) * goodput))};
}

constexpr BitsPerSecond kNoCap{std::uint64_t{1} << 62};

}  // namespace

Simulator::Simulator(const Topology& topology, Timeline& timeline, const SimulatorOptions& options)
    : topology_(topology), timeline_(timeline), options_(options) {
    for (const WanLink& link : topology.links) {
        wan_forward_.push_back(network_.add_link(payload_rate(link.rate, options.goodput)));
        wan_backward_.push_back(network_.add_link(payload_rate(link.rate, options.goodput)));
    }
    wan_up_.assign(topology.links.size(), true);
    wan_cuts_.assign(topology.links.size(), 0);
    for (const Site& site : topology.sites)
        store_links_.push_back(network_.add_link(payload_rate(site.store_rate, options.goodput)));
}

NodeId Simulator::add_node(std::size_t site, BitsPerSecond nic, Factory factory, bool absent) {
    SimNode node{nullptr, std::move(factory), site, 0, 0, 0, absent};
    node.egress = network_.add_link(payload_rate(nic, options_.goodput));
    node.ingress = network_.add_link(payload_rate(nic, options_.goodput));
    const Nanoseconds rtt = topology_.sites[site].store_rtt;
    node.download =
        network_.add_flow({store_links_[site], node.ingress}, Nanoseconds{rtt.count / 2}, kNoCap);
    nodes_.push_back(std::move(node));
    return static_cast<NodeId>(nodes_.size() - 1);
}

void Simulator::keep_connected(NodeId a, NodeId b) { connection(a, b).kept = true; }

void Simulator::build() {
    for (SimNode& node : nodes_)
        if (!node.absent) node.node = node.factory();
    for (auto& [ends, link] : connections_) {
        if (!link.kept) continue;
        open_connection(link);
        if (!link.open) reconnect_later(link.low, link.high);
    }
}

Simulator::Connection& Simulator::connection(NodeId a, NodeId b) {
    const std::pair<NodeId, NodeId> ends{std::min(a, b), std::max(a, b)};
    const auto [found, fresh] = connections_.try_emplace(ends);
    if (fresh) {
        found->second.low = ends.first;
        found->second.high = ends.second;
        make_flows(found->second);
    }
    return found->second;
}

/// Latency is drawn once per pair, so that a run differs by its seed alone.
void Simulator::make_flows(Connection& link) {
    const SimNode& low = nodes_[link.low];
    const SimNode& high = nodes_[link.high];
    const auto route = find_route(topology_, low.site, high.site);
    REFIT_ASSERT(route.has_value());  // validate() saw to it
    const auto span = static_cast<std::uint64_t>(route->rtt.count) * options_.jitter_per_million;
    const std::uint64_t jitter =
        span == 0 ? 0 : draw(options_.seed, 0x6A17, ++connections_made_) % (span / 1'000'000 + 1);
    const Nanoseconds latency{(route->rtt.count + static_cast<std::int64_t>(jitter)) / 2};

    std::vector<FluidNetwork::LinkId> up{low.egress};
    std::vector<FluidNetwork::LinkId> down{high.egress};
    for (std::size_t i = 0; i < route->links.size(); ++i) {
        const std::size_t wan = route->links[i];
        up.push_back(route->forward[i] ? wan_forward_[wan] : wan_backward_[wan]);
        down.push_back(route->forward[i] ? wan_backward_[wan] : wan_forward_[wan]);
    }
    up.push_back(high.ingress);
    down.push_back(low.ingress);
    link.wan = route->links;
    link.up = network_.add_flow(up, latency, kNoCap);
    link.down = network_.add_flow(down, latency, kNoCap);
}

bool Simulator::route_up(const Connection& link) const {
    return std::ranges::all_of(link.wan, [this](std::size_t wan) { return wan_up_[wan]; });
}

void Simulator::send(NodeId from, NodeId to, Message message) {
    Connection& link = connection(from, to);
    if (!link.open) return;
    const Bytes size{message.body.size};
    const std::uint64_t slot = take_slot();
    Parcel& parcel = parcels_[slot];
    parcel.from = from;
    parcel.to = to;
    parcel.generation = link.generation;
    parcel.message = std::move(message);
    network_.send(from == link.low ? link.up : link.down, size, slot, now_);
}

std::uint64_t Simulator::take_slot() {
    if (free_parcels_.empty()) {
        parcels_.emplace_back();
        return parcels_.size() - 1;
    }
    const std::uint64_t slot = free_parcels_.back();
    free_parcels_.pop_back();
    return slot;
}

/// One round trip if the peer answers; the time to notice silence if it does not.
void Simulator::connect(NodeId from, NodeId to) {
    Connection& link = connection(from, to);
    const auto route = find_route(topology_, nodes_[from].site, nodes_[to].site);
    const bool reachable = alive(to) && route_up(link);
    after(from, reachable ? route->rtt : options_.detect, [this, from, to] {
        Connection& now = connection(from, to);
        if (now.open) return;
        if (alive(to) && route_up(now)) {
            open_connection(now);
        } else {
            nodes_[from].node->on_disconnect(to);
        }
    });
}

void Simulator::open_connection(Connection& link) {
    if (link.open || !alive(link.low) || !alive(link.high) || !route_up(link)) return;
    link.open = true;
    ++link.generation;
    // The accepting side first: it must know the peer when the first message comes.
    nodes_[link.low].node->on_connect(link.high);
    nodes_[link.high].node->on_connect(link.low);
}

void Simulator::close_connection(Connection& link) {
    if (!link.open) return;
    link.open = false;
    network_.drop(link.up, now_);
    network_.drop(link.down, now_);
}

/// Both ends that live learn of it; a kept connection is tried again.
void Simulator::lose(Connection& link) {
    if (!link.open) return;
    close_connection(link);
    const NodeId low = link.low;
    const NodeId high = link.high;
    if (alive(low)) nodes_[low].node->on_disconnect(high);
    if (alive(high)) nodes_[high].node->on_disconnect(low);
    if (link.kept) reconnect_later(low, high);
}

void Simulator::reconnect_later(NodeId a, NodeId b) {
    at(now_ + options_.reconnect, [this, a, b] {
        Connection& link = connection(a, b);
        if (link.open) return;
        open_connection(link);
        if (!link.open) reconnect_later(a, b);
    });
}

void Simulator::set_timer(NodeId node, std::uint32_t id, Nanoseconds delay) {
    after(node, delay, [this, node, id] { nodes_[node].node->on_timer(id); });
}

void Simulator::note(NodeId node, EventKind kind, const EventFields& fields) {
    timeline_.append({now_, fields.version, fields.amount, node, fields.peer, fields.index, kind});
}

void Simulator::after(NodeId node, Nanoseconds delay, std::function<void()> action) {
    const std::uint64_t incarnation = nodes_[node].incarnation;
    at(now_ + delay, [this, node, incarnation, action = std::move(action)] {
        if (alive(node) && nodes_[node].incarnation == incarnation) action();
    });
}

void Simulator::at(Nanoseconds time, std::function<void()> action) {
    std::uint64_t slot = actions_.size();
    if (free_actions_.empty()) {
        actions_.push_back(std::move(action));
    } else {
        slot = free_actions_.back();
        free_actions_.pop_back();
        actions_[slot] = std::move(action);
    }
    queue_.push({std::max(time, now_), sequence_++, slot});
}

void Simulator::download(NodeId node, Bytes size, std::function<void()> action) {
    const std::uint64_t slot = take_slot();
    Parcel& parcel = parcels_[slot];
    parcel.from = kNoNode;
    parcel.to = node;
    parcel.generation = nodes_[node].incarnation;
    parcel.action = std::move(action);
    network_.send(nodes_[node].download, size, slot, now_);
}

void Simulator::crash(NodeId id) {
    if (!alive(id)) return;
    note(id, EventKind::node_down, {});
    if (crash_hook_) crash_hook_(id);
    SimNode& node = nodes_[id];
    node.node.reset();
    ++node.incarnation;
    network_.drop(node.download, now_);
    for (auto& [ends, link] : connections_) {
        if (!link.open || (link.low != id && link.high != id)) continue;
        close_connection(link);
        const NodeId peer = link.low == id ? link.high : link.low;
        const std::uint64_t generation = link.generation;
        after(peer, options_.detect, [this, peer, id, generation] {
            Connection& lost = connection(peer, id);
            if (lost.generation == generation && !lost.open) nodes_[peer].node->on_disconnect(id);
        });
        if (link.kept) reconnect_later(link.low, link.high);
    }
}

void Simulator::restart(NodeId id) {
    if (alive(id)) return;
    nodes_[id].node = nodes_[id].factory();
    note(id, EventKind::node_up, {});
    nodes_[id].node->on_start();
}

void Simulator::cut(std::size_t wan) {
    if (!wan_up_[wan]) return;
    wan_up_[wan] = false;
    const std::uint64_t cut = ++wan_cuts_[wan];
    network_.set_rate(wan_forward_[wan], BitsPerSecond{0}, now_);
    network_.set_rate(wan_backward_[wan], BitsPerSecond{0}, now_);
    timeline_.append(
        {now_, 0, 0, kNoNode, kNoNode, static_cast<std::uint32_t>(wan), EventKind::link_down});
    at(now_ + options_.detect, [this, wan, cut] {
        if (wan_up_[wan] || wan_cuts_[wan] != cut) return;
        for (auto& [ends, link] : connections_)
            if (std::ranges::find(link.wan, wan) != link.wan.end()) lose(link);
    });
}

void Simulator::restore(std::size_t wan) {
    if (wan_up_[wan]) return;
    wan_up_[wan] = true;
    const BitsPerSecond rate = payload_rate(topology_.links[wan].rate, options_.goodput);
    network_.set_rate(wan_forward_[wan], rate, now_);
    network_.set_rate(wan_backward_[wan], rate, now_);
    timeline_.append(
        {now_, 0, 0, kNoNode, kNoNode, static_cast<std::uint32_t>(wan), EventKind::link_up});
}

void Simulator::deliver(const FluidNetwork::Arrival& arrival) {
    Parcel parcel = std::move(parcels_[arrival.token]);
    parcels_[arrival.token] = Parcel{};
    free_parcels_.push_back(arrival.token);
    if (!alive(parcel.to)) return;
    if (parcel.from == kNoNode) {
        if (parcel.generation == nodes_[parcel.to].incarnation) parcel.action();
        return;
    }
    const Connection& link = connection(parcel.from, parcel.to);
    if (!link.open || link.generation != parcel.generation) return;
    nodes_[parcel.to].node->on_message(parcel.from, parcel.message);
}

bool Simulator::run(Nanoseconds limit, const std::function<bool()>& done) {
    while (!done()) {
        const Nanoseconds wire = network_.next_event();
        const Nanoseconds planned = queue_.empty() ? FluidNetwork::kNever : queue_.top().time;
        const Nanoseconds next = std::min(wire, planned);
        if (next == FluidNetwork::kNever || next > limit) return false;
        now_ = std::max(now_, next);
        if (wire <= planned) {
            arrivals_.clear();
            network_.advance(now_, arrivals_);
            for (const FluidNetwork::Arrival& arrival : arrivals_) {
                ++events_;
                deliver(arrival);
                if (event_hook_) event_hook_();
            }
            continue;
        }
        const std::uint64_t slot = queue_.top().slot;
        queue_.pop();
        const std::function<void()> action = std::move(actions_[slot]);
        actions_[slot] = nullptr;
        free_actions_.push_back(slot);
        ++events_;
        action();
        if (event_hook_) event_hook_();
    }
    return true;
}

}  // namespace refit
