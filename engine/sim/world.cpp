#include "engine/sim/world.hpp"

#include <algorithm>

#include "engine/observe/cast.hpp"
#include "engine/sim/world_drivers.hpp"

namespace refit {

namespace {

constexpr Nanoseconds kFirstStep = 1_s;
// A watcher's call costs more than an event: one at a time it would slow the run by its calls
// alone.
constexpr std::size_t kPublishEvents = 256;

SimulatorOptions options_of(const WorldPlan& plan) {
    SimulatorOptions options;
    options.seed = plan.seed;
    options.goodput = plan.transport.goodput;
    if (plan.transport.detect.count > 0) options.detect = plan.transport.detect;
    return options;
}

Timing timing_of(const WorldPlan& plan) {
    Timing timing;
    timing.window = plan.transport.window;
    timing.chunks_per_part = plan.delta.chunks_per_part;
    if (plan.transport.reconnect.count > 0) timing.reconnect = plan.transport.reconnect;
    return timing;
}

}  // namespace

World::World(const WorldPlan& plan,
             const WorldParts& parts,
             const std::function<std::unique_ptr<Register>(const Decision&)>& make_register)
    : plan_(plan),
      parts_(parts),
      tree_(derive_tree(plan_.topology)),
      timeline_(node_names(tree_)),
      simulator_(plan_.topology, timeline_, options_of(plan)),
      timing_(timing_of(plan)),
      coordinator_id_(static_cast<NodeId>(tree_.nodes.size())),
      received_(tree_.nodes.size()) {
    anchor_ = parts.bits.publish_anchor(parts.store);
    register_ = make_register({0, anchor_.sealed_id()});
    add_nodes();
    if (plan.loop.shape == LoopShape::asynchronous)
        rollouts_.emplace(plan.loop, tree_.nodes.size());
    for (const FaultSpec& fault : plan.faults) {
        const NodeId node = fault.node == "coordinator" ? coordinator_id_ : tree_.find(fault.node);
        REFIT_ASSERT(node != kNoNode);  // the scenario was validated
        faults_.push_back({fault, node});
    }
    simulator_.on_crash([this](NodeId id) {
        for (auto& replica : replicas_)
            if (replica->replica() != nullptr && replica->replica() == simulator_.node(id))
                replica->lose_memory();
    });
    simulator_.on_event([this] {
        fold_events();
        if (timeline_.events().size() - published_ >= kPublishEvents) publish_events();
        if (parts_.between_events) parts_.between_events();
        if (event_hook_) event_hook_();
    });
}

World::~World() = default;

void World::add_nodes() {
    std::set<NodeId> members;
    std::size_t serving = 0;
    for (NodeId id = 0; id < tree_.nodes.size(); ++id) {
        const TreeNode& node = tree_.nodes[id];
        const Site& site = plan_.topology.sites[node.site];
        if (node.role == NodeRole::source) {
            source_ = std::make_unique<SourceDriver>(*this, id);
            simulator_.add_node(node.site, site.relay_nic, [this] { return source_->make(); });
        } else if (node.role == NodeRole::relay) {
            RelayDriver* relay =
                relays_.emplace_back(std::make_unique<RelayDriver>(*this, id)).get();
            simulator_.add_node(node.site, site.relay_nic, [relay] { return relay->make(); });
        } else {
            const Nanoseconds join_at = site.replicas[node.replica].join_at;
            ReplicaDriver* replica = replicas_
                                         .emplace_back(std::make_unique<ReplicaDriver>(
                                             *this, id, parts_.bits.replica(serving++), join_at))
                                         .get();
            if (!replica->late()) members.insert(id);
            simulator_.add_node(
                node.site, site.replica_nic, [replica] { return replica->make(); },
                replica->late());
        }
    }
    coordinator_ = std::make_unique<CoordinatorDriver>(*this, coordinator_id_, members);
    const std::size_t home = plan_.topology.trainer_site();
    simulator_.add_node(home, plan_.topology.sites[home].relay_nic,
                        [this] { return coordinator_->make(); });
    for (NodeId id = 0; id < tree_.nodes.size(); ++id)
        if (tree_.nodes[id].role != NodeRole::relay) simulator_.keep_connected(id, coordinator_id_);
}

void World::start() {
    for (auto& replica : replicas_)
        if (!replica->late()) replica->load_anchor(anchor_);
    simulator_.build();
    std::size_t next = 0;
    for (NodeId id = 0; id < tree_.nodes.size(); ++id) {
        if (tree_.nodes[id].role != NodeRole::replica) {
            simulator_.node(id)->on_start();
            continue;
        }
        ReplicaDriver& replica = *replicas_[next++];
        if (replica.late()) {
            const Site& site = plan_.topology.sites[tree_.nodes[id].site];
            simulator_.at(site.replicas[tree_.nodes[id].replica].join_at,
                          [this, id] { simulator_.restart(id); });
        } else {
            replica.replica()->start_loaded();
        }
    }
    simulator_.node(coordinator_id_)->on_start();
    if (!rollouts_) plan_step(1, kFirstStep);
}

Status World::run() {
    if (!failure_) start();
    const bool done = run_simulator();
    totals_.events = simulator_.events();
    if (failure_) return *failure_;
    if (!done) return stuck();
    for (const ArmedFault& fault : faults_) {
        if (!fault.fired) {
            return Error{ErrorCode::missed, "the fault at " + fault.spec.node + " in refit " +
                                                std::to_string(fault.spec.refit) +
                                                " never happened: too few chunks arrived there"};
        }
    }
    return Done{};
}

/// Whoever watches has seen everything afterwards, however it ends.
bool World::run_simulator() {
    try {
        const bool done =
            simulator_.run(plan_.limit, [this] { return failure_.has_value() || finished(); });
        publish_events();
        return done;
    } catch (...) {
        publish_events();
        throw;
    }
}

/// Everybody that lives serves the last version, late ones included.
bool World::finished() {
    if (refits_done_ < plan_.refits) return false;
    return std::ranges::all_of(replicas_, [this](const auto& driver) {
        Replica* replica = driver->replica();
        return replica != nullptr && replica->serving() && driver->durable().active == plan_.refits;
    });
}

Error World::stuck() {
    std::string waiting;
    for (const ReplicaView& view : replicas()) {
        if (view.alive && view.serving && view.durable.active == plan_.refits) continue;
        waiting += (waiting.empty() ? "" : ", ") + tree_.nodes[view.node].name + " at version " +
                   std::to_string(view.durable.active);
    }
    return Error{ErrorCode::missed, "not finished after " +
                                        std::to_string(to_seconds(simulator_.now())) +
                                        " simulated seconds; waiting for " + waiting};
}

void World::plan_step(std::uint64_t version, Nanoseconds at) {
    simulator_.at(at, [this, version] {
        if (!simulator_.alive(0)) {
            plan_step(version, simulator_.now() + timing_.retry);
            return;
        }
        step_at_ = simulator_.now();
        source_->on_step_ready(version);
    });
}

Nanoseconds World::work_time(Bytes bytes, const DeclaredRate& rate) const {
    return process_time(bytes, rate.value);
}

void World::fold_events() {
    bool loop_moved = false;
    for (; folded_ < timeline_.events().size(); ++folded_) {
        const Event event = timeline_.events()[folded_];  // a copy: faults append
        fold(event);
        loop_moved |= rollouts_ && rollouts_->on_event(event);
        loop_moved |= rollouts_ && event.kind == EventKind::refit_done;
    }
    if (loop_moved) watch_rollouts();
}

void World::publish_events() {
    const std::span<const Event> all = timeline_.events();
    if (parts_.on_events && published_ < all.size()) parts_.on_events(all.subspan(published_));
    published_ = all.size();
}

void World::fold(const Event& event) {
    switch (event.kind) {
        case EventKind::encode_begin:
            refit_in_flight_ = event.version;
            chunks_of_refit_ = 0;
            std::ranges::fill(received_, 0u);
            return;
        case EventKind::sealed:
            chunks_of_refit_ = 0;
            for (const PartRecord& part : source_->durable().parts)
                chunks_of_refit_ += static_cast<std::uint32_t>(part.chunks.size());
            for (NodeId id = 0; id < received_.size(); ++id) fire_faults(id);
            return;
        case EventKind::chunk_received:
            ++received_[event.node];
            fire_faults(event.node);
            return;
        case EventKind::node_up:
            if (rollouts_ && handed_over_ <= refits_done_) return;  // the trainer is not so far
            if (event.node == 0 && refit_in_flight_ <= refits_done_ && refits_done_ < plan_.refits)
                plan_step(refits_done_ + 1, std::max(simulator_.now(), step_at_));
            return;
        case EventKind::refit_done:
            if (event.version <= refits_done_) return;  // a restarted coordinator says it again
            refits_done_ = event.version;
            if (refits_done_ < plan_.refits && !rollouts_) plan_next(event.at);
            return;
        default:
            return;
    }
}

void World::plan_next(Nanoseconds at) {
    const Loop& loop = plan_.loop;
    step_at_ = loop.shape == LoopShape::synchronous
                   ? at + loop.kv_recompute + loop.generation + loop.step
                   : std::max(at, step_at_ + loop.step);
    plan_step(refits_done_ + 1, step_at_);
}

/// Gives the source a version that is final as soon as the one before it is served, and comes back
/// when the rollouts are further. What a wake-up was set for may have moved: then it finds nothing.
void World::watch_rollouts() {
    if (handed_over_ == plan_.refits) return;
    rollouts_->advance(simulator_.now());
    if (rollouts_->finals() > handed_over_ && refits_done_ == handed_over_)
        plan_step(++handed_over_, std::max(simulator_.now(), kFirstStep));
    const std::optional<Nanoseconds> change = rollouts_->next_change();
    if (!change || *change == wake_at_) return;
    wake_at_ = *change;
    simulator_.at(wake_at_, [this] { watch_rollouts(); });
}

void World::fire_faults(NodeId node) {
    if (chunks_of_refit_ == 0) return;
    for (ArmedFault& fault : faults_) {
        // A coordinator has no edge of its own: it fails when the first relay is that far.
        const NodeId watched = fault.node == coordinator_id_ ? NodeId{1} : fault.node;
        if (fault.fired || watched != node || fault.spec.refit != refit_in_flight_) continue;
        if (std::uint64_t{received_[node]} * 100 <
            std::uint64_t{fault.spec.at_percent} * chunks_of_refit_)
            continue;
        fire(fault);
    }
}

void World::fire(ArmedFault& fault) {
    fault.fired = true;
    ++totals_.faults;
    const Nanoseconds back = simulator_.now() + fault.spec.duration;
    if (fault.spec.kind != FaultKind::cut) {
        simulator_.crash(fault.node);
        if (fault.spec.kind == FaultKind::crash)
            simulator_.at(back, [this, node = fault.node] { simulator_.restart(node); });
        return;
    }
    const TreeNode& child = tree_.nodes[fault.node];
    const auto route = find_route(plan_.topology, tree_.nodes[child.parent].site, child.site);
    for (const std::size_t wan : route->links) {
        simulator_.cut(wan);
        simulator_.at(back, [this, wan] { simulator_.restore(wan); });
    }
}

std::vector<World::ReplicaView> World::replicas() {
    std::vector<ReplicaView> views;
    std::size_t next = 0;
    for (NodeId id = 0; id < tree_.nodes.size(); ++id) {
        if (tree_.nodes[id].role != NodeRole::replica) continue;
        ReplicaDriver& driver = *replicas_[next++];
        Replica* replica = driver.replica();
        views.push_back(
            {id, driver.durable(), replica != nullptr, replica != nullptr && replica->serving()});
    }
    return views;
}

std::uint64_t World::differing_words(NodeId id, std::uint64_t version) {
    std::size_t index = 0;
    for (NodeId i = 0; i < id; ++i)
        if (tree_.nodes[i].role == NodeRole::replica) ++index;
    return replicas_[index]->bits().differing_words(version);
}

}  // namespace refit
