#include "engine/sim/fluid_network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <vector>

namespace refit {
namespace {

using LinkId = FluidNetwork::LinkId;
using FlowId = FluidNetwork::FlowId;

constexpr BitsPerSecond kUncapped{1'000'000'000'000'000};
constexpr Nanoseconds kStart{0};

struct Delivery {
    FlowId flow = 0;
    std::uint64_t token = 0;
    std::int64_t at = 0;

    friend bool operator==(const Delivery&, const Delivery&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Delivery& d) {
        return out << "flow " << d.flow << " token " << d.token << " at " << d.at << " ns";
    }
};

using Deliveries = std::vector<Delivery>;

/// From event to event until nothing is left to do or `end` is reached.
Deliveries run(FluidNetwork& net, Nanoseconds end = FluidNetwork::kNever) {
    Deliveries all;
    std::vector<FluidNetwork::Arrival> arrivals;
    for (Nanoseconds t = net.next_event(); t != FluidNetwork::kNever && t <= end;
         t = net.next_event()) {
        arrivals.clear();
        net.advance(t, arrivals);
        for (const auto& arrival : arrivals) all.push_back({arrival.flow, arrival.token, t.count});
    }
    return all;
}

/// 8 Gbit/s: one byte per nanosecond, which keeps the sums below readable.
struct OneLink {
    explicit OneLink(Nanoseconds latency = Nanoseconds{0}, std::size_t flows = 2) {
        link = net.add_link(8_Gbps);
        for (std::size_t i = 0; i < flows; ++i) net.add_flow({link}, latency, kUncapped);
    }

    FluidNetwork net;
    LinkId link = 0;
};

TEST(FluidNetwork, TwoFlowsHalveALinkAndTheLongerTakesOverTheRest) {
    OneLink one{Nanoseconds{10}};
    one.net.send(0, Bytes{1000}, 7, kStart);
    one.net.send(1, Bytes{2000}, 8, kStart);
    EXPECT_DOUBLE_EQ(one.net.share(0), 0.5e9);
    // 1000 B at 1/2: 2000 ns. Then 1000 B are left of the other, at 1: 1000 ns more.
    EXPECT_EQ(run(one.net), (Deliveries{{0, 7, 2010}, {1, 8, 3010}}));
    EXPECT_EQ(one.net.share(1), 0);
    EXPECT_EQ(one.net.next_event(), FluidNetwork::kNever);
}

/// Three flows of a case in C13, over one uplink and a downlink each; when each one ends.
std::vector<double> finish_seconds(std::vector<std::uint64_t> gbps, std::vector<std::uint64_t> gb) {
    FluidNetwork net;
    const LinkId uplink = net.add_link(10_Gbps);
    for (std::size_t i = 0; i < gbps.size(); ++i) {
        const LinkId down = net.add_link(BitsPerSecond{gbps[i] * 1'000'000'000});
        const FlowId flow = net.add_flow({uplink, down}, kStart, kUncapped);
        net.send(flow, Bytes{gb[i] * 1'000'000'000}, 0, kStart);
    }
    std::vector<double> seconds(gbps.size());
    for (const Delivery& d : run(net)) seconds[d.flow] = static_cast<double>(d.at) / 1e9;
    return seconds;
}

TEST(FluidNetwork, FairSharesOfC13) {
    // 10 Gbit/s among limits 1, 4, 10: shares 1, 4, 5. 48 Gbit each: 48/1, 48/4, 48/5.
    const auto first = finish_seconds({1, 4, 10}, {6, 6, 6});
    EXPECT_NEAR(first[0], 48.0, 48.0e-6);
    EXPECT_NEAR(first[1], 12.0, 12.0e-6);
    EXPECT_NEAR(first[2], 9.6, 9.6e-6);

    // Limits 3, 10, 10: shares 3, 3.5, 3.5. 24 Gbit end at 24/3.5; the last flow then has
    // 48 - 24 Gbit left and 10 - 3 Gbit/s to itself: 24/3.5 + 24/7.
    const auto second = finish_seconds({3, 10, 10}, {6, 3, 6});
    EXPECT_NEAR(second[0], 16.0, 16.0e-6);
    EXPECT_NEAR(second[1], 24 / 3.5, 7e-6);
    EXPECT_NEAR(second[2], 24 / 3.5 + 24.0 / 7, 1e-5);
}

/// Store and forward over `hops` links of 10 Gbit/s and 50 ms, in chunks; when the last arrives.
double relay_seconds(std::uint64_t payload, std::uint64_t chunk, FlowId hops) {
    FluidNetwork net;
    for (FlowId hop = 0; hop < hops; ++hop) {
        net.add_flow({net.add_link(10_Gbps)}, 50_ms, kUncapped);
    }
    for (std::uint64_t sent = 0; sent < payload; sent += chunk) {
        const std::uint64_t size = std::min(chunk, payload - sent);
        net.send(0, Bytes{size}, size, kStart);
    }
    Nanoseconds now = kStart;
    std::vector<FluidNetwork::Arrival> arrivals;
    while (net.next_event() != FluidNetwork::kNever) {
        now = net.next_event();
        arrivals.clear();
        net.advance(now, arrivals);
        for (const auto& [flow, token] : arrivals) {
            if (flow + 1 < hops) net.send(flow + 1, Bytes{token}, token, now);
        }
    }
    return to_seconds(now);
}

TEST(FluidNetwork, RelayChainOfC13) {
    // Whole: 3 (60e9/1.25e9 + 0.05). In chunks of 64e6: the first hop is busy for 48 s, and the
    // last full chunk costs 64e6/1.25e9 = 0.0512 s on each hop after it.
    EXPECT_NEAR(relay_seconds(60'000'000'000, 60'000'000'000, 3), 144.15, 144.15e-6);
    EXPECT_NEAR(relay_seconds(60'000'000'000, 64'000'000, 3), 48 + 3 * 0.05 + 2 * 0.0512, 48e-6);
}

TEST(FluidNetwork, WindowOfC13AsACap) {
    // window / rtt = 4 MiB / 0.15 s = 27.96 MB/s; 1.25e9 / 27.96e6 = 44.7 streams fill the link.
    const double stream = 4'194'304 / 0.15;
    for (const std::size_t streams : {std::size_t{1}, std::size_t{44}, std::size_t{45}}) {
        FluidNetwork net;
        const LinkId link = net.add_link(10_Gbps);
        double total = 0;
        for (std::size_t i = 0; i < streams; ++i) {
            const BitsPerSecond cap{static_cast<std::uint64_t>(stream * 8)};
            net.send(net.add_flow({link}, 75_ms, cap), 1_GiB, 0, kStart);
        }
        for (FlowId flow = 0; flow < streams; ++flow) total += net.share(flow);
        const double wanted = streams < 45 ? static_cast<double>(streams) * stream : 1.25e9;
        EXPECT_NEAR(total, wanted, wanted * 1e-6) << streams << " streams";
    }
}

TEST(FluidNetwork, WindowOfChunksAndAcks) {
    // 4 chunks of 1000 B may be under way, at 1 B/ns, 5000 ns there and 5000 ns back for the ack:
    // each chunk's slot comes round every 1000 + 10000 ns. Chunk k is chunk k % 4 of round k / 4.
    FluidNetwork net;
    const FlowId there = net.add_flow({net.add_link(8_Gbps)}, Nanoseconds{5000}, kUncapped);
    const FlowId back = net.add_flow({net.add_link(8_Gbps)}, Nanoseconds{5000}, kUncapped);
    std::uint64_t next = 0;
    while (next < 4) net.send(there, Bytes{1000}, next++, kStart);
    Deliveries chunks;
    std::vector<FluidNetwork::Arrival> arrivals;
    for (Nanoseconds t = net.next_event(); t != FluidNetwork::kNever; t = net.next_event()) {
        arrivals.clear();
        net.advance(t, arrivals);
        for (const auto& [flow, token] : arrivals) {
            if (flow == there) {
                chunks.push_back({flow, token, t.count});
                net.send(back, Bytes{0}, token, t);
            } else if (next < 40) {
                net.send(there, Bytes{1000}, next++, t);
            }
        }
    }
    ASSERT_EQ(chunks.size(), 40u);
    for (const Delivery& chunk : chunks) {
        const auto k = static_cast<std::int64_t>(chunk.token);
        EXPECT_EQ(chunk.at, (k / 4) * 11'000 + (k % 4 + 1) * 1000 + 5000);
    }
}

TEST(FluidNetwork, CapsBindAndWhatTheyLeaveGoesToOthers) {
    FluidNetwork net;
    const LinkId link = net.add_link(8_Gbps);
    net.add_flow({link}, kStart, BitsPerSecond{1'600'000'000});
    net.add_flow({link}, kStart, kUncapped);
    net.add_flow({}, kStart, 16_Gbps);  // no link at all: its cap alone
    for (FlowId flow = 0; flow < 3; ++flow) net.send(flow, 1_MiB, flow, kStart);
    EXPECT_DOUBLE_EQ(net.share(0), 0.2e9);
    EXPECT_DOUBLE_EQ(net.share(1), 0.8e9);  // 1 - 0.2
    EXPECT_DOUBLE_EQ(net.share(2), 2e9);
}

TEST(FluidNetwork, LatencyIsPaidOnceByAStreamOfItems) {
    OneLink one{Nanoseconds{5000}};
    for (std::uint64_t token = 0; token < 5; ++token) one.net.send(0, Bytes{1000}, token, kStart);
    EXPECT_EQ(run(one.net),
              (Deliveries{{0, 0, 6000}, {0, 1, 7000}, {0, 2, 8000}, {0, 3, 9000}, {0, 4, 10000}}));
}

TEST(FluidNetwork, RoundingUpNeverAddsUp) {
    // 1001 B at 10 Gbit/s last 800.8 ns: item k has left at ceil(800.8 k), not at 801 k.
    FluidNetwork net;
    const FlowId flow = net.add_flow({net.add_link(10_Gbps)}, kStart, kUncapped);
    for (std::uint64_t k = 1; k <= 20'000; ++k) net.send(flow, Bytes{1001}, k, kStart);
    const Deliveries all = run(net);
    ASSERT_EQ(all.size(), 20'000u);
    for (const Delivery& d : all) {
        const auto exact = static_cast<std::int64_t>((d.token * 8008 + 9) / 10);
        ASSERT_GE(d.at, exact);
        ASSERT_LE(d.at, exact + 1);  // a double may fall just above a whole nanosecond
    }
}

TEST(FluidNetwork, ItemsSmallerThanANanosecondAllLeaveAtItsEnd) {
    // 800 Gbit/s are 100 B/ns: of 250 items of 1 B, 100 + 100 + 50 leave.
    FluidNetwork net;
    const FlowId flow = net.add_flow({net.add_link(800_Gbps)}, kStart, kUncapped);
    for (std::uint64_t k = 0; k < 250; ++k) net.send(flow, Bytes{1}, k, kStart);
    const Deliveries all = run(net);
    ASSERT_EQ(all.size(), 250u);
    for (const Delivery& d : all) {
        EXPECT_EQ(d.at, static_cast<std::int64_t>(d.token / 100) + 1) << d;
    }
}

TEST(FluidNetwork, ACutStallsAndTheRestGoesOnAtTheNewRate) {
    OneLink one{Nanoseconds{10}};
    one.net.send(0, Bytes{1000}, 1, kStart);
    EXPECT_EQ(run(one.net, Nanoseconds{400}), Deliveries{});
    one.net.set_rate(one.link, BitsPerSecond{0}, Nanoseconds{400});
    EXPECT_EQ(one.net.share(0), 0);
    EXPECT_EQ(one.net.next_event(), FluidNetwork::kNever);
    EXPECT_EQ(one.net.sent(0, Nanoseconds{900}), Bytes{400});
    one.net.set_rate(one.link, 4_Gbps, Nanoseconds{1000});
    // 600 B are left, at half a byte per nanosecond: 1000 + 1200 + 10.
    EXPECT_EQ(run(one.net), (Deliveries{{0, 1, 2210}}));
}

TEST(FluidNetwork, WhatHasLeftSurvivesACutAndControlWaitsBehindIt) {
    OneLink one{Nanoseconds{500}};
    const LinkId second = one.net.add_link(8_Gbps);
    const FlowId both = one.net.add_flow({one.link, second}, Nanoseconds{500}, kUncapped);
    one.net.send(0, Bytes{100}, 1, kStart);
    EXPECT_EQ(run(one.net, Nanoseconds{100}), Deliveries{});
    one.net.set_rate(one.link, BitsPerSecond{0}, Nanoseconds{200});
    one.net.set_rate(second, BitsPerSecond{0}, Nanoseconds{200});
    one.net.send(0, Bytes{0}, 2, Nanoseconds{300});
    one.net.send(0, Bytes{0}, 3, Nanoseconds{310});
    one.net.send(both, Bytes{0}, 4, Nanoseconds{320});
    EXPECT_EQ(run(one.net), (Deliveries{{0, 1, 600}}));
    one.net.set_rate(one.link, 8_Gbps, Nanoseconds{1000});
    EXPECT_EQ(run(one.net), (Deliveries{{0, 2, 1500}, {0, 3, 1500}}));
    one.net.set_rate(second, 8_Gbps, Nanoseconds{2000});  // the other cut on its path
    EXPECT_EQ(run(one.net), (Deliveries{{both, 4, 2500}}));
}

TEST(FluidNetwork, ControlPassesWaitingBulkButNeverWhatHasLeft) {
    OneLink one{Nanoseconds{50}};
    one.net.send(0, Bytes{1000}, 1, kStart);
    one.net.send(0, Bytes{0}, 2, Nanoseconds{10});    // the bulk item is still leaving
    one.net.send(0, Bytes{0}, 3, Nanoseconds{1000});  // it has left at this very instant
    one.net.send(0, Bytes{0}, 4, Nanoseconds{1000});
    EXPECT_EQ(one.net.next_event(), Nanoseconds{1000});  // token 2 is late, time does not go back
    EXPECT_EQ(run(one.net), (Deliveries{{0, 2, 1000}, {0, 1, 1050}, {0, 3, 1050}, {0, 4, 1050}}));
    EXPECT_EQ(one.net.sent(0, Nanoseconds{2000}), Bytes{1000});  // control weighs nothing
}

TEST(FluidNetwork, DropReturnsWhatHadLeftAndForgetsAllOfIt) {
    OneLink one{Nanoseconds{1500}};
    for (std::uint64_t token = 1; token <= 5; ++token) {
        one.net.send(0, Bytes{1000}, token, kStart);
    }
    EXPECT_EQ(run(one.net, Nanoseconds{2600}), (Deliveries{{0, 1, 2500}}));
    one.net.send(0, Bytes{0}, 6, Nanoseconds{2600});
    // At 2700: item 1 has arrived, 2 travels, 700 B of 3 have left, 4 and 5 wait.
    EXPECT_EQ(one.net.drop(0, Nanoseconds{2700}), Bytes{1700});
    EXPECT_EQ(one.net.share(0), 0);
    EXPECT_EQ(one.net.next_event(), FluidNetwork::kNever);
    EXPECT_EQ(one.net.sent(0, Nanoseconds{2700}), Bytes{2700});
    EXPECT_EQ(one.net.drop(0, Nanoseconds{2800}), Bytes{0});

    one.net.send(0, Bytes{100}, 7, Nanoseconds{3000});
    EXPECT_EQ(run(one.net), (Deliveries{{0, 7, 4600}}));
}

TEST(FluidNetwork, DropGivesTheShareToTheOthersAndSpendsHeldControl) {
    OneLink one;
    one.net.send(0, Bytes{1000}, 1, kStart);
    one.net.send(1, Bytes{1000}, 2, kStart);
    EXPECT_EQ(one.net.drop(0, Nanoseconds{500}), Bytes{250});
    EXPECT_DOUBLE_EQ(one.net.share(1), 1e9);
    EXPECT_EQ(run(one.net), (Deliveries{{1, 2, 1250}}));  // 500 + 750

    one.net.set_rate(one.link, BitsPerSecond{0}, Nanoseconds{2000});
    one.net.send(1, Bytes{0}, 3, Nanoseconds{2000});
    EXPECT_EQ(one.net.drop(1, Nanoseconds{2000}), Bytes{0});
    one.net.set_rate(one.link, 8_Gbps, Nanoseconds{3000});
    EXPECT_EQ(run(one.net), Deliveries{});
}

TEST(FluidNetwork, DropAndResendAtOnceKeepsTimeAndShares) {
    OneLink one;
    one.net.send(0, Bytes{300}, 1, kStart);
    one.net.send(1, Bytes{1000}, 2, kStart);
    EXPECT_EQ(run(one.net, Nanoseconds{500}), Deliveries{});
    const std::uint64_t solves = one.net.solves();
    EXPECT_EQ(one.net.drop(0, Nanoseconds{500}), Bytes{250});
    one.net.send(0, Bytes{300}, 3, Nanoseconds{500});
    // Not at 600, where the lost item would have ended: 300 B at 1/2 end at 1100; then 1000 - 550 B
    // of the other at 1 end at 1550.
    EXPECT_EQ(one.net.next_event(), Nanoseconds{1100});
    EXPECT_EQ(one.net.solves(), solves);
    EXPECT_EQ(run(one.net), (Deliveries{{0, 3, 1100}, {1, 2, 1550}}));
}

TEST(FluidNetwork, SolvesOnlyWhenTheSetOfBusyFlowsOrARateChanges) {
    OneLink one;
    for (std::uint64_t token = 0; token < 100; ++token) one.net.send(0, Bytes{10}, token, kStart);
    one.net.send(1, Bytes{100'000}, 100, kStart);
    EXPECT_EQ(run(one.net, Nanoseconds{1999}).size(), 99u);
    EXPECT_EQ(one.net.solves(), 1u);  // both started at one instant; 99 items left since

    // The last item leaves, the flow is idle, and the answer to its arrival makes it busy again.
    std::vector<FluidNetwork::Arrival> arrivals;
    one.net.advance(Nanoseconds{2000}, arrivals);
    ASSERT_EQ(arrivals.size(), 1u);
    one.net.send(0, Bytes{10}, 101, Nanoseconds{2000});
    EXPECT_EQ(one.net.next_event(), Nanoseconds{2020});
    EXPECT_EQ(one.net.solves(), 1u);

    one.net.set_rate(one.link, 8_Gbps, Nanoseconds{2010});  // no change
    EXPECT_EQ(one.net.next_event(), Nanoseconds{2020});
    EXPECT_EQ(one.net.solves(), 1u);
    one.net.set_rate(one.link, 4_Gbps, Nanoseconds{2010});  // 5 B are left, at 1/4
    EXPECT_EQ(one.net.next_event(), Nanoseconds{2030});
    EXPECT_EQ(one.net.solves(), 2u);
    run(one.net);
    EXPECT_EQ(one.net.solves(), 4u);  // one flow idle, then both
}

TEST(FluidNetwork, TiesArriveInTheOrderInWhichTheyLeft) {
    FluidNetwork net;
    const LinkId link = net.add_link(8_Gbps);
    net.add_flow({link}, Nanoseconds{100}, kUncapped);
    net.add_flow({link}, Nanoseconds{300}, kUncapped);
    net.add_flow({link}, Nanoseconds{100}, kUncapped);
    net.send(2, Bytes{0}, 1, Nanoseconds{200});
    net.send(0, Bytes{0}, 2, Nanoseconds{200});
    net.send(1, Bytes{0}, 3, kStart + Nanoseconds{200});
    std::vector<FluidNetwork::Arrival> arrivals;
    net.advance(Nanoseconds{400}, arrivals);
    net.send(0, Bytes{0}, 4, Nanoseconds{400});
    net.advance(Nanoseconds{9000}, arrivals);  // 1 and 2 at 300; 3 and 4 both at 500
    std::vector<std::uint64_t> tokens;
    for (const auto& arrival : arrivals) tokens.push_back(arrival.token);
    EXPECT_EQ(tokens, (std::vector<std::uint64_t>{1, 2, 3, 4}));
}

TEST(FluidNetworkDeath, TimeNeverGoesBackAndIdsAreKnown) {
    OneLink one;
    std::vector<FluidNetwork::Arrival> arrivals;
    one.net.advance(Nanoseconds{10}, arrivals);
    EXPECT_DEATH(one.net.advance(Nanoseconds{9}, arrivals), "broken invariant");
    EXPECT_DEATH(one.net.send(2, Bytes{1}, 0, Nanoseconds{10}), "broken invariant");
    EXPECT_DEATH(one.net.add_flow({one.link, one.link}, kStart, kUncapped), "broken invariant");
    EXPECT_DEATH(one.net.add_flow({9}, kStart, kUncapped), "broken invariant");
}

}  // namespace
}  // namespace refit
