#include "app/run_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/backend.hpp"
#include "app/fault_lines.hpp"
#include "app/host.hpp"

namespace refit {

namespace {

DeclaredRate scaled_rate(DeclaredRate rate, double factor) {
    const double scaled = static_cast<double>(rate.value.count) * factor;
    rate.value = BytesPerSecond{std::max<std::uint64_t>(1, static_cast<std::uint64_t>(scaled))};
    return rate;
}

/// What the user may call measured is simulated; one unmeasured rate makes the times extrapolated.
Provenance time_provenance(const Fleet& fleet) {
    const auto measured = [](const std::string& source) { return source.starts_with("measured"); };
    return measured(fleet.encode.source) && measured(fleet.decode.source) &&
                   measured(fleet.overwrite.source) && measured(fleet.digest.source) &&
                   measured(fleet.drain_source)
               ? Provenance::simulated
               : Provenance::extrapolated;
}

/// Chunks a node had received of the refit in flight, and of how many: where a fault struck.
std::string progress_of(const RunResult& run, NodeId node, Nanoseconds at, std::uint64_t version) {
    std::uint32_t received = 0;
    std::uint32_t chunks = 0;
    for (const Event& event : run.timeline.events()) {
        if (event.kind != EventKind::chunk_received || event.version != version) continue;
        chunks = std::max(chunks, event.index + 1);
        if (event.node == node && event.at <= at) ++received;
    }
    return fmt::format(" with {} of {} chunks received", received, chunks);
}

}  // namespace

std::string declared_rates(const Fleet& fleet) {
    const auto rate = [](const DeclaredRate& declared) {
        return fmt::format("{:g} GB/s", static_cast<double>(declared.value.count) / 1e9);
    };
    return fmt::format("encode {}, decode {}, overwrite {}, digest {}, drain {:g} s",
                       rate(fleet.encode), rate(fleet.decode), rate(fleet.overwrite),
                       rate(fleet.digest), to_seconds(fleet.drain));
}

WorldPlan make_plan(const Scenario& scenario, std::uint64_t refits, double scale) {
    WorldPlan plan;
    plan.topology = scale == 1 ? scenario.topology : scaled(scenario.topology, scale);
    plan.delta = scenario.delta;
    plan.transport = scenario.transport;
    plan.fleet = scenario.fleet;
    plan.fleet.encode = scaled_rate(plan.fleet.encode, scale);
    plan.fleet.decode = scaled_rate(plan.fleet.decode, scale);
    plan.fleet.overwrite = scaled_rate(plan.fleet.overwrite, scale);
    plan.fleet.digest = scaled_rate(plan.fleet.digest, scale);
    plan.loop = scenario.loop;
    plan.faults = scenario.faults;
    plan.seed = scenario.seed;
    plan.refits = refits;
    if (scenario.source.max_refits > 0)
        plan.refits = std::min(plan.refits, scenario.source.max_refits);
    return plan;
}

void describe_run(const Scenario& scenario, const Device& device, double scale, RunRecord& record) {
    record.title = scenario.title;
    record.seed = scenario.seed;
    record.backend = device.name();
    record.backend_reason = backend_reason(device);
    record.link_scale = scale;
    record.codec = scenario.delta.codec;
    if (const auto codec = find_codec(record.codec); codec.has_value())
        record.codec_summary = codec.value()->summary();
    record.chunk_bytes = scenario.delta.chunk.count;
    record.loop = scenario.loop;
    record.time_provenance =
        scenario.derived.empty() ? time_provenance(scenario.fleet) : Provenance::extrapolated;
    record.derived_times = scenario.derived;
    record.declared_rates = declared_rates(scenario.fleet);
    record.host.cpu = cpu_name();
    record.host.device = device.detail();
    record.host.version = REFIT_VERSION;
}

BaselineRecord baseline_of(const std::string& codec, const RefitTimes& refit, double scale) {
    BaselineRecord baseline;
    baseline.codec = codec;
    baseline.seconds = to_seconds(refit.seconds());
    baseline.payload_bytes = refit.payload_bytes;
    baseline.bits_per_second =
        static_cast<double>(baseline.payload_bytes) * 8 / baseline.seconds / scale;
    return baseline;
}

std::vector<std::string> describe_faults(const RunResult& run, const Topology& topology) {
    const auto link = [&](std::uint32_t index) {
        return topology.links[index].from + " <-> " + topology.links[index].to;
    };
    const auto detail = [&](const Event& down, std::uint64_t version) {
        return progress_of(run, down.node, down.at, version);
    };
    return fault_lines(run.timeline, {link, detail});
}

}  // namespace refit
