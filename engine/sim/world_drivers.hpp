// The world's side of each node: durable state, the real work, and the time it takes.
// Private to world*.cpp.
#pragma once

#include "engine/sim/world.hpp"

namespace refit {

class World::SourceDriver final : public SimEnv<SourceEnv> {
public:
    SourceDriver(World& world, NodeId id);

    std::unique_ptr<Node> make();
    void on_step_ready(std::uint64_t version);

    std::uint32_t units() const override;
    OpenRecord open_record(std::uint64_t version, std::uint64_t attempt) override;
    Hash256 next_version(std::uint64_t version) override;
    void encode(std::uint64_t version, std::uint32_t unit) override;
    void store_part(const Part& part) override;
    void fetch_part(const PartRecord& part) override;
    void store_manifest(const Manifest& manifest) override;
    void rebase(std::uint64_t version, const Hash256& sealed) override;

    const SourceDurable& durable() const { return durable_; }

private:
    Source& source() { return static_cast<Source&>(*simulator().node(id())); }
    Nanoseconds store_time(Bytes bytes) const;

    World& world_;
    SourceDurable durable_;
    std::unique_ptr<TrainerBits> bits_;
};

class World::RelayDriver final : public SimEnv<Env> {
public:
    RelayDriver(World& world, NodeId id) : SimEnv(world.simulator_, id), world_(world) {}

    std::unique_ptr<Node> make();

private:
    World& world_;
    Holding durable_;
};

class World::ReplicaDriver final : public SimEnv<ReplicaEnv> {
public:
    ReplicaDriver(World& world, NodeId id, std::unique_ptr<ReplicaBits> bits, Nanoseconds join_at);

    std::unique_ptr<Node> make();
    void load_anchor(const Manifest& anchor);
    void lose_memory();

    void stage_part(const Holding& holding, std::uint32_t part) override;
    void drop_staged() override;
    void overwrite() override;
    void check_resident() override;
    void load(const Hash256& delta, bool from_resident) override;

    const ReplicaDurable& durable() const { return durable_; }
    const ReplicaBits& bits() const { return *bits_; }
    Replica* replica() { return static_cast<Replica*>(simulator().node(id())); }
    bool late() const { return late_; }

private:
    Status fold(const std::vector<Manifest>& chain);
    bool check(std::uint64_t version, const Hash256& id);

    World& world_;
    ReplicaDurable durable_;
    std::unique_ptr<ReplicaBits> bits_;
    std::uint64_t list_ = 0;  // which staging list an answer under way belongs to
    bool late_;
};

class World::CoordinatorDriver final : public SimEnv<CoordinatorEnv> {
public:
    CoordinatorDriver(World& world, NodeId id, std::set<NodeId> members)
        : SimEnv(world.simulator_, id), world_(world), durable_{std::move(members)} {}

    std::unique_ptr<Node> make();
    void acquire() override;
    void decide(std::uint64_t epoch, std::uint64_t from, Decision next) override;

    const CoordinatorDurable& durable() const { return durable_; }
    Coordinator* coordinator() { return static_cast<Coordinator*>(simulator().node(id())); }

private:
    Nanoseconds register_time() const;

    World& world_;
    CoordinatorDurable durable_;
};

/// Every parent a node may try: its own, then its backups. Relays never try a larger id, so that
/// no cycle can form whatever dies.
std::vector<NodeId> parents_of(const RelayTree& tree, NodeId id);

}  // namespace refit
