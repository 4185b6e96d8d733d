// A 1T payload to 32 leaves in three regions, by handle: the relay tree against its bound.
//
// Bound    payload / slowest WAN + half its rtt + one chunk on the last hop. The trainer's NIC
//          (25 Gbit/s) carries 10 + 5 + 8, the relay NIC 100 / 11 > 5, so the 5 Gbit/s link
//          decides: 64 GiB x 8 / 5e9 + 0.0375 + 16 MiB x 8 / (100e9 / 11) = 109.95 + 0.04 + 0.01 =
//          110.0 s.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "engine/protocol/relay.hpp"
#include "engine/sim/simulator.hpp"

namespace refit {
namespace {

constexpr std::uint32_t kChunks = 4096;
constexpr std::uint32_t kChunkBytes = 16u << 20;
constexpr std::uint32_t kPartChunks = 64;

Site region(const char* name, std::uint32_t replicas) {
    Site site;
    site.name = name;
    site.relay_nic = 100_Gbps;
    site.replica_nic = 25_Gbps;
    site.store_rate = 10_Gbps;
    site.store_rtt = 10_ms;
    site.local_rtt = Nanoseconds{20'000};
    for (std::uint32_t i = 1; i <= replicas; ++i)
        site.replicas.push_back({"replica-" + std::to_string(i), "replicated:r1", {}});
    return site;
}

Topology three_regions() {
    Topology topology;
    topology.name = "bound";
    topology.sites = {region("home", 0), region("a", 11), region("b", 11), region("c", 10)};
    topology.sites.front().trainer = true;
    topology.sites.front().relay_nic = 25_Gbps;
    topology.sites.front().relays = 0;
    topology.links = {{"home", "a", 10_Gbps, 30_ms, "test"},
                      {"home", "b", 5_Gbps, 75_ms, "test"},
                      {"home", "c", 8_Gbps, 110_ms, "test"}};
    return topology;
}

/// Has everything from the start; sizes only.
class PhantomSource final : public Node, private ExchangeOwner {
public:
    PhantomSource(Env& env, const Timing& timing) : exchange_(env, *this, timing, holding_, {}) {}

    void on_start() override {
        OpenRecord open;
        open.codec = "full";
        open.number = 1;
        open.unit_words = 1;
        open.chunk_bytes = kChunkBytes;
        exchange_.open(open);
        Hash256 previous = holding_.transfer;
        for (std::uint32_t p = 0; p < kChunks / kPartChunks; ++p) {
            PartRecord part;
            part.index = p;
            part.previous = previous;
            part.first_unit = p;
            part.unit_count = 1;
            part.first_chunk = p * kPartChunks;
            part.chunks.assign(kPartChunks, {kChunkBytes, {}});
            previous = sha256(part.serialize());
            std::vector<Body> bodies(kPartChunks);
            for (Body& body : bodies) body.size = kChunkBytes;
            exchange_.add_part(part, std::move(bodies));
        }
    }
    void on_connect(NodeId peer) override { exchange_.on_connect(peer); }
    void on_disconnect(NodeId peer) override { exchange_.on_disconnect(peer); }
    void on_message(NodeId from, const Message& message) override {
        exchange_.on_message(from, message);
    }
    void on_timer(std::uint32_t) override {}

private:
    bool may_adopt(const OpenRecord&) override { return false; }
    void on_adopted() override {}
    void on_part_complete(std::uint32_t) override {}
    void on_sealed() override {}

    Holding holding_;
    Exchange exchange_;
};

/// Seconds until every leaf has every chunk.
double broadcast(std::uint32_t window, std::uint64_t& events) {
    const Topology topology = three_regions();
    EXPECT_TRUE(validate(topology).has_value());
    const RelayTree tree = derive_tree(topology);
    std::vector<std::string> names;
    for (const TreeNode& node : tree.nodes) names.push_back(node.name);
    Timeline timeline(names);
    Simulator simulator(topology, timeline, {.jitter_per_million = 0});
    Timing timing;
    timing.window = window;
    std::vector<std::unique_ptr<SimEnv<Env>>> envs;
    std::vector<Holding> holdings(tree.nodes.size());
    for (NodeId id = 0; id < tree.nodes.size(); ++id) {
        const TreeNode& node = tree.nodes[id];
        Env& env = *envs.emplace_back(std::make_unique<SimEnv<Env>>(simulator, id));
        const Site& site = topology.sites[node.site];
        const bool replica = node.role == NodeRole::replica;
        simulator.add_node(node.site, replica ? site.replica_nic : site.relay_nic,
                           [&, id]() -> std::unique_ptr<Node> {
                               if (id == 0) return std::make_unique<PhantomSource>(env, timing);
                               return std::make_unique<Relay>(
                                   env, timing, holdings[id],
                                   std::vector<NodeId>{tree.nodes[id].parent});
                           });
    }
    simulator.build();
    for (NodeId id = 0; id < tree.nodes.size(); ++id) simulator.node(id)->on_start();
    std::size_t full = 0;
    std::size_t folded = 0;
    std::vector<std::uint32_t> received(tree.nodes.size());
    EXPECT_TRUE(simulator.run(10'000_s, [&] {
        for (; folded < timeline.events().size(); ++folded) {
            const Event& event = timeline.events()[folded];
            if (event.kind == EventKind::chunk_received && ++received[event.node] == kChunks)
                ++full;
        }
        return full == tree.nodes.size() - 1;
    }));
    events = simulator.events();
    return to_seconds(simulator.now());
}

TEST(Broadcast, OneTrillionParametersToThirtyTwoLeavesIsWithinTwoPercentOfTheBound) {
    const double payload = 4096.0 * 16 * 1048576;
    const double bound = payload * 8 / 5e9 + 0.0375 + kChunkBytes * 8.0 / (100e9 / 11);
    std::uint64_t events = 0;
    const auto start = std::chrono::steady_clock::now();
    const double seconds = broadcast(16, events);
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    std::printf("window 16: %.3f simulated s, %.4f of the bound; %llu events in %.2f s\n", seconds,
                seconds / bound, static_cast<unsigned long long>(events), wall.count());
    EXPECT_GE(seconds, bound * 0.999);
    EXPECT_LE(seconds, bound * 1.02);
}

TEST(Broadcast, AWindowBelowTheBandwidthDelayProductIsSlower) {
    // 5 Gbit/s x 75 ms = 47 MB; two chunks of 16 MiB leave the link idle part of the time.
    std::uint64_t events = 0;
    EXPECT_GT(broadcast(2, events), 120.0);
}

}  // namespace
}  // namespace refit
