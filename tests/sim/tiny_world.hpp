// A whole world small enough to run thousands of: a tiny transformer in memory, three sites, real
// codecs, real digests, and faults at random times from one seed.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/rng.hpp"
#include "engine/sim/resident_bits.hpp"
#include "engine/sim/world.hpp"
#include "tests/support/random_catalog.hpp"
#include "workloads/layouts.hpp"

namespace refit {

/// Versions in memory; each step replaces about `per_million` of the words by random ones.
class TinySteps final : public StepSource {
public:
    TinySteps(Catalog catalog,
              std::uint64_t seed,
              std::uint64_t versions,
              std::uint64_t per_million = 40'000)
        : catalog_(std::move(catalog)) {
        Rng rng(seed, 0x57E9);
        std::vector<std::uint16_t> words(catalog_.words().count);
        for (std::uint16_t& word : words) word = static_cast<std::uint16_t>(rng.next());
        for (std::uint64_t v = 0; v < versions; ++v) {
            if (v > 0) {
                for (std::uint16_t& word : words)
                    if (rng.chance(per_million)) word = static_cast<std::uint16_t>(rng.next());
            }
            versions_.push_back(std::make_unique<MemoryWeights>(catalog_, words));
        }
    }

    std::string name() const override { return "tiny"; }
    const Catalog& catalog() const override { return catalog_; }
    std::uint64_t versions() const override { return versions_.size(); }
    const Weights& version(std::uint64_t number) const override { return *versions_[number]; }

private:
    Catalog catalog_;
    std::vector<std::unique_ptr<MemoryWeights>> versions_;
};

inline Site tiny_site(std::string name, std::uint32_t relays, std::vector<ReplicaSpec> replicas) {
    Site site;
    site.name = std::move(name);
    site.relays = relays;
    site.replicas = std::move(replicas);
    site.relay_nic = site.replica_nic = BitsPerSecond{4'000'000};
    site.store_rate = BitsPerSecond{2'000'000};
    site.store_rtt = 10_ms;
    site.local_rtt = 1_ms;
    return site;
}

/// Trainer in one region; 1 + 2 + 2 replicas with five different layouts, the last joins late.
inline Topology tiny_topology(Nanoseconds join_at) {
    Topology topology;
    topology.name = "tiny";
    topology.sites.push_back(tiny_site("us", 1, {{"replica-1", "replicated:r1", {}}}));
    topology.sites.front().trainer = true;
    topology.sites.push_back(
        tiny_site("eu", 2, {{"replica-1", "tp:tp2", {}}, {"replica-2", "fsdp:dp3", {}}}));
    topology.sites.push_back(
        tiny_site("ap", 1, {{"replica-1", "columns:tp2", {}}, {"replica-2", "rows:tp3", join_at}}));
    topology.links.push_back({"us", "eu", BitsPerSecond{200'000}, 80_ms, "test"});
    topology.links.push_back({"us", "ap", BitsPerSecond{150'000}, 160_ms, "test"});
    topology.links.push_back({"eu", "ap", BitsPerSecond{100'000}, 200_ms, "test"});
    return topology;
}

inline WorldPlan tiny_plan(std::uint64_t seed, std::uint64_t refits) {
    WorldPlan plan;
    plan.topology = tiny_topology(draw(seed, 1, 0) % 2 == 0 ? 1_s : Nanoseconds{0});
    plan.delta = {"index-value", Bytes{64}, 2, 700};
    plan.transport.window = 4;
    plan.transport.goodput = 1.0;
    plan.transport.detect = 300_ms;
    plan.transport.reconnect = 100_ms;
    const DeclaredRate rate{BytesPerSecond{50'000}, "test"};
    plan.fleet = {rate, rate, rate, rate, 50_ms, "test"};
    plan.loop.step = 2_s;
    plan.seed = seed;
    plan.refits = refits;
    plan.limit = 600_s;
    return plan;
}

/// Owns everything a World borrows.
class TinyWorld {
public:
    using OnEvents = std::function<void(std::span<const Event>)>;

    explicit TinyWorld(const WorldPlan& plan, const OnEvents& on_events = {})
        : device_(make_cpu_device(1, "scalar")),
          steps_(tiny_transformer(), plan.seed, plan.refits + 1),
          grid_(steps_.catalog()),
          store_(make_memory_store()) {
        maps_.push_back(layout("fsdp:dp3"));
        for (const TreeNode& node : derive_tree(plan.topology).nodes)
            if (node.role == NodeRole::replica)
                maps_.push_back(
                    layout(plan.topology.sites[node.site].replicas[node.replica].layout));
        std::vector<const ShardMap*> serving;
        for (std::size_t i = 1; i < maps_.size(); ++i) serving.push_back(&maps_[i]);
        bits_ = make_resident_bits({*device_, steps_, grid_, maps_.front(), serving}, plan.delta,
                                   plan.seed);
        world_ = std::make_unique<World>(plan, WorldParts{*bits_, *store_, {}, on_events},
                                         make_memory_register);
    }

    World& operator*() { return *world_; }
    World* operator->() { return world_.get(); }
    const StepSource& steps() const { return steps_; }

private:
    ShardMap layout(const std::string& name) {
        auto map = make_layout(steps_.catalog(), name);
        REFIT_ASSERT(map.has_value());
        return std::move(map).value();
    }

    std::unique_ptr<Device> device_;
    TinySteps steps_;
    Grid grid_;
    std::unique_ptr<ObjectStore> store_;
    std::vector<ShardMap> maps_;
    std::unique_ptr<WorldBits> bits_;
    std::unique_ptr<World> world_;
};

}  // namespace refit
