// How many chunk transfers a second the simulated wire carries: one source, three regions with a
// relay each, 32 leaves behind them; a window of chunks per connection, an ack for every chunk.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <vector>

#include "engine/base/assert.hpp"
#include "engine/sim/fluid_network.hpp"

namespace refit {
namespace {

constexpr BitsPerSecond kUncapped{1'000'000'000'000'000};
constexpr Bytes kChunk = 16_MiB;

struct Region {
    BitsPerSecond rate;
    Nanoseconds rtt;
    std::uint32_t leaves;
};

constexpr std::array kRegions{Region{10_Gbps, 30_ms, 11}, Region{5_Gbps, 75_ms, 11},
                              Region{8_Gbps, 110_ms, 10}};

/// A tree in which every node passes each chunk on to its children as soon as it has it.
class Broadcast {
public:
    Broadcast(std::uint64_t chunks, std::uint64_t window) : window_(window) {
        const auto source_nic = net_.add_link(25_Gbps);
        edges_.emplace_back();  // the source's own feed: it has every chunk
        edges_[0].have = chunks;
        for (const Region& region : kRegions) {
            const std::size_t relay =
                connect(0, {source_nic, net_.add_link(region.rate)}, region.rtt);
            const auto relay_nic = net_.add_link(100_Gbps);
            for (std::uint32_t leaf = 0; leaf < region.leaves; ++leaf) {
                connect(relay, {relay_nic, net_.add_link(25_Gbps)}, Nanoseconds{20'000});
            }
        }
    }

    /// Returns how many chunks were delivered.
    std::uint64_t run() {
        std::uint64_t delivered = 0;
        std::vector<FluidNetwork::Arrival> arrivals;
        for (const std::size_t child : edges_[0].children) feed(child, Nanoseconds{0});
        for (Nanoseconds now = net_.next_event(); now != FluidNetwork::kNever;
             now = net_.next_event()) {
            arrivals.clear();
            net_.advance(now, arrivals);
            for (const auto& [flow, token] : arrivals) {
                const std::size_t edge = 1 + flow / 2;
                if (flow % 2 == 1) {
                    ++edges_[edge].acked;
                    feed(edge, now);
                    continue;
                }
                ++delivered;
                ++edges_[edge].have;
                net_.send(flow + 1, Bytes{0}, token, now);
                for (const std::size_t child : edges_[edge].children) feed(child, now);
            }
            end_ = now;
        }
        return delivered;
    }

    double virtual_seconds() const { return to_seconds(end_); }
    std::uint64_t solves() const { return net_.solves(); }

private:
    /// The connection into one node; its flows are 2 (index - 1) down and 2 (index - 1) + 1 back.
    struct Edge {
        std::size_t parent = 0;
        std::vector<std::size_t> children;
        std::uint64_t sent = 0;
        std::uint64_t acked = 0;
        std::uint64_t have = 0;
    };

    std::size_t connect(std::size_t parent,
                        const std::vector<FluidNetwork::LinkId>& path,
                        Nanoseconds rtt) {
        const Nanoseconds one_way{rtt.count / 2};
        const auto down = net_.add_flow(path, one_way, kUncapped);
        net_.add_flow({}, one_way, kUncapped);
        const std::size_t index = edges_.size();
        REFIT_ASSERT(down == 2 * (index - 1));
        edges_.emplace_back();
        edges_[index].parent = parent;
        edges_[parent].children.push_back(index);
        return index;
    }

    void feed(std::size_t index, Nanoseconds now) {
        Edge& edge = edges_[index];
        const auto down = static_cast<FluidNetwork::FlowId>(2 * (index - 1));
        while (edge.sent < edges_[edge.parent].have && edge.sent - edge.acked < window_) {
            net_.send(down, kChunk, edge.sent++, now);
        }
    }

    FluidNetwork net_;
    std::vector<Edge> edges_;
    std::uint64_t window_;
    Nanoseconds end_{0};
};

void three_regions(benchmark::State& state) {
    constexpr std::uint64_t kChunks = 4096;  // 64 GiB
    std::uint64_t transfers = 0;
    while (state.KeepRunning()) {
        Broadcast broadcast{kChunks, static_cast<std::uint64_t>(state.range(0))};
        const std::uint64_t delivered = broadcast.run();
        REFIT_ASSERT(delivered == kChunks * 35);
        transfers += delivered;
        state.counters["virtual_seconds"] = broadcast.virtual_seconds();
        state.counters["solves"] = static_cast<double>(broadcast.solves());
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(transfers));
}

BENCHMARK(three_regions)->Arg(4)->Arg(16)->Arg(64)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace refit
