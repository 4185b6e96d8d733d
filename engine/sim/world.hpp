// One simulated run: trainer, relay tree, replicas, store and register in one world.
//
// Model     Protocol nodes exchange chunks over the simulated network. Every request of a node has
//           its work done by the world's bits (world_bits.hpp) and is answered after the time the
//           declared rates give it. With resident bits the chunks are real, and after each resident
//           check every rank is compared word for word with the version it should hold.
// Loop      step 1 is ready at 1 s, when all are connected; the next one after the refit is done
//           and the loop's step time has passed. Asynchronous: a version is ready when it is final
//           (engine/observe/rollout_loop.hpp) and the refit before it is done, the first one not
//           before 1 s. A late replica starts empty at its join time.
// Faults    fire when the edge into a node has delivered a share of the refit's chunks; they are
//           found by folding the timeline, so the timeline proves that they hit in between.
// Errors    missed: time ran out (who waits for what is in the message); corrupt or not_found from
//           the store.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/observe/rollout_loop.hpp"
#include "engine/plan.hpp"
#include "engine/protocol/coordinator.hpp"
#include "engine/protocol/relay.hpp"
#include "engine/protocol/replica.hpp"
#include "engine/protocol/source.hpp"
#include "engine/sim/simulator.hpp"
#include "engine/sim/world_bits.hpp"
#include "engine/store/delta_chain.hpp"

namespace refit {

struct WorldPlan {
    Topology topology;  // rates as they drive virtual time
    DeltaSpec delta;
    TransportSpec transport;
    Fleet fleet;
    Loop loop;
    std::vector<FaultSpec> faults;
    std::uint64_t seed = 1;
    std::uint64_t refits = 1;
    Nanoseconds limit = 1'000'000_s;
};

/// Resources the world uses and does not own.
struct WorldParts {
    WorldBits& bits;
    ObjectStore& store;
    /// Called between events; may throw to end the run (Ctrl-C). Empty: never.
    std::function<void()> between_events{};
    /// Called with what the timeline has got since the last call, a few hundred events at a time,
    /// and with the rest when the run ends, however it ends; nothing is left out. Empty: never.
    std::function<void(std::span<const Event>)> on_events{};
};

struct WorldTotals {
    std::uint64_t units_encoded = 0;
    std::uint64_t reencodes = 0;  // units encoded though a durable part had them
    std::uint64_t resident_checks = 0;
    std::uint64_t resident_failures = 0;
    std::uint64_t words_checked = 0;  // by resident checks, copies counted
    std::uint64_t mismatches = 0;     // words that differ from the truth after a check
    std::uint64_t decisions = 0;
    std::uint64_t store_bytes_read = 0;
    std::uint64_t trainer_gather_bytes = 0;
    std::uint64_t replica_gather_bytes = 0;
    std::uint64_t faults = 0;
    std::uint64_t events = 0;
};

class World {
public:
    /// Publishes version 0 as the anchor and loads it into every replica that is there from the
    /// start. `make_register` yields the register, starting at the anchor's decision.
    World(const WorldPlan& plan,
          const WorldParts& parts,
          const std::function<std::unique_ptr<Register>(const Decision&)>& make_register);
    ~World();

    Status run();
    /// Asserted by tests after every event.
    void on_event(std::function<void()> hook) { event_hook_ = std::move(hook); }

    const Timeline& timeline() const { return timeline_; }
    const RelayTree& tree() const { return tree_; }
    const WorldTotals& totals() const { return totals_; }
    Decision decided() const { return register_->read(); }
    Simulator& simulator() { return simulator_; }

    struct ReplicaView {
        NodeId node;
        const ReplicaDurable& durable;
        bool alive;
        bool serving;
    };
    std::vector<ReplicaView> replicas();
    /// Do the replica's ranks hold exactly this version? Counts the words that differ.
    std::uint64_t differing_words(NodeId replica, std::uint64_t version);

private:
    class SourceDriver;
    class RelayDriver;
    class ReplicaDriver;
    class CoordinatorDriver;
    struct ArmedFault {
        FaultSpec spec;
        NodeId node;
        bool fired = false;
    };

    void add_nodes();
    void start();
    void fold_events();
    bool run_simulator();
    void publish_events();
    void fold(const Event& event);
    void fire_faults(NodeId node);
    void fire(ArmedFault& fault);
    void plan_step(std::uint64_t version, Nanoseconds at);
    void plan_next(Nanoseconds at);
    void watch_rollouts();
    bool finished();
    Error stuck();
    Nanoseconds work_time(Bytes bytes, const DeclaredRate& rate) const;

    WorldPlan plan_;
    WorldParts parts_;
    RelayTree tree_;
    Timeline timeline_;
    Simulator simulator_;
    Timing timing_;
    std::unique_ptr<Register> register_;
    Manifest anchor_;
    WorldTotals totals_;

    std::unique_ptr<SourceDriver> source_;
    std::vector<std::unique_ptr<RelayDriver>> relays_;
    std::vector<std::unique_ptr<ReplicaDriver>> replicas_;
    std::unique_ptr<CoordinatorDriver> coordinator_;
    NodeId coordinator_id_ = kNoNode;

    std::function<void()> event_hook_;
    std::optional<Error> failure_;
    std::size_t folded_ = 0;
    std::size_t published_ = 0;
    std::uint64_t refits_done_ = 0;
    Nanoseconds step_at_{0};               // when the step in flight became ready
    std::optional<RolloutLoop> rollouts_;  // asynchronous loops
    std::uint64_t handed_over_ = 0;        // asynchronous: the newest version the source was given
    Nanoseconds wake_at_{0};
    std::vector<ArmedFault> faults_;
    std::vector<std::uint32_t> received_;  // chunks of the refit in flight, by node
    std::uint32_t chunks_of_refit_ = 0;    // known once it is sealed
    std::uint64_t refit_in_flight_ = 0;
};

}  // namespace refit
