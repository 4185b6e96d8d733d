#include "app/plan/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/format.hpp"
#include "app/run_plan.hpp"

namespace refit {
namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kReplicasNamed = 8;  // more sites than this are only counted

/// What is not there is a dash, so that columns stay columns.
std::string dollars(const std::optional<double>& usd) {
    if (!usd) return "-";
    return fmt::format("${:.{}f}", *usd, *usd < 99.995 ? 2 : 0);
}

std::string percent(double fraction) {
    return fmt::format("{:.{}f} %", 100 * fraction, fraction < 0.09995 ? 2 : 1);
}

std::string price_text(const Crossing& crossing) {
    return crossing.usd_per_gb ? fmt::format(", ${:g} a GB", *crossing.usd_per_gb) : "";
}

void add_head(const PlanInputs& inputs, Lines& lines) {
    lines.push_back(fmt::format("plan      {}: {} parameters, {:.5g} GB in BF16; {}", inputs.model,
                                format_count(inputs.parameters),
                                static_cast<double>(inputs.weights().count) / 1e9, inputs.change));
    lines.push_back(fmt::format("payloads  {}", inputs.payloads));
    std::string sites;
    for (const Site& site : inputs.topology.sites) {
        if (inputs.topology.sites.size() > kReplicasNamed) break;
        if (site.replicas.empty()) continue;
        sites +=
            fmt::format("{}{} in {}", sites.empty() ? ": " : ", ", site.replicas.size(), site.name);
    }
    std::size_t replicas = 0;
    for (const Site& site : inputs.topology.sites) replicas += site.replicas.size();
    lines.push_back(fmt::format("topology  {}: {} replica{}{}; {} rollout GPUs",
                                inputs.topology.name, replicas, replicas == 1 ? "" : "s", sites,
                                format_count(inputs.rollout_gpus)));
    std::string source;
    for (const Crossing& crossing : inputs.crossings) {
        lines.push_back(fmt::format("tree      {} -> {}: {}, rtt {:.1f} ms{}", crossing.from,
                                    crossing.to, format_bit_rate(crossing.rate),
                                    to_seconds(crossing.rtt) * 1e3, price_text(crossing)));
        if (crossing.source == source) continue;
        source = crossing.source;
        lines.push_back(fmt::format("          {}", source));
    }
    lines.push_back(fmt::format("fleet     {}", declared_rates(inputs.fleet)));
}

void add_times(const RefitPlan& plan, Lines& lines) {
    lines.push_back(fmt::format("  {:<13} {:>8} {:>54} {:>8}", "", "bits per", "", "over"));
    lines.push_back(fmt::format("  {:<13} {:>8} {:>10} {:>9} {:>8} {:>8} {:>7} {:>7} {:>8}  {}",
                                "codec", "param", "payload", "refit", "encode", "wire", "stage",
                                "pause", plan.full, "bottleneck"));
    for (const CodecPlan& codec : plan.codecs) {
        const bool best = &codec == &plan.codecs.front();
        lines.push_back(fmt::format(
            "{} {:<13} {:>8.4g} {:>10} {:>9} {:>8.2f} {:>8.2f} {:>7.2f} {:>7.2f} {:>7.2f}x  {}",
            best ? '*' : ' ', codec.codec, codec.bits_per_parameter,
            format_bytes(codec.size.payload), format_seconds(codec.form.seconds()),
            codec.form.encode_seconds, codec.form.wire_seconds, codec.form.stage_seconds,
            codec.form.pause_seconds, codec.speedup, codec.form.bottleneck));
    }
}

std::string loop_columns(const LoopForm& loop) {
    return fmt::format("{:>8} {:>10} {:>9}", percent(loop.idle_fraction()),
                       format_seconds(loop.shortest_step_seconds), dollars(loop.idle_usd));
}

void add_loops(const RefitPlan& plan, Lines& lines) {
    const Loop& declared = plan.inputs.loop;
    const auto title = [&declared](LoopShape shape, std::string name) {
        return name + (declared.shape == shape ? " (declared)" : "");
    };
    lines.push_back(fmt::format(
        "  {:<13} {:^29}  {:^29}  {:^29}", "a step", title(LoopShape::one_step_off, "one-step-off"),
        title(LoopShape::synchronous, "synchronous"),
        title(LoopShape::asynchronous, fmt::format("asynchronous by {}", declared.staleness))));
    const std::string columns = fmt::format("{:>8} {:>10} {:>9}", "idle", "99 % busy", "idle $");
    lines.push_back(
        fmt::format("  {:<13} {}  {}  {} {:>9}", "codec", columns, columns, columns, "egress $"));
    for (const CodecPlan& codec : plan.codecs) {
        const bool best = &codec == &plan.codecs.front();
        lines.push_back(fmt::format("{} {:<13} {}  {}  {} {:>9}", best ? '*' : ' ', codec.codec,
                                    loop_columns(codec.one_step_off),
                                    loop_columns(codec.synchronous),
                                    loop_columns(codec.asynchronous), dollars(codec.egress_usd)));
    }
}

void add_notes(const RefitPlan& plan, Lines& lines) {
    const PlanInputs& inputs = plan.inputs;
    lines.push_back(fmt::format("* least {}", inputs.objective == PlanObjective::time ? "refit time"
                                              : inputs.objective == PlanObjective::idle
                                                  ? "step at 99 % busy in the declared loop"
                                                  : "egress and idle $ in the declared loop"));
    lines.push_back(
        fmt::format("idle      share of replica time: one-step-off, the pause of a step of {}; "
                    "synchronous, the whole refit",
                    format_seconds(to_seconds(inputs.loop.step))));
    lines.push_back(
        fmt::format("          after {} of generation; asynchronous, what is waited "
                    "for weights at most {} batches old.",
                    format_seconds(to_seconds(inputs.generation())), inputs.loop.staleness));
    lines.emplace_back("          99 % busy: from so short a step on, rollouts are");
    lines.push_back(inputs.usd_per_gpu_hour
                        ? fmt::format("prices    {} ${:g} a GPU-hour ({})", inputs.gpu,
                                      *inputs.usd_per_gpu_hour, inputs.gpu_price_source)
                        : fmt::format("prices    none for {}: --gpu-price", inputs.gpu));
    const bool priced = std::ranges::all_of(
        inputs.crossings, [](const Crossing& c) { return c.usd_per_gb.has_value(); });
    if (!priced)
        lines.emplace_back(
            "          none for egress over these links: --egress-price, or regions");
    lines.emplace_back(
        "all times and money are extrapolated: closed form over declared rates, nothing was run");
}

}  // namespace

std::string_view objective_name(PlanObjective objective) {
    constexpr std::array<std::string_view, 3> kNames = {"time", "idle", "cost"};
    return kNames[static_cast<std::size_t>(objective)];
}

std::vector<std::string> plan_text(const RefitPlan& plan) {
    Lines lines;
    add_head(plan.inputs, lines);
    lines.emplace_back();
    add_times(plan, lines);
    lines.emplace_back();
    add_loops(plan, lines);
    lines.emplace_back();
    add_notes(plan, lines);
    return lines;
}

std::vector<std::string> plan_csv(const RefitPlan& plan) {
    Lines lines{
        "codec,bits_per_parameter,payload_bytes,refit_seconds,encode_seconds,wire_seconds,"
        "stage_seconds,pause_seconds,replica_pause_seconds,speedup,bottleneck,"
        "one_step_off_idle_fraction,one_step_off_shortest_step_seconds,one_step_off_idle_usd,"
        "synchronous_idle_fraction,synchronous_shortest_step_seconds,synchronous_idle_usd,"
        "asynchronous_idle_fraction,asynchronous_shortest_step_seconds,asynchronous_idle_usd,"
        "egress_usd"};
    const auto usd = [](const std::optional<double>& value) {
        return value ? fmt::format("{:.6g}", *value) : std::string();
    };
    const auto loop = [&usd](const LoopForm& form) {
        return fmt::format("{:.6g},{:.6g},{}", form.idle_fraction(), form.shortest_step_seconds,
                           usd(form.idle_usd));
    };
    for (const CodecPlan& codec : plan.codecs) {
        const RefitForm& form = codec.form;
        std::string bottleneck = form.bottleneck;
        std::ranges::replace(bottleneck, '"', '\'');
        lines.push_back(fmt::format(
            "{},{:.6g},{},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},\"{}\",{},{},{},{}",
            codec.codec, codec.bits_per_parameter, codec.size.payload.count, form.seconds(),
            form.encode_seconds, form.wire_seconds, form.stage_seconds, form.pause_seconds,
            codec.replica_pause_seconds, codec.speedup, bottleneck, loop(codec.one_step_off),
            loop(codec.synchronous), loop(codec.asynchronous), usd(codec.egress_usd)));
    }
    return lines;
}

}  // namespace refit
