// FluidNetwork on random topologies against a solver and a simulator written another way.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "engine/base/rng.hpp"
#include "engine/sim/fluid_network.hpp"

namespace refit {
namespace {

using FlowId = FluidNetwork::FlowId;

/// What a FluidNetwork was built from.
struct Plan {
    struct FlowPlan {
        std::vector<FluidNetwork::LinkId> path;
        std::int64_t latency = 0;
        std::uint64_t cap = 0;
    };
    std::vector<std::uint64_t> links;  // bit/s
    std::vector<FlowPlan> flows;
};

Plan random_plan(Rng& rng) {
    Plan plan;
    for (std::size_t i = 1 + rng.below(8); i > 0; --i) {
        plan.links.push_back((1 + rng.below(40)) * 250'000'000);
    }
    for (std::size_t i = 1 + rng.below(14); i > 0; --i) {
        Plan::FlowPlan flow;
        for (FluidNetwork::LinkId link = 0; link < plan.links.size(); ++link) {
            if (rng.below(3) == 0) flow.path.push_back(link);
        }
        flow.latency = static_cast<std::int64_t>(rng.below(200'000));
        flow.cap = rng.below(2) == 0 ? 1'000'000'000'000 : (1 + rng.below(30)) * 100'000'000;
        plan.flows.push_back(flow);
    }
    return plan;
}

FluidNetwork build(const Plan& plan) {
    FluidNetwork net;
    for (const std::uint64_t rate : plan.links) net.add_link(BitsPerSecond{rate});
    for (const auto& flow : plan.flows) {
        net.add_flow(flow.path, Nanoseconds{flow.latency}, BitsPerSecond{flow.cap});
    }
    return net;
}

/// Max-min shares in bytes per second, by removing the single tightest resource again and again.
/// A flow's cap is a resource that it alone uses.
std::map<FlowId, long double> brute_force(const Plan& plan, std::set<FlowId> busy) {
    std::vector<std::pair<long double, std::set<FlowId>>> resources;
    for (const std::uint64_t rate : plan.links) {
        resources.push_back({static_cast<long double>(rate) / 8, {}});
    }
    for (const FlowId id : busy) {
        for (const auto link : plan.flows[id].path) resources[link].second.insert(id);
        resources.push_back({static_cast<long double>(plan.flows[id].cap) / 8, {id}});
    }
    std::map<FlowId, long double> shares;
    while (!busy.empty()) {
        const auto fair = [](const auto& resource) {
            return resource.second.empty()
                       ? std::numeric_limits<long double>::infinity()
                       : resource.first / static_cast<long double>(resource.second.size());
        };
        const auto tightest =
            *std::min_element(resources.begin(), resources.end(),
                              [&](const auto& a, const auto& b) { return fair(a) < fair(b); });
        const long double share = std::max(0.0L, fair(tightest));
        for (const FlowId id : tightest.second) {
            shares[id] = share;
            busy.erase(id);
            for (auto& [left, users] : resources) {
                if (users.erase(id) > 0) left -= share;
            }
        }
    }
    return shares;
}

/// The definition itself: nobody exceeds a limit, and every flow is at its cap or crosses a full
/// link on which nobody has more.
void expect_max_min(const Plan& plan, FluidNetwork& net) {
    constexpr double kSlack = 1e-9;
    std::vector<double> used(plan.links.size(), 0);
    std::vector<double> largest(plan.links.size(), 0);
    for (FlowId id = 0; id < plan.flows.size(); ++id) {
        for (const auto link : plan.flows[id].path) {
            used[link] += net.share(id);
            largest[link] = std::max(largest[link], net.share(id));
        }
    }
    for (std::size_t link = 0; link < used.size(); ++link) {
        EXPECT_LE(used[link], static_cast<double>(plan.links[link]) / 8 * (1 + kSlack));
    }
    for (FlowId id = 0; id < plan.flows.size(); ++id) {
        const double share = net.share(id);
        const double cap = static_cast<double>(plan.flows[id].cap) / 8;
        EXPECT_LE(share, cap * (1 + kSlack));
        bool held_back = share >= cap * (1 - kSlack);
        for (const auto link : plan.flows[id].path) {
            const double rate = static_cast<double>(plan.links[link]) / 8;
            held_back = held_back || (used[link] >= rate * (1 - kSlack) &&
                                      share >= largest[link] * (1 - kSlack));
        }
        EXPECT_TRUE(held_back) << "flow " << id << " could have more than " << share;
    }
}

TEST(FluidRandom, SharesAreMaxMinByItsDefinition) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Rng rng{seed, 10};
        const Plan plan = random_plan(rng);
        FluidNetwork net = build(plan);
        for (FlowId id = 0; id < plan.flows.size(); ++id) {
            net.send(id, 1_GiB, id, Nanoseconds{0});
        }
        expect_max_min(plan, net);
        if (HasFailure()) return;
    }
}

/// Applies one random call after the other and keeps its own books of what must be true.
struct Player {
    explicit Player(std::uint64_t seed)
        : rng(seed, 11),
          plan(random_plan(rng)),
          net(build(plan)),
          queued(plan.flows.size()),
          arrived(plan.flows.size()),
          lost(plan.flows.size()),
          alive(plan.flows.size()) {}

    void play() {
        const auto flow = static_cast<FlowId>(rng.below(plan.flows.size()));
        const std::uint64_t choice = rng.below(100);
        if (choice < 50) {
            sizes.push_back(1 + rng.below(rng.below(2) == 0 ? 2'000 : 2'000'000));
            queued[flow] += sizes.back();
            alive[flow].push_back(sizes.size() - 1);
            net.send(flow, Bytes{sizes.back()}, sizes.size() - 1, now);
        } else if (choice < 85) {
            const auto pause = static_cast<std::int64_t>(rng.below(1'000'000));
            move(rng.below(2) == 0 ? net.next_event() : now + Nanoseconds{pause});
        } else if (choice < 95) {
            const auto link = static_cast<FluidNetwork::LinkId>(rng.below(plan.links.size()));
            plan.links[link] = rng.below(10) * 400'000'000;
            net.set_rate(link, BitsPerSecond{plan.links[link]}, now);
        } else {
            const Bytes gone = net.drop(flow, now);
            lost[flow] += gone.count;
            alive[flow].clear();
            queued[flow] = net.sent(flow, now).count;
        }
    }

    void move(Nanoseconds to) {
        if (to == FluidNetwork::kNever) return;
        now = to;
        const std::size_t before = arrivals.size();
        net.advance(now, arrivals);
        for (std::size_t i = before; i < arrivals.size(); ++i) {
            const auto [flow, token] = arrivals[i];
            arrived[flow] += sizes[token];
            ASSERT_FALSE(alive[flow].empty()) << "token " << token << " was lost in a drop";
            ASSERT_EQ(alive[flow].front(), token) << "out of order, or twice";
            alive[flow].pop_front();
            times.push_back(now.count);
        }
    }

    std::set<FlowId> busy() {
        std::set<FlowId> flows;
        for (FlowId id = 0; id < plan.flows.size(); ++id) {
            if (net.sent(id, now).count < queued[id]) flows.insert(id);
        }
        return flows;
    }

    Rng rng;
    Plan plan;
    FluidNetwork net;
    Nanoseconds now{0};
    std::vector<std::uint64_t> sizes;              // by token
    std::vector<std::uint64_t> queued;             // bytes sent or still to be sent
    std::vector<std::uint64_t> arrived;            // bytes
    std::vector<std::uint64_t> lost;               // bytes
    std::vector<std::deque<std::uint64_t>> alive;  // tokens that have yet to arrive
    std::vector<FluidNetwork::Arrival> arrivals;   // all of them
    std::vector<std::int64_t> times;               // when advance() handed them out
};

TEST(FluidRandom, SharesEqualBruteForceAfterAnySeriesOfCalls) {
    std::size_t compared = 0;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Player player{seed};
        for (int call = 0; call < 120; ++call) {
            player.play();
            const auto wanted = brute_force(player.plan, player.busy());
            for (FlowId id = 0; id < player.plan.flows.size(); ++id) {
                const auto found = wanted.find(id);
                const double share = found == wanted.end() ? 0 : static_cast<double>(found->second);
                ASSERT_NEAR(player.net.share(id), share, share * 1e-9) << "call " << call;
                compared += share > 1 ? 1 : 0;
            }
        }
    }
    EXPECT_GT(compared, 10'000u);
}

TEST(FluidRandom, EveryByteSentHasArrivedOrIsLostInADrop) {
    std::uint64_t arrived = 0;
    std::uint64_t lost = 0;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Player player{seed};
        for (int call = 0; call < 200; ++call) player.play();
        if (HasFatalFailure()) return;
        for (FlowId id = 0; id < player.plan.flows.size(); ++id) {
            const std::uint64_t sent = player.net.sent(id, player.now).count;
            player.lost[id] += player.net.drop(id, player.now).count;
            ASSERT_EQ(sent, player.arrived[id] + player.lost[id]) << "flow " << id;
            arrived += player.arrived[id];
            lost += player.lost[id];
        }
    }
    EXPECT_GT(arrived, lost);
    EXPECT_GT(lost, 1'000'000u);
}

TEST(FluidRandom, SameCallsSameArrivals) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Player one{seed};
        Player two{seed};
        for (int call = 0; call < 200; ++call) {
            one.play();
            two.play();
            ASSERT_EQ(one.net.next_event(), two.net.next_event());
        }
        ASSERT_EQ(one.times, two.times);
        for (std::size_t i = 0; i < one.arrivals.size(); ++i) {
            ASSERT_EQ(one.arrivals[i].flow, two.arrivals[i].flow);
            ASSERT_EQ(one.arrivals[i].token, two.arrivals[i].token);
        }
    }
}

using Timed = std::vector<std::pair<std::int64_t, std::uint64_t>>;  // when, token

/// Five items per flow at time 0, then from event to event; `looks` more calls between any two.
Timed run_out(const Plan& plan, const std::vector<std::uint64_t>& sizes, std::int64_t looks) {
    FluidNetwork net = build(plan);
    for (std::size_t token = 0; token < sizes.size(); ++token) {
        const auto flow = static_cast<FlowId>(token % plan.flows.size());
        net.send(flow, Bytes{sizes[token]}, token, Nanoseconds{0});
    }
    Timed all;
    std::vector<FluidNetwork::Arrival> arrivals;
    std::int64_t now = 0;
    for (Nanoseconds next = net.next_event(); next != FluidNetwork::kNever;
         next = net.next_event()) {
        for (std::int64_t look = 1; look <= looks; ++look) {
            const Nanoseconds between{now + (next.count - now) * look / (looks + 1)};
            net.sent(0, between);
            net.share(0);
            if (between >= next) break;
            net.advance(between, arrivals);
            EXPECT_TRUE(arrivals.empty()) << "before next_event()";
        }
        now = next.count;
        net.advance(next, arrivals);
        for (const auto& arrival : arrivals) all.push_back({now, arrival.token});
        arrivals.clear();
    }
    return all;
}

/// The same in continuous time: no rounding, every share solved from nothing at every departure.
std::map<std::uint64_t, long double> continuous(const Plan& plan,
                                                const std::vector<std::uint64_t>& sizes) {
    std::map<FlowId, std::deque<std::pair<long double, std::uint64_t>>> items;
    for (std::size_t token = 0; token < sizes.size(); ++token) {
        const auto flow = static_cast<FlowId>(token % plan.flows.size());
        items[flow].push_back({static_cast<long double>(sizes[token]), token});
    }
    std::map<std::uint64_t, long double> arrivals;
    long double now = 0;  // ns
    while (!items.empty()) {
        std::set<FlowId> busy;
        for (const auto& [id, queue] : items) busy.insert(id);
        auto shares = brute_force(plan, busy);
        FlowId first = 0;
        long double wait = std::numeric_limits<long double>::infinity();
        for (auto& [id, queue] : items) {
            const long double needs = queue.front().first / (shares[id] / 1e9L);
            if (needs < wait) {
                wait = needs;
                first = id;
            }
        }
        now += wait;
        for (auto& [id, queue] : items) queue.front().first -= wait * (shares[id] / 1e9L);
        arrivals[items[first].front().second] =
            now + static_cast<long double>(plan.flows[first].latency);
        items[first].pop_front();
        if (items[first].empty()) items.erase(first);
    }
    return arrivals;
}

std::vector<std::uint64_t> random_sizes(const Plan& plan, Rng& rng) {
    std::vector<std::uint64_t> sizes;
    for (std::size_t i = 0; i < 5 * plan.flows.size(); ++i) {
        sizes.push_back(1 + rng.below(5'000'000));
    }
    return sizes;
}

TEST(FluidRandom, ArrivalTimesEqualThoseOfContinuousTime) {
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Rng rng{seed, 12};
        const Plan plan = random_plan(rng);
        const auto sizes = random_sizes(plan, rng);
        const auto wanted = continuous(plan, sizes);
        const Timed found = run_out(plan, sizes, 0);
        ASSERT_EQ(found.size(), sizes.size());
        for (const auto& [at, token] : found) {
            // A departure rounded up by under 1 ns moves what the others have left by as little.
            const auto slack = static_cast<double>(2 + 2 * plan.flows.size());
            ASSERT_NEAR(static_cast<double>(at), static_cast<double>(wanted.at(token)), slack);
        }
    }
}

TEST(FluidRandom, LookingMoreOftenChangesNothing) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Rng rng{seed, 13};
        const Plan plan = random_plan(rng);
        const auto sizes = random_sizes(plan, rng);
        ASSERT_EQ(run_out(plan, sizes, 0), run_out(plan, sizes, 3));
    }
}

}  // namespace
}  // namespace refit
