#include "engine/net/topology.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "engine/base/rng.hpp"

namespace refit {
namespace {

std::string numbered(std::string stem, std::size_t number) {
    stem += std::to_string(number);
    return stem;
}

Site make_site(const std::string& name) {
    Site site;
    site.name = name;
    site.relay_nic = 100_Gbps;
    site.replica_nic = 25_Gbps;
    site.store_rate = 10_Gbps;
    site.local_rtt = Nanoseconds{20'000};
    return site;
}

WanLink make_link(const std::string& from,
                  const std::string& to,
                  BitsPerSecond rate,
                  Nanoseconds rtt) {
    return WanLink{from, to, rate, rtt, "test"};
}

/// us (trainer) - eu - ap, one replica in each of the last two.
Topology make_chain() {
    Topology topology;
    topology.name = "chain";
    topology.sites = {make_site("us"), make_site("eu"), make_site("ap")};
    topology.sites[0].trainer = true;
    topology.sites[1].replicas = {{"replica-1", "tp:tp4", Nanoseconds{0}}};
    topology.sites[2].replicas = {{"replica-1", "tp:tp4", Nanoseconds{0}}};
    topology.links = {make_link("us", "eu", 5_Gbps, 75_ms), make_link("eu", "ap", 3_Gbps, 110_ms)};
    return topology;
}

struct BadTopology {
    std::string what;  // the error has to say this
    std::function<void(Topology&)> damage;
};

std::vector<BadTopology> bad_topologies() {
    using T = Topology;
    const auto replica = [](const std::string& name) {
        return ReplicaSpec{name, "tp:tp4", Nanoseconds{0}};
    };
    return {
        {"no site has the trainer", [](T& t) { t.sites[0].trainer = false; }},
        {"no site has the trainer", [](T& t) { t = T{}; }},
        {"\"eu\": a second trainer", [](T& t) { t.sites[1].trainer = true; }},
        {"\"eu\": is listed twice", [](T& t) { t.sites[2].name = "eu"; }},
        {"\"\": a site needs a name", [](T& t) { t.sites[2].name = ""; }},
        {"\"a/p\": a site needs a name", [](T& t) { t.sites[2].name = "a/p"; }},
        {"\"ap\": has replicas but no relay", [](T& t) { t.sites[2].relays = 0; }},
        {"\"ap\": has more than 64 relays", [](T& t) { t.sites[2].relays = 65; }},
        {"\"eu\": replica \"replica-1\" is listed twice",
         [=](T& t) { t.sites[1].replicas.push_back(replica("replica-1")); }},
        {"\"relay-1\" cannot be the name of a replica",
         [=](T& t) { t.sites[1].replicas.push_back(replica("relay-1")); }},
        {"\"x/y\" cannot be the name of a replica",
         [=](T& t) { t.sites[1].replicas.push_back(replica("x/y")); }},
        {"\"\" cannot be the name of a replica",
         [=](T& t) { t.sites[1].replicas.push_back(replica("")); }},
        {"\"eu\": replica \"replica-1\" joins at a negative time",
         [](T& t) { t.sites[1].replicas[0].join_at = Nanoseconds{-1}; }},
        {"\"us\": relay_nic is 0", [](T& t) { t.sites[0].relay_nic = BitsPerSecond{0}; }},
        {"\"eu\": replica_nic is 0", [](T& t) { t.sites[1].replica_nic = BitsPerSecond{0}; }},
        {"\"eu\": store_rate is 0", [](T& t) { t.sites[1].store_rate = BitsPerSecond{0}; }},
        {"\"eu\": store_rate is above",
         [](T& t) { t.sites[1].store_rate = BitsPerSecond{~std::uint64_t{0}}; }},
        {"\"eu\": local_rtt is negative", [](T& t) { t.sites[1].local_rtt = Nanoseconds{-1}; }},
        {"\"eu\": store_rtt is above", [](T& t) { t.sites[1].store_rtt = 3601_s; }},
        {"link \"eu\" - \"mars\": no site \"mars\"", [](T& t) { t.links[1].to = "mars"; }},
        {"link \"eu\" - \"eu\": joins a site to itself", [](T& t) { t.links[1].to = "eu"; }},
        {"link \"eu\" - \"us\": is listed twice",
         [](T& t) { t.links.push_back(make_link("eu", "us", 1_Gbps, 1_ms)); }},
        {"link \"us\" - \"eu\": rate is 0", [](T& t) { t.links[0].rate = BitsPerSecond{0}; }},
        {"link \"us\" - \"eu\": rtt is negative", [](T& t) { t.links[0].rtt = Nanoseconds{-1}; }},
        {"\"ap\": no route from the trainer at \"us\"", [](T& t) { t.links.pop_back(); }},
        {"257 sites are more than 256",
         [](T& t) {
             for (std::size_t i = t.sites.size(); i < 257; ++i) {
                 t.sites.push_back(make_site(numbered("s", i)));
             }
         }},
        {"relays and replicas above 100000",
         [=](T& t) {
             for (std::size_t i = 0; i < 100'000; ++i) {
                 t.sites[1].replicas.push_back(replica(numbered("r", i)));
             }
         }},
    };
}

TEST(Topology, AcceptsAChainAndATransitSiteThatNeedsNothing) {
    Topology topology = make_chain();
    EXPECT_TRUE(validate(topology).has_value());

    Site transit;
    transit.name = "exchange";
    transit.relays = 0;
    topology.sites.push_back(transit);
    topology.links.push_back(make_link("exchange", "us", 1_Gbps, 1_ms));
    EXPECT_TRUE(validate(topology).has_value());
}

TEST(Topology, NamesTheSiteOrLinkThatIsWrong) {
    for (const BadTopology& bad : bad_topologies()) {
        Topology topology = make_chain();
        bad.damage(topology);
        const Status status = validate(topology);
        ASSERT_FALSE(status.has_value()) << bad.what;
        EXPECT_EQ(status.error().code, ErrorCode::invalid_input);
        EXPECT_NE(status.error().what.find(bad.what), std::string::npos)
            << "said: " << status.error().what << "\nwanted: " << bad.what;
    }
}

TEST(Topology, FindsSitesByName) {
    const Topology topology = make_chain();
    EXPECT_EQ(topology.find_site("ap"), std::optional<std::size_t>{2});
    EXPECT_EQ(topology.find_site("a"), std::nullopt);
    EXPECT_EQ(topology.trainer_site(), 0u);
}

TEST(FindRoute, AddsRttsAndKnowsTheDirectionOfEachLink) {
    Topology topology = make_chain();
    const auto route = find_route(topology, 2, 0);  // ap -> eu -> us, against both links
    ASSERT_TRUE(route.has_value());
    EXPECT_EQ(route->links, (std::vector<std::size_t>{1, 0}));
    EXPECT_EQ(route->forward, (std::vector<bool>{false, false}));
    EXPECT_EQ(route->bottleneck, 3_Gbps);  // min(3, 5)
    EXPECT_EQ(route->rtt, 185_ms);         // 110 + 75

    const auto home = find_route(topology, 1, 1);
    ASSERT_TRUE(home.has_value());
    EXPECT_TRUE(home->links.empty());
    EXPECT_EQ(home->rtt, Nanoseconds{20'000});

    topology.links.pop_back();
    EXPECT_EQ(find_route(topology, 0, 2), std::nullopt);
}

TEST(FindRoute, PrefersADetourThatIsWiderButNotOneThatIsOnlyLonger) {
    Topology topology = make_chain();
    topology.links.push_back(make_link("us", "ap", 2_Gbps, 10_ms));
    EXPECT_EQ(find_route(topology, 0, 2)->links, (std::vector<std::size_t>{0, 1}));  // 3 > 2
    topology.links[2].rate = 3_Gbps;
    EXPECT_EQ(find_route(topology, 0, 2)->links, (std::vector<std::size_t>{2}));  // 10 ms < 185 ms
}

/// What find_route() promises, as a key to sort by: the least is the best.
using RouteKey = std::tuple<std::uint64_t, std::int64_t, std::size_t, std::vector<std::string>>;

/// The best key over every simple path, by walking all of them.
void walk_all(const Topology& topology,
              std::size_t to,
              std::vector<std::size_t>& path,
              const RouteKey& key,
              std::optional<RouteKey>& best) {
    if (path.back() == to) {
        if (!best || key < *best) best = key;
        return;
    }
    for (const WanLink& link : topology.links) {
        const std::string& here = topology.sites[path.back()].name;
        if (link.from != here && link.to != here) continue;
        const std::size_t next = *topology.find_site(link.from == here ? link.to : link.from);
        if (std::find(path.begin(), path.end(), next) != path.end()) continue;
        auto [narrow, rtt, hops, names] = key;
        names.push_back(topology.sites[next].name);
        path.push_back(next);
        walk_all(topology, to, path,
                 {std::max(narrow, ~link.rate.count), rtt + link.rtt.count, hops + 1, names}, best);
        path.pop_back();
    }
}

TEST(FindRoute, EqualsTheBestOfAllSimplePathsOnRandomTopologies) {
    std::size_t compared = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Rng rng{seed, 1};
        Topology topology;
        const std::size_t sites = 2 + rng.below(5);
        for (std::size_t i = 0; i < sites; ++i) {
            // Names out of order, so that a tie broken by index shows.
            topology.sites.push_back(make_site(std::string(1, static_cast<char>('z' - i))));
        }
        for (std::size_t a = 0; a < sites; ++a) {
            for (std::size_t b = a + 1; b < sites; ++b) {
                if (rng.below(3) == 0) continue;
                topology.links.push_back(make_link(
                    topology.sites[a].name, topology.sites[b].name, BitsPerSecond{1 + rng.below(3)},
                    Nanoseconds{static_cast<std::int64_t>(rng.below(3))}));
            }
        }
        for (std::size_t from = 0; from < sites; ++from) {
            for (std::size_t to = 0; to < sites; ++to) {
                if (from == to) continue;
                std::optional<RouteKey> best;
                std::vector<std::size_t> path{from};
                walk_all(topology, to, path, {0, 0, 0, {}}, best);
                const auto route = find_route(topology, from, to);
                ASSERT_EQ(route.has_value(), best.has_value());
                if (!route) continue;

                RouteKey key{~route->bottleneck.count, route->rtt.count, route->links.size(), {}};
                for (std::size_t i = 0; i < route->links.size(); ++i) {
                    const WanLink& link = topology.links[route->links[i]];
                    std::get<3>(key).push_back(route->forward[i] ? link.to : link.from);
                }
                ASSERT_EQ(key, *best);
                ++compared;
            }
        }
    }
    EXPECT_GT(compared, 1000u);
}

TEST(Scaled, MultipliesEveryRateRoundsAndKeepsRtts) {
    Topology topology = make_chain();
    topology.sites[0].store_rate = BitsPerSecond{0};
    topology.links[1].rate = BitsPerSecond{15};
    const Topology small = scaled(topology, 0.1);
    EXPECT_EQ(small.sites[1].relay_nic, 10_Gbps);
    EXPECT_EQ(small.sites[1].replica_nic, BitsPerSecond{2'500'000'000});
    EXPECT_EQ(small.sites[1].store_rate, 1_Gbps);
    EXPECT_EQ(small.links[0].rate, BitsPerSecond{500'000'000});
    EXPECT_EQ(small.links[1].rate, BitsPerSecond{2});  // 1.5 rounds up
    EXPECT_EQ(small.links[0].rtt, 75_ms);
    EXPECT_EQ(small.sites[1].local_rtt, Nanoseconds{20'000});

    const Topology tiny = scaled(topology, 1e-12);
    EXPECT_EQ(tiny.links[0].rate, BitsPerSecond{1});        // 0.005 bit/s would stall for good
    EXPECT_EQ(tiny.sites[0].store_rate, BitsPerSecond{0});  // none stays none
    EXPECT_EQ(scaled(topology, 1e6).sites[0].relay_nic, BitsPerSecond{1'000'000'000'000'000});
}

}  // namespace
}  // namespace refit
