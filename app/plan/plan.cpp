#include "app/plan/plan.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/observe/loop_form.hpp"
#include "kernels/changes.hpp"

namespace refit {
namespace {

constexpr double kHour = 3600;

/// Every member begins half a round trip after the decision and resumes half of one after the last
/// has applied: all of them pause for the share of the refit less the longest way back.
double replica_pause(const Topology& topology, const RefitForm& form) {
    const std::size_t home = topology.trainer_site();
    double longest = 0;
    for (std::size_t s = 0; s < topology.sites.size(); ++s) {
        const bool member = std::ranges::any_of(topology.sites[s].replicas,
                                                [](const auto& r) { return r.join_at.count == 0; });
        if (member) longest = std::max(longest, to_seconds(find_route(topology, home, s)->rtt));
    }
    return form.pause_seconds - longest / 2;
}

LoopForm loop_form(LoopShape shape, const PlanInputs& inputs, const RefitCost& cost) {
    Loop declared = inputs.loop;
    declared.generation = inputs.generation();
    const LoopPeriod period = loop_period(shape, declared, cost);
    LoopForm loop{period.step, period.idle, shortest_step(shape, declared, cost), std::nullopt};
    if (inputs.usd_per_gpu_hour) {
        loop.idle_usd = static_cast<double>(inputs.rollout_gpus) * loop.idle_seconds / kHour *
                        *inputs.usd_per_gpu_hour;
    }
    return loop;
}

void add_loops(const PlanInputs& inputs, CodecPlan& plan) {
    const RefitCost cost{plan.form.seconds(), plan.replica_pause_seconds};
    plan.one_step_off = loop_form(LoopShape::one_step_off, inputs, cost);
    plan.synchronous = loop_form(LoopShape::synchronous, inputs, cost);
    plan.asynchronous = loop_form(LoopShape::asynchronous, inputs, cost);
}

std::optional<double> egress_usd(const PlanInputs& inputs, Bytes payload) {
    double usd = 0;
    for (const Crossing& crossing : inputs.crossings) {
        if (!crossing.usd_per_gb) return std::nullopt;
        usd += static_cast<double>(payload.count) / 1e9 * *crossing.usd_per_gb;
    }
    return usd;
}

CodecPlan plan_codec(const PlanInputs& inputs, const CodecBits& bits) {
    CodecPlan plan;
    plan.codec = bits.codec;
    plan.bits_per_parameter = bits.bits_per_parameter;
    const double payload = bits.bits_per_parameter * static_cast<double>(inputs.parameters) / 8;
    plan.size.payload = Bytes{static_cast<std::uint64_t>(std::ceil(payload))};
    plan.size.weights = inputs.weights();
    plan.size.staged = staged_bytes(inputs.parameters, inputs.changed);
    plan.form =
        closed_form(inputs.topology, inputs.delta, inputs.transport, inputs.fleet, plan.size);
    plan.replica_pause_seconds = replica_pause(inputs.topology, plan.form);
    plan.egress_usd = egress_usd(inputs, plan.size.payload);
    add_loops(inputs, plan);
    return plan;
}

double worth(const PlanInputs& inputs, const CodecPlan& plan) {
    switch (inputs.objective) {
        case PlanObjective::idle:
            return plan.loop(inputs.loop.shape).shortest_step_seconds;
        case PlanObjective::cost:
            return *plan.usd(inputs.loop.shape);
        default:
            return plan.form.seconds();
    }
}

}  // namespace

std::optional<double> CodecPlan::usd(LoopShape shape) const {
    const std::optional<double> idle = loop(shape).idle_usd;
    if (!egress_usd || !idle) return std::nullopt;
    return *egress_usd + *idle;
}

std::vector<Crossing> crossings(const Topology& topology) {
    std::vector<Crossing> list;
    const RelayTree tree = derive_tree(topology);
    for (const TreeNode& node : tree.nodes) {
        if (node.parent == kNoNode) continue;
        const TreeNode& parent = tree.nodes[node.parent];
        if (parent.site == node.site) continue;
        const auto route = find_route(topology, parent.site, node.site);
        for (std::size_t i = 0; i < route->links.size(); ++i) {
            const WanLink& link = topology.links[route->links[i]];
            const bool forward = route->forward[i];
            list.push_back({forward ? link.from : link.to, forward ? link.to : link.from, link.rate,
                            link.rtt, link.source, std::nullopt});
        }
    }
    return list;
}

Bytes staged_bytes(std::uint64_t parameters, double changed) {
    const auto words = static_cast<double>(parameters);
    const double heads = words / kSegmentWords * (1 - std::pow(1 - changed, kSegmentWords));
    // Past half of its words a segment is staged whole, at 2 bytes a word.
    const double bytes = std::min(4 * changed, 2.0) * words + heads * sizeof(SegmentChanges);
    return Bytes{static_cast<std::uint64_t>(bytes)};
}

RefitPlan plan_refit(PlanInputs inputs) {
    RefitPlan plan;
    plan.inputs = std::move(inputs);
    for (const CodecBits& bits : plan.inputs.codecs)
        plan.codecs.push_back(plan_codec(plan.inputs, bits));
    double full_seconds = 0;
    for (const CodecPlan& codec : plan.codecs) {
        if (!codec.codec.starts_with("full")) continue;
        if (plan.full.empty() || codec.form.seconds() < full_seconds) {
            plan.full = codec.codec;
            full_seconds = codec.form.seconds();
        }
    }
    REFIT_ASSERT(!plan.full.empty());
    for (CodecPlan& codec : plan.codecs) codec.speedup = full_seconds / codec.form.seconds();
    std::ranges::stable_sort(plan.codecs, [&](const CodecPlan& a, const CodecPlan& b) {
        return std::pair(worth(plan.inputs, a), a.form.seconds()) <
               std::pair(worth(plan.inputs, b), b.form.seconds());
    });
    return plan;
}

}  // namespace refit
