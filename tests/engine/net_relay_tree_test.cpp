#include "engine/net/relay_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/base/rng.hpp"

namespace refit {
namespace {

std::string numbered(std::string stem, std::size_t number) {
    stem += std::to_string(number);
    return stem;
}

Site make_site(const std::string& name, std::uint32_t relays, std::size_t replicas) {
    Site site;
    site.name = name;
    site.relays = relays;
    for (std::size_t i = 0; i < replicas; ++i) {
        site.replicas.push_back({numbered("replica-", i + 1), "tp:tp4", Nanoseconds{0}});
    }
    site.relay_nic = 100_Gbps;
    site.replica_nic = 25_Gbps;
    site.store_rate = 10_Gbps;
    site.local_rtt = 1_ms;
    return site;
}

WanLink make_link(const std::string& from,
                  const std::string& to,
                  std::uint64_t gbps,
                  unsigned rtt_ms) {
    return WanLink{from, to, BitsPerSecond{gbps * 1'000'000'000}, Nanoseconds{rtt_ms * 1'000'000},
                   "test"};
}

/// The trainer's site "us", with a relay and no replica, and what else is given.
Topology make_topology(std::vector<Site> others, std::vector<WanLink> links) {
    Topology topology;
    topology.sites = {make_site("us", 1, 0)};
    topology.sites[0].trainer = true;
    for (Site& site : others) topology.sites.push_back(std::move(site));
    topology.links = std::move(links);
    const Status status = validate(topology);
    EXPECT_TRUE(status.has_value()) << status.error().what;
    return topology;
}

std::string parent_of(const RelayTree& tree, const std::string& name) {
    const NodeId node = tree.find(name);
    if (node == kNoNode) return "no node " + name;
    const NodeId parent = tree.nodes[node].parent;
    return parent == kNoNode ? "" : tree.nodes[parent].name;
}

std::vector<std::string> backups_of(const RelayTree& tree, const std::string& name) {
    std::vector<std::string> names;
    for (const NodeId id : tree.nodes.at(tree.find(name)).backups) {
        names.push_back(tree.nodes.at(id).name);
    }
    return names;
}

using Names = std::vector<std::string>;

TEST(RelayTree, ChainsRelaysAndDealsReplicasRoundRobin) {
    const RelayTree tree =
        derive_tree(make_topology({make_site("eu", 3, 5)}, {make_link("us", "eu", 10, 75)}));
    EXPECT_EQ(tree.number, 1u);
    EXPECT_EQ(tree.nodes[0].role, NodeRole::source);
    EXPECT_EQ(tree.nodes[0].name, "source");
    EXPECT_EQ(tree.nodes[0].parent, kNoNode);
    EXPECT_TRUE(tree.nodes[0].backups.empty());
    EXPECT_EQ(tree.nodes.size(), 1u + 1u + 3u + 5u);
    EXPECT_EQ(parent_of(tree, "us/relay-1"), "source");
    EXPECT_EQ(parent_of(tree, "eu/relay-1"), "source");
    EXPECT_EQ(parent_of(tree, "eu/relay-2"), "eu/relay-1");
    EXPECT_EQ(parent_of(tree, "eu/relay-3"), "eu/relay-2");
    for (std::size_t i = 0; i < 5; ++i) {
        const std::string replica = numbered("eu/replica-", i + 1);
        EXPECT_EQ(parent_of(tree, replica), numbered("eu/relay-", i % 3 + 1));
        EXPECT_EQ(tree.nodes[tree.find(replica)].replica, i);
        EXPECT_EQ(tree.nodes[tree.find(replica)].role, NodeRole::replica);
        EXPECT_EQ(tree.nodes[tree.find(replica)].site, 1u);
    }
    EXPECT_EQ(tree.children(tree.find("eu/relay-1")),
              (std::vector<NodeId>{tree.find("eu/relay-2"), tree.find("eu/replica-1"),
                                   tree.find("eu/replica-4")}));
    EXPECT_EQ(tree.find("eu/relay-4"), kNoNode);
}

TEST(RelayTree, BackupsAreOtherRelaysThenGrandparentThenSource) {
    const RelayTree tree =
        derive_tree(make_topology({make_site("eu", 3, 2), make_site("ap", 2, 1)},
                                  {make_link("us", "eu", 10, 75), make_link("eu", "ap", 8, 30)}));
    EXPECT_EQ(backups_of(tree, "eu/relay-1"), Names{});  // all else in the site hangs off it
    EXPECT_EQ(backups_of(tree, "eu/relay-2"), Names{"source"});
    EXPECT_EQ(backups_of(tree, "eu/relay-3"), (Names{"eu/relay-1", "source"}));
    EXPECT_EQ(backups_of(tree, "eu/replica-1"), (Names{"eu/relay-2", "eu/relay-3", "source"}));
    EXPECT_EQ(backups_of(tree, "ap/relay-1"), Names{"source"});
    EXPECT_EQ(backups_of(tree, "ap/relay-2"), (Names{"eu/relay-1", "source"}));
    EXPECT_EQ(backups_of(tree, "ap/replica-1"), (Names{"ap/relay-2", "eu/relay-1", "source"}));
}

TEST(RelayTree, TakesTheWayWithTheWidestNarrowestLink) {
    // us - ap directly: 2. us - eu - ap: min(10, 8) = 8.
    const RelayTree detour =
        derive_tree(make_topology({make_site("ap", 1, 1), make_site("eu", 1, 1)},
                                  {make_link("us", "ap", 2, 10), make_link("us", "eu", 10, 75),
                                   make_link("eu", "ap", 8, 90)}));
    EXPECT_EQ(parent_of(detour, "eu/relay-1"), "source");
    EXPECT_EQ(parent_of(detour, "ap/relay-1"), "eu/relay-1");

    // us - ap directly: 9. us - eu - ap: min(10, 8) = 8.
    const RelayTree direct =
        derive_tree(make_topology({make_site("ap", 1, 1), make_site("eu", 1, 1)},
                                  {make_link("us", "ap", 9, 10), make_link("us", "eu", 10, 75),
                                   make_link("eu", "ap", 8, 90)}));
    EXPECT_EQ(parent_of(direct, "ap/relay-1"), "source");
}

TEST(RelayTree, BreaksTiesByRttThenNames) {
    const RelayTree by_rtt =
        derive_tree(make_topology({make_site("ap", 1, 1), make_site("eu", 1, 1)},
                                  {make_link("us", "ap", 5, 80), make_link("us", "eu", 5, 20),
                                   make_link("eu", "ap", 5, 10)}));
    EXPECT_EQ(parent_of(by_rtt, "ap/relay-1"), "eu/relay-1");

    // (ap, eu) < (ap, us) < (eu, us), and two of the three links make the tree.
    const RelayTree by_name = derive_tree(make_topology(
        {make_site("eu", 1, 1), make_site("ap", 1, 1)},
        {make_link("us", "eu", 5, 9), make_link("us", "ap", 5, 9), make_link("eu", "ap", 5, 9)}));
    EXPECT_EQ(parent_of(by_name, "ap/relay-1"), "source");
    EXPECT_EQ(parent_of(by_name, "eu/relay-1"), "ap/relay-1");
}

TEST(RelayTree, ServesTheTrainersSiteFromItsRelaysAndPassesOverTransitSites) {
    Topology topology =
        make_topology({make_site("exchange", 0, 0), make_site("eu", 1, 1)},
                      {make_link("us", "exchange", 10, 5), make_link("exchange", "eu", 10, 70)});
    topology.sites[0] = make_site("us", 2, 3);
    topology.sites[0].trainer = true;
    const RelayTree tree = derive_tree(topology);
    EXPECT_EQ(parent_of(tree, "us/relay-2"), "us/relay-1");
    EXPECT_EQ(parent_of(tree, "us/replica-2"), "us/relay-2");
    EXPECT_EQ(parent_of(tree, "eu/relay-1"), "source");
}

Topology random_topology(Rng& rng) {
    Topology topology;
    const std::size_t sites = 1 + rng.below(6);
    for (std::size_t i = 0; i < sites; ++i) {
        const auto relays = static_cast<std::uint32_t>(rng.below(4));
        const std::size_t replicas = relays == 0 ? 0 : rng.below(6);
        topology.sites.push_back(
            make_site(std::string(1, static_cast<char>('z' - i)), relays, replicas));
    }
    topology.sites[rng.below(sites)].trainer = true;
    for (std::size_t b = 1; b < sites; ++b) {
        const std::size_t must = rng.below(b);  // keeps it connected
        for (std::size_t a = 0; a < b; ++a) {
            if (a != must && rng.below(2) == 0) continue;
            topology.links.push_back(make_link(topology.sites[a].name, topology.sites[b].name,
                                               1 + rng.below(4),
                                               static_cast<unsigned>(rng.below(4))));
        }
    }
    return topology;
}

/// The widest bottleneck from `at` to `to`, over every simple path.
std::uint64_t widest(const Topology& topology,
                     const std::string& at,
                     const std::string& to,
                     std::set<std::string> seen) {
    if (at == to) return ~std::uint64_t{0};
    seen.insert(at);
    std::uint64_t best = 0;
    for (const WanLink& link : topology.links) {
        if (link.from != at && link.to != at) continue;
        const std::string& next = link.from == at ? link.to : link.from;
        if (seen.contains(next)) continue;
        best = std::max(best, std::min(link.rate.count, widest(topology, next, to, seen)));
    }
    return best;
}

TEST(RelayTree, ReachesEveryNodeOnceWithSoundBackupsOnRandomTopologies) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Rng rng{seed, 2};
        const Topology topology = random_topology(rng);
        ASSERT_TRUE(validate(topology).has_value());
        const RelayTree tree = derive_tree(topology);

        std::multiset<std::string> wanted{"source"};
        for (const Site& site : topology.sites) {
            for (std::uint32_t i = 0; i < site.relays; ++i) {
                wanted.insert(numbered(site.name + "/relay-", i + 1));
            }
            for (const ReplicaSpec& replica : site.replicas) {
                wanted.insert(site.name + "/" + replica.name);
            }
        }
        std::multiset<std::string> found;
        for (const TreeNode& node : tree.nodes) found.insert(node.name);
        ASSERT_EQ(found, wanted);

        for (NodeId id = 1; id < tree.nodes.size(); ++id) {
            const TreeNode& node = tree.nodes[id];
            ASSERT_LT(node.parent, id) << node.name;  // so the way up ends at the source
            ASSERT_NE(tree.nodes[node.parent].role, NodeRole::replica);
            std::set<NodeId> unique;
            for (const NodeId backup : node.backups) {
                ASSERT_TRUE(unique.insert(backup).second) << node.name;
                ASSERT_NE(backup, node.parent) << node.name;
                ASSERT_NE(tree.nodes[backup].role, NodeRole::replica);
                for (NodeId up = backup; up != kNoNode; up = tree.nodes[up].parent) {
                    ASSERT_NE(up, id) << node.name << " backed up by its own descendant";
                }
            }
            ASSERT_EQ(unique.contains(0), node.parent != 0) << node.name;
        }
    }
}

TEST(RelayTree, NoOtherParentsWouldWidenAnySiteOnRandomTopologies) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Rng rng{seed, 3};
        Topology topology = random_topology(rng);
        for (Site& site : topology.sites) site.relays = std::max<std::uint32_t>(site.relays, 1);
        const RelayTree tree = derive_tree(topology);
        const std::string root = topology.sites[topology.trainer_site()].name;

        std::map<std::size_t, std::uint64_t> reached{{topology.trainer_site(), ~std::uint64_t{0}}};
        for (const TreeNode& node : tree.nodes) {
            if (node.parent == kNoNode || node.site == tree.nodes[node.parent].site) continue;
            const std::size_t above = tree.nodes[node.parent].site;
            const auto route = find_route(topology, above, node.site);
            ASSERT_EQ(route->links.size(), 1u) << "two edges of the tree may share a link";
            reached[node.site] = std::min(reached.at(above), route->bottleneck.count);
            ASSERT_EQ(reached[node.site],
                      widest(topology, root, topology.sites[node.site].name, {}))
                << node.name;
        }
        ASSERT_EQ(reached.size(), topology.sites.size());
    }
}

TEST(RelayTree, IsTheSameForTheSameTopologyInAnyOrderOfItsLinks) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Rng rng{seed, 4};
        Topology topology = random_topology(rng);
        const RelayTree tree = derive_tree(topology);
        std::reverse(topology.links.begin(), topology.links.end());
        for (WanLink& link : topology.links) std::swap(link.from, link.to);
        const RelayTree again = derive_tree(topology);
        ASSERT_EQ(again.nodes.size(), tree.nodes.size());
        for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
            ASSERT_EQ(again.nodes[i].name, tree.nodes[i].name);
            ASSERT_EQ(again.nodes[i].parent, tree.nodes[i].parent);
            ASSERT_EQ(again.nodes[i].backups, tree.nodes[i].backups);
        }
    }
}

TEST(BroadcastSeconds, IsTheSlowestMembersCutPlusItsOwnDelay) {
    // The setting of the network notes: 64 GiB to 10, 5 and 8 Gbit/s at 30, 75 and 110 ms.
    // Slowest: 2^36 * 8 / 5e9 + 0.0375; the 110 ms belong to a faster member and do not add up.
    Topology topology = make_topology(
        {make_site("a", 1, 11), make_site("b", 1, 11), make_site("c", 1, 10)},
        {make_link("us", "a", 10, 30), make_link("us", "b", 5, 75), make_link("us", "c", 8, 110)});
    const double payload_bits = 68'719'476'736.0 * 8;
    EXPECT_DOUBLE_EQ(broadcast_seconds(topology, 64_GiB), payload_bits / 5e9 + 0.0375);

    topology.sites[2].replicas.clear();  // without b the slowest is c
    EXPECT_DOUBLE_EQ(broadcast_seconds(topology, 64_GiB), payload_bits / 8e9 + 0.055);
    for (Site& site : topology.sites) {
        for (ReplicaSpec& replica : site.replicas) replica.join_at = 1_s;
    }
    EXPECT_EQ(broadcast_seconds(topology, 64_GiB), 0);  // nobody is a member from the start
}

TEST(BroadcastSeconds, AddsParallelWaysAndIsCappedByBothNics) {
    // To a: 5 directly and 3 over b, so 8; least delay 20 ms over b, not 50 ms.
    Topology topology = make_topology(
        {make_site("a", 1, 1), make_site("b", 1, 0)},
        {make_link("us", "a", 5, 50), make_link("us", "b", 4, 10), make_link("b", "a", 3, 10)});
    const Bytes payload{1'000'000'000};  // 8 Gbit
    EXPECT_DOUBLE_EQ(broadcast_seconds(topology, payload), 8.0 / 8 + 0.010);
    topology.sites[1].replica_nic = 2_Gbps;
    EXPECT_DOUBLE_EQ(broadcast_seconds(topology, payload), 8.0 / 2 + 0.010);
    topology.sites[0].relay_nic = 1_Gbps;
    EXPECT_DOUBLE_EQ(broadcast_seconds(topology, payload), 8.0 / 1 + 0.010);
}

TEST(BroadcastSeconds, TurnsBackAFirstWayThatBlocksABetterOne) {
    // Shortest first: us-a-b-s takes 1. All that is possible, 3, needs b-a the other way round:
    // us-p-q-b carries 2, of which 1 ends at s and 1 joins us-a's 1 on a-r-u-s.
    Topology topology = make_topology(
        {make_site("a", 1, 0), make_site("b", 1, 0), make_site("p", 1, 0), make_site("q", 1, 0),
         make_site("r", 1, 0), make_site("u", 1, 0), make_site("s", 1, 1)},
        {make_link("us", "a", 1, 0), make_link("a", "b", 1, 0), make_link("b", "s", 1, 0),
         make_link("us", "p", 2, 0), make_link("p", "q", 2, 0), make_link("q", "b", 2, 0),
         make_link("a", "r", 2, 0), make_link("r", "u", 2, 0), make_link("u", "s", 2, 0)});
    EXPECT_DOUBLE_EQ(broadcast_seconds(topology, Bytes{1'000'000'000}), 8.0 / 3);
}

TEST(BroadcastSeconds, EqualsTheNarrowestOfAllCutsOnRandomTopologies) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Rng rng{seed, 5};
        const std::size_t sites = 3 + rng.below(6);
        Topology topology;
        for (std::size_t i = 0; i < sites; ++i) {
            topology.sites.push_back(make_site(std::string(1, static_cast<char>('a' + i)), 1, 0));
        }
        topology.sites.front().trainer = true;
        topology.sites.back() = make_site(topology.sites.back().name, 1, 1);
        for (std::size_t a = 0; a < sites; ++a) {
            for (std::size_t b = a + 1; b < sites; ++b) {
                if (b != a + 1 && rng.below(3) != 0) continue;
                topology.links.push_back(
                    make_link(topology.sites[a].name, topology.sites[b].name, 1 + rng.below(4), 0));
            }
        }
        // Every set of sites with the first and without the last: what leaves it, in Gbit/s.
        std::uint64_t narrowest = 25;  // the replica's NIC
        for (std::uint32_t set = 1; set < std::uint32_t{1} << (sites - 1); set += 2) {
            std::uint64_t cut = 0;
            for (const WanLink& link : topology.links) {
                const bool from_inside = (set >> *topology.find_site(link.from) & 1) != 0;
                const bool to_inside = (set >> *topology.find_site(link.to) & 1) != 0;
                if (from_inside != to_inside) cut += link.rate.count / 1'000'000'000;
            }
            narrowest = std::min(narrowest, cut);
        }
        ASSERT_DOUBLE_EQ(broadcast_seconds(topology, Bytes{1'000'000'000}),
                         8.0 / static_cast<double>(narrowest));
    }
}

TEST(BroadcastSeconds, AtTheTrainersSiteOnlyNicsAndTheLocalRttCount) {
    Topology topology = make_topology({}, {});
    topology.sites[0] = make_site("us", 1, 2);
    topology.sites[0].trainer = true;
    EXPECT_DOUBLE_EQ(broadcast_seconds(topology, Bytes{1'000'000'000}), 8.0 / 25 + 0.0005);
}

}  // namespace
}  // namespace refit
