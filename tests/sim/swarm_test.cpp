// Thousands of small worlds, each from one seed, with crashes and cuts at random times.
//
// After every event   of the replicas that serve, all serve one version (I2); nobody has applied
//                     what is not decided (I3); no unit of a durable part is encoded again (I5);
//                     no acknowledged chunk arrives twice (I6); decisions grow by one (I3).
// When a replica      begins to serve, and at every 97th event: each word of each of its ranks is
// changes             the version's (I1), and every chunk a node holds has the hash its own
//                     manifest names (I13).
// At the end          the group serves the newest version within a bound (I9), joiner included
//                     (I8). Some seeds run twice: the timelines are equal (I12).
// Repeat one          REFIT_SWARM_FIRST=seed REFIT_SWARM_SEEDS=1 refit_swarm_test
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "engine/base/hash.hpp"
#include "tests/sim/tiny_world.hpp"

namespace refit {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct SwarmTotals {
    std::uint64_t faults = 0;
    std::uint64_t events = 0;
    std::uint64_t loads = 0;
    std::uint64_t resumes = 0;
};

/// Crashes, cuts and returns until `quiet`; then everybody is back and must get through.
class FaultPlan {
public:
    FaultPlan(World& world, std::uint64_t seed, SwarmTotals& totals)
        : world_(world), rng_(seed, 0xFA17), totals_(totals) {
        next(Nanoseconds{static_cast<std::int64_t>(rng_.below(500'000'000))});
    }

private:
    void next(Nanoseconds at) {
        if (at > 25_s) return;
        world_.simulator().at(at, [this] {
            strike();
            next(world_.simulator().now() +
                 Nanoseconds{static_cast<std::int64_t>(rng_.below(1'400'000'000))});
        });
    }

    void strike() {
        Simulator& simulator = world_.simulator();
        const Nanoseconds back = simulator.now() + 100_ms +
                                 Nanoseconds{static_cast<std::int64_t>(rng_.below(1'500'000'000))};
        ++totals_.faults;
        if (rng_.chance(350'000)) {
            const std::size_t link = rng_.below(3);
            simulator.cut(link);
            simulator.at(back, [&simulator, link] { simulator.restore(link); });
            return;
        }
        // One past the tree is the coordinator. A late replica that is not there yet stays away.
        const auto node = static_cast<NodeId>(rng_.below(world_.tree().nodes.size() + 1));
        if (!simulator.alive(node)) return;
        simulator.crash(node);
        simulator.at(back, [&simulator, node] { simulator.restart(node); });
    }

    World& world_;
    Rng rng_;
    SwarmTotals& totals_;
};

class Invariants {
public:
    explicit Invariants(World& world) : world_(world) {}

    void check() {
        ++events_;
        const std::uint64_t decided = world_.decided().version;
        EXPECT_TRUE(decided == decided_ || decided == decided_ + 1) << "decision jumped";
        decided_ = decided;
        EXPECT_EQ(world_.totals().reencodes, 0u);
        std::optional<std::uint64_t> served;
        for (const World::ReplicaView& view : world_.replicas()) {
            EXPECT_LE(view.durable.active, decided) << "applied without a decision";
            State& state = states_[view.node];
            const State now{view.serving, view.durable.active};
            if (view.serving) {
                if (view.durable.member) {
                    EXPECT_TRUE(!served || *served == now.version) << "two versions served";
                    served = now.version;
                }
                if (now != state || events_ % 97 == 0) check_words(view);
            }
            if (now != state || events_ % 97 == 0) check_chunks(view.durable.holding);
            state = now;
        }
        const auto& timeline = world_.timeline().events();
        for (; seen_ < timeline.size(); ++seen_) {
            EXPECT_NE(timeline[seen_].kind, EventKind::chunk_repeated) << "chunk sent twice";
            EXPECT_NE(timeline[seen_].kind, EventKind::chunk_refused);
            EXPECT_NE(timeline[seen_].kind, EventKind::check_failed);
        }
    }

private:
    struct State {
        bool serving = false;
        std::uint64_t version = 0;
        bool operator==(const State&) const = default;
    };

    void check_words(const World::ReplicaView& view) {
        EXPECT_EQ(world_.differing_words(view.node, view.durable.active), 0u)
            << "a serving replica holds wrong words";
    }
    static void check_chunks(const Holding& holding) {
        for (const PartRecord& part : holding.parts) {
            for (std::uint32_t i = 0; i < part.chunks.size(); ++i) {
                const std::uint32_t chunk = part.first_chunk + i;
                if (!holding.have.test(chunk)) continue;
                EXPECT_EQ(sha256(holding.bodies[chunk].span()), part.chunks[i].hash)
                    << "a held chunk belongs to another delta";
            }
        }
    }

    World& world_;
    std::map<NodeId, State> states_;
    std::uint64_t decided_ = 0;
    std::uint64_t events_ = 0;
    std::size_t seen_ = 0;
};

/// Runs one seed and returns a digest of its timeline.
Hash256 run_seed(std::uint64_t seed, SwarmTotals& totals) {
    TinyWorld world(tiny_plan(seed, 3));
    Invariants invariants(*world);
    FaultPlan faults(*world, seed, totals);
    world->on_event([&] { invariants.check(); });
    const Status status = world->run();
    EXPECT_TRUE(status.has_value()) << status.error().what;
    EXPECT_EQ(world->decided().version, 3u);
    EXPECT_EQ(world->totals().mismatches, 0u);
    EXPECT_EQ(world->totals().resident_failures, 0u);
    totals.events += world->totals().events;
    ByteWriter bytes;
    for (const Event& event : world->timeline().events()) {
        totals.loads += event.kind == EventKind::load_begin ? 1 : 0;
        bytes.write(event.at.count);
        bytes.write(event.node);
        bytes.write(event.peer);
        bytes.write(event.index);
        bytes.write(event.kind);
    }
    return sha256(bytes.bytes());
}

TEST(Swarm, NeverServesMixedOrWrongWordsAndAlwaysGetsThrough) {
    const std::uint64_t first = from_environment("REFIT_SWARM_FIRST", 1);
    const std::uint64_t seeds = from_environment("REFIT_SWARM_SEEDS", 2000);
    SwarmTotals totals;
    for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
        run_seed(seed, totals);
        ASSERT_FALSE(HasFailure())
            << "repeat with REFIT_SWARM_FIRST=" << seed << " REFIT_SWARM_SEEDS=1 refit_swarm_test";
    }
    RecordProperty("faults", std::to_string(totals.faults));
    std::printf(
        "%llu seeds, %llu faults, %llu events, %llu reloads from the store: 0 unsafe, "
        "0 stuck\n",
        static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(totals.faults),
        static_cast<unsigned long long>(totals.events),
        static_cast<unsigned long long>(totals.loads));
}

TEST(Swarm, OneSeedIsOneRun) {
    SwarmTotals totals;
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
        EXPECT_EQ(run_seed(seed, totals), run_seed(seed, totals)) << "seed " << seed;
    EXPECT_NE(run_seed(1, totals), run_seed(2, totals));
}

}  // namespace
}  // namespace refit
