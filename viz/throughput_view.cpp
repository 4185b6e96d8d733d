#include "viz/throughput_view.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace refit {

namespace {

/// Adds bytes to the bins between two moments, to each its share of the time.
class Bins {
public:
    Bins(const TimeScale& scale, std::size_t count) {
        for (std::size_t bin = 0; bin <= count; ++bin)
            edges_.push_back(
                scale.at(scale.width() * static_cast<float>(bin) / static_cast<float>(count)));
        edges_.front() = scale.window().from;
        edges_.back() = scale.window().to;
    }

    void add(Nanoseconds from, Nanoseconds to, std::uint64_t bytes, std::vector<double>& bins) {
        bins.resize(edges_.size() - 1);
        if (from >= to) from = to - Nanoseconds{1};
        const auto length = static_cast<double>((to - from).count);
        auto edge = std::ranges::upper_bound(edges_, from);
        if (edge != edges_.begin()) --edge;
        for (; edge + 1 != edges_.end() && *edge < to; ++edge) {
            const Nanoseconds overlap = std::min(to, *(edge + 1)) - std::max(from, *edge);
            if (overlap.count <= 0) continue;
            bins[static_cast<std::size_t>(edge - edges_.begin())] +=
                static_cast<double>(bytes) * static_cast<double>(overlap.count) / length;
        }
    }

private:
    std::vector<Nanoseconds> edges_;
};

}  // namespace

std::vector<Throughput> throughput(const SavedRun& run, const TimeScale& scale, std::size_t bins) {
    const auto& nodes = run.recording.cast.tree.nodes;
    Bins spread(scale, bins);
    std::map<std::size_t, std::vector<double>> sites;
    std::map<std::pair<NodeId, std::uint64_t>, Nanoseconds> since;  // by receiver and version
    for (const Event& event : run.recording.timeline.events()) {
        const bool sent = event.kind == EventKind::chunk_sent;
        if (!sent && event.kind != EventKind::chunk_received) continue;
        if (event.node >= nodes.size() || event.peer >= nodes.size()) continue;
        const NodeId to = sent ? event.peer : event.node;
        const auto [before, first] = since.try_emplace({to, event.version}, event.at);
        if (sent) continue;
        const Nanoseconds from = std::exchange(before->second, event.at);
        const TreeNode& peer = nodes[event.peer];
        if (peer.site == nodes[to].site && peer.role != NodeRole::source) continue;
        spread.add(from, event.at, event.amount, sites[nodes[to].site]);
    }
    std::vector<Throughput> all;
    for (auto& [site, bytes] : sites) all.push_back({site, std::move(bytes)});
    return all;
}

std::vector<double> bit_rates(const Throughput& site, const TimeScale& scale) {
    std::vector<double> rates;
    const auto edge = [&](std::size_t bin) {
        return scale.at(scale.width() * static_cast<float>(bin) /
                        static_cast<float>(site.bytes.size()));
    };
    for (std::size_t bin = 0; bin < site.bytes.size(); ++bin) {
        const double seconds = std::max(1e-9, to_seconds(edge(bin + 1) - edge(bin)));
        rates.push_back(site.bytes[bin] * 8 / seconds);
    }
    return rates;
}

}  // namespace refit
