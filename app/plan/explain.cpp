// The closed form of one codec, told with its numbers. What a line adds up to is the share itself;
// round trips and first chunks, which the form takes edge by edge, are what is left of it.
#include <fmt/format.h>

#include <algorithm>

#include "app/format.hpp"
#include "app/plan/plan.hpp"

namespace refit {
namespace {

double count(Bytes bytes) { return static_cast<double>(bytes.count); }

std::string gigabytes(Bytes bytes) { return fmt::format("{:.4g} GB", count(bytes) / 1e9); }

std::string speed(const DeclaredRate& rate) {
    return fmt::format("{:g} GB/s", static_cast<double>(rate.value.count) / 1e9);
}

std::string seconds(double value) {
    return value < 0.0995 ? fmt::format("{:.3g} ms", value * 1e3) : format_seconds(value);
}

double take(Bytes bytes, const DeclaredRate& rate) {
    return count(bytes) / static_cast<double>(rate.value.count);
}

/// How the payload is cut at the source, as the closed form has it.
struct Parts {
    double number = 0;
    Bytes each;
};

Parts parts_of(const PlanInputs& inputs, const CodecPlan& plan) {
    const double part = count(inputs.delta.chunk) * inputs.delta.chunks_per_part;
    const double units =
        static_cast<double>(inputs.parameters) / static_cast<double>(inputs.delta.unit_words);
    Parts parts;
    parts.number = std::clamp(count(plan.size.payload) / part, 1.0, std::max(1.0, units));
    parts.each = Bytes{static_cast<std::uint64_t>(count(plan.size.payload) / parts.number)};
    return parts;
}

std::string encode_line(const PlanInputs& inputs, const CodecPlan& plan, const Parts& parts) {
    const Site& home = inputs.topology.sites[inputs.topology.trainer_site()];
    return fmt::format(
        "encode    {} local round trip + {} / {} / {:.3g} parts + store {} + {} / {} = {}",
        seconds(to_seconds(home.local_rtt)), gigabytes(plan.size.weights),
        speed(inputs.fleet.encode), parts.number, seconds(to_seconds(home.store_rtt)),
        format_bytes(parts.each), format_bit_rate(home.store_rate),
        seconds(plan.form.encode_seconds));
}

std::string wire_line(const CodecPlan& plan) {
    const RefitForm& form = plan.form;
    const auto slowest = std::ranges::min_element(form.edges, {}, &EdgeForm::bits_per_second);
    const bool source = form.bottleneck != slowest->limit;
    const double carried = count(plan.size.payload) * 8 / slowest->bits_per_second;
    if (source || carried > form.wire_seconds) {
        return fmt::format("wire      waits for the {}: last part offered and sent = {}",
                           form.bottleneck, seconds(form.wire_seconds));
    }
    return fmt::format(
        "wire      {} x 8 / {} ({}) = {}, + {} first chunk and round trips = {}",
        gigabytes(plan.size.payload),
        format_bit_rate(BitsPerSecond{static_cast<std::uint64_t>(slowest->bits_per_second)}),
        form.bottleneck, seconds(carried), seconds(form.wire_seconds - carried),
        seconds(form.wire_seconds));
}

std::string stage_line(const PlanInputs& inputs, const CodecPlan& plan, const Parts& parts) {
    const double last = take(plan.size.weights, inputs.fleet.decode) / parts.number;
    return fmt::format(
        "stage     {} / {} / {:.3g} parts = {}, + {} round trips until the decision = {}",
        gigabytes(plan.size.weights), speed(inputs.fleet.decode), parts.number, seconds(last),
        seconds(std::max(0.0, plan.form.stage_seconds - last)), seconds(plan.form.stage_seconds));
}

std::string pause_line(const PlanInputs& inputs, const CodecPlan& plan) {
    const Fleet& fleet = inputs.fleet;
    const double work = to_seconds(fleet.drain) + take(plan.size.staged, fleet.overwrite) +
                        take(plan.size.weights, fleet.digest);
    return fmt::format(
        "pause     drain {} + staged {} / {} + resident check {} / {} + {} in 1.5 round trips = {}",
        seconds(to_seconds(fleet.drain)), gigabytes(plan.size.staged), speed(fleet.overwrite),
        gigabytes(plan.size.weights), speed(fleet.digest), seconds(plan.form.pause_seconds - work),
        seconds(plan.form.pause_seconds));
}

/// A wait of rollouts, and KV to recompute after it if any is declared.
std::string with_kv(const Loop& loop, double wait) {
    if (loop.kv_recompute.count == 0) return seconds(wait);
    return fmt::format("({} + kv {})", seconds(wait), seconds(to_seconds(loop.kv_recompute)));
}

std::string asynchronous_line(const PlanInputs& inputs, const CodecPlan& plan) {
    const Loop& loop = inputs.loop;
    const std::string refit = seconds(plan.form.seconds());
    const std::string step = seconds(to_seconds(loop.step));
    const std::string generation = seconds(to_seconds(inputs.generation()));
    const std::string wait = with_kv(loop, plan.form.seconds());
    const std::string pause = with_kv(loop, plan.replica_pause_seconds);
    const std::string busy = loop.staleness == 0
                                 ? fmt::format("100 x {}", wait)
                                 : fmt::format("max({}, 100 x {}, {} / {:g})", refit, pause, wait,
                                               loop.staleness - 0.99);
    return fmt::format(
        "asynchronous  idle in all but generation of max(generation {} + {}, step {}, refit {}, "
        "({} + {} + {}) / (staleness {} + 1)) = {:.3g} %; 99 % busy from {} = {}",
        generation, pause, step, refit, generation, step, wait, loop.staleness,
        100 * plan.asynchronous.idle_fraction(), busy,
        seconds(plan.asynchronous.shortest_step_seconds));
}

void add_loops(const PlanInputs& inputs, const CodecPlan& plan, std::vector<std::string>& lines) {
    const std::string refit = seconds(plan.form.seconds());
    const std::string wait = with_kv(inputs.loop, plan.form.seconds());
    const std::string pause = with_kv(inputs.loop, plan.replica_pause_seconds);
    lines.push_back(fmt::format(
        "one-step-off  idle {} / max(step {}, refit {}) = {:.3g} %; 99 % busy from max({}, 100 x "
        "{}) = {}",
        pause, seconds(to_seconds(inputs.loop.step)), refit,
        100 * plan.one_step_off.idle_fraction(), refit, pause,
        seconds(plan.one_step_off.shortest_step_seconds)));
    lines.push_back(fmt::format(
        "synchronous   idle {} / (generation {} + refit {}) = {:.3g} %; 99 % busy from 100 x {} = "
        "{}",
        wait, seconds(to_seconds(inputs.generation())), wait,
        100 * plan.synchronous.idle_fraction(), wait,
        seconds(plan.synchronous.shortest_step_seconds)));
    lines.push_back(asynchronous_line(inputs, plan));
}

void add_money(const PlanInputs& inputs, const CodecPlan& plan, std::vector<std::string>& lines) {
    if (plan.egress_usd) {
        std::string sum;
        for (const Crossing& crossing : inputs.crossings)
            sum += fmt::format("{}${:g}", sum.empty() ? "" : " + ", *crossing.usd_per_gb);
        lines.push_back(fmt::format("egress    {} x ({} a GB) = ${:.2f} a refit",
                                    gigabytes(plan.size.payload), sum.empty() ? "$0" : sum,
                                    *plan.egress_usd));
    }
    if (inputs.usd_per_gpu_hour) {
        const LoopForm& loop = plan.loop(inputs.loop.shape);
        lines.push_back(fmt::format("idle $    {} GPUs x {} / 3600 x ${:g} = ${:.2f} a step",
                                    inputs.rollout_gpus, seconds(loop.idle_seconds),
                                    *inputs.usd_per_gpu_hour, *loop.idle_usd));
    }
}

}  // namespace

std::vector<std::string> explain(const PlanInputs& inputs, const CodecPlan& plan) {
    const Parts parts = parts_of(inputs, plan);
    std::vector<std::string> lines;
    lines.push_back(fmt::format("payload   {:.4g} bits x {} / 8 = {}", plan.bits_per_parameter,
                                format_count(inputs.parameters), gigabytes(plan.size.payload)));
    lines.push_back(
        fmt::format("parts     {} / ({} chunks of {}) = {:.3g}, each {}; at least 1, at "
                    "most one a unit",
                    gigabytes(plan.size.payload), inputs.delta.chunks_per_part,
                    format_bytes(inputs.delta.chunk), parts.number, format_bytes(parts.each)));
    lines.push_back(encode_line(inputs, plan, parts));
    lines.push_back(wire_line(plan));
    lines.push_back(stage_line(inputs, plan, parts));
    lines.push_back(pause_line(inputs, plan));
    lines.push_back(
        fmt::format("refit     encode + wire + stage + pause = {}", seconds(plan.form.seconds())));
    add_loops(inputs, plan, lines);
    add_money(inputs, plan, lines);
    return lines;
}

}  // namespace refit
