// Virtual time: runs protocol nodes over a simulated network, with faults, from one seed.
//
// Model    Nodes sit at sites and have a NIC each way; connections follow Topology routes. Messages
//          of one connection arrive in order; chunks take bandwidth (fluid_network.hpp), control
//          messages and manifest records only latency. A lost peer or link is noticed after
//          `detect`. Connections to the coordinator (control plane) are made anew by themselves;
//          tree connections are the nodes' own business.
// Faults   crash() destroys the node object; its durable state stays with whoever owns it, and
//          restart() builds a new node over it. cut() stalls a WAN link both ways. Nothing that
//          travelled on a dead connection arrives.
// Exact    one seed, one run: events at one time run in the order they were scheduled; the only
//          randomness is draw(seed, ...): latency jitter of each new connection.
// Threads  one. Bulk work (codecs, digests) happens inside the answers and takes declared time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "engine/base/rng.hpp"
#include "engine/net/topology.hpp"
#include "engine/protocol/node.hpp"
#include "engine/sim/fluid_network.hpp"

namespace refit {

struct SimulatorOptions {
    std::uint64_t seed = 1;
    double goodput = 1.0;                       // payload share of every link
    Nanoseconds detect = 500_ms;                // silence until a peer counts as lost
    Nanoseconds reconnect = 200_ms;             // control plane
    std::uint64_t jitter_per_million = 20'000;  // of a route's rtt, drawn per connection
};

class Simulator {
public:
    using Factory = std::function<std::unique_ptr<Node>()>;

    Simulator(const Topology& topology, Timeline& timeline, const SimulatorOptions& options);

    /// Nodes are numbered in the order they are added. An absent one is built by restart().
    NodeId add_node(std::size_t site, BitsPerSecond nic, Factory factory, bool absent = false);
    /// A control connection that the simulator keeps up while both ends live.
    void keep_connected(NodeId a, NodeId b);

    /// Builds every node that is not absent and connects the control plane; the caller then starts
    /// the nodes.
    void build();

    Nanoseconds now() const { return now_; }
    Node* node(NodeId id) { return nodes_[id].node.get(); }
    bool alive(NodeId id) const { return nodes_[id].node != nullptr; }
    std::uint64_t events() const { return events_; }

    // What Env asks for (sim_env.hpp).
    void send(NodeId from, NodeId to, Message message);
    void connect(NodeId from, NodeId to);
    void set_timer(NodeId node, std::uint32_t id, Nanoseconds delay);
    void note(NodeId node, EventKind kind, const EventFields& fields);

    /// Runs `action` on a node after `delay`, unless it crashes first.
    void after(NodeId node, Nanoseconds delay, std::function<void()> action);
    /// Runs `action` at a time, whatever happens to nodes.
    void at(Nanoseconds time, std::function<void()> action);
    /// Brings `size` from the object store to a node, then runs `action`, unless it crashes first.
    void download(NodeId node, Bytes size, std::function<void()> action);

    void crash(NodeId node);
    void restart(NodeId node);
    void cut(std::size_t link);
    void restore(std::size_t link);
    /// Called with the node before it is destroyed.
    void on_crash(std::function<void(NodeId)> hook) { crash_hook_ = std::move(hook); }
    /// Called after every event: where tests assert invariants.
    void on_event(std::function<void()> hook) { event_hook_ = std::move(hook); }

    /// Runs until `done()` or until `limit`; true if done.
    bool run(Nanoseconds limit, const std::function<bool()>& done);

private:
    struct SimNode {
        std::unique_ptr<Node> node;
        Factory factory;
        std::size_t site;
        FluidNetwork::LinkId egress;
        FluidNetwork::LinkId ingress;
        FluidNetwork::FlowId download;
        bool absent = false;
        std::uint64_t incarnation = 0;
    };
    struct Connection {
        NodeId low, high;
        FluidNetwork::FlowId up, down;  // low -> high, high -> low
        std::vector<std::size_t> wan;
        bool open = false;
        bool kept = false;
        std::uint64_t generation = 0;
    };
    struct Parcel {
        NodeId from = kNoNode;
        NodeId to = kNoNode;
        std::uint64_t generation = 0;  // of the connection, or the node's incarnation
        Message message{};
        std::function<void()> action;  // a download
        bool dropped = false;
    };
    struct Pending {
        Nanoseconds time;
        std::uint64_t sequence;
        std::uint64_t slot;
        bool operator>(const Pending& other) const {
            return time != other.time ? time > other.time : sequence > other.sequence;
        }
    };

    Connection& connection(NodeId a, NodeId b);
    void make_flows(Connection& connection);
    bool route_up(const Connection& connection) const;
    void open_connection(Connection& connection);
    void close_connection(Connection& connection);
    void lose(Connection& connection);
    void reconnect_later(NodeId a, NodeId b);
    void deliver(const FluidNetwork::Arrival& arrival);
    std::uint64_t take_slot();

    const Topology& topology_;
    Timeline& timeline_;
    SimulatorOptions options_;
    FluidNetwork network_;
    std::vector<FluidNetwork::LinkId> wan_forward_, wan_backward_, store_links_;
    std::vector<bool> wan_up_;
    std::vector<std::uint64_t> wan_cuts_;
    std::vector<SimNode> nodes_;
    std::map<std::pair<NodeId, NodeId>, Connection> connections_;
    std::vector<Parcel> parcels_;
    std::vector<std::uint64_t> free_parcels_;
    std::priority_queue<Pending, std::vector<Pending>, std::greater<>> queue_;
    std::vector<std::function<void()>> actions_;
    std::vector<std::uint64_t> free_actions_;
    std::vector<FluidNetwork::Arrival> arrivals_;
    std::function<void(NodeId)> crash_hook_;
    std::function<void()> event_hook_;
    Nanoseconds now_{0};
    std::uint64_t sequence_ = 0;
    std::uint64_t connections_made_ = 0;
    std::uint64_t events_ = 0;
};

/// Gives any role's Env its four basic effects.
template <class RoleEnv>
class SimEnv : public RoleEnv {
public:
    SimEnv(Simulator& simulator, NodeId id) : simulator_(simulator), id_(id) {}

    void send(NodeId to, Message message) override { simulator_.send(id_, to, std::move(message)); }
    void connect(NodeId peer) override { simulator_.connect(id_, peer); }
    void set_timer(std::uint32_t id, Nanoseconds delay) override {
        simulator_.set_timer(id_, id, delay);
    }
    void note(EventKind kind, const EventFields& fields) override {
        simulator_.note(id_, kind, fields);
    }

protected:
    Simulator& simulator() { return simulator_; }
    NodeId id() const { return id_; }

private:
    Simulator& simulator_;
    NodeId id_;
};

}  // namespace refit
