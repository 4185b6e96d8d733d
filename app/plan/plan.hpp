// A refit planned: what each codec would take, in closed form, per phase and in money.
//
// Model     engine/closed_form.hpp over one topology, one payload a codec: its bits per parameter
//           times the parameters. No word is made, nothing is run.
// Staged    4 bytes a changed word and 12 a segment that changes (kernels/changes.hpp), by every
//           codec alike: a full checkpoint is staged as its changed words, too.
// Idle      what rollouts wait in a step, and the shortest step at which they stay 99 % busy, per
//           shape of the loop: engine/observe/loop_form.hpp. Asynchronous at the scenario's
//           staleness; where it has no generation, that is as long as a step.
// Money     egress: payload x $/GB of every link the tree crosses, one copy a site. Idle: rollout
//           GPUs x idle seconds x $/GPU-hour.
// Not in    late replicas, faults, ramps, jitter: as in the closed form.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/closed_form.hpp"
#include "engine/plan.hpp"

namespace refit {

/// Least refit time; the shortest step at which rollouts stay 99 % busy (a share of idle time would
/// praise slow codecs: they serve fewer versions); egress and idle $. The latter two in the
/// declared loop.
enum class PlanObjective : std::uint8_t { time, idle, cost };

/// What a codec makes of the change.
struct CodecBits {
    std::string codec;
    double bits_per_parameter = 0;
};

/// A link that the tree crosses, in the direction of the delta.
struct Crossing {
    std::string from;
    std::string to;
    BitsPerSecond rate;
    Nanoseconds rtt;
    std::string source;
    std::optional<double> usd_per_gb;
};

/// Every link between a site of the tree and its parent's site. Prices are left open.
std::vector<Crossing> crossings(const Topology& topology);

struct PlanInputs {
    std::string model;
    std::uint64_t parameters = 0;
    double changed = 0;    // share of the words
    std::string change;    // one line: profile and rate
    std::string payloads;  // one line: where bits per parameter are from
    std::vector<CodecBits> codecs;
    Topology topology;
    DeltaSpec delta;
    TransportSpec transport;
    Fleet fleet;
    Loop loop;
    std::vector<Crossing> crossings;
    std::uint64_t rollout_gpus = 0;
    std::string gpu;
    std::optional<double> usd_per_gpu_hour;
    std::string gpu_price_source;
    PlanObjective objective = PlanObjective::time;

    Bytes weights() const { return size_of(Words{parameters}); }
    Nanoseconds generation() const {
        return loop.generation.count > 0 ? loop.generation : loop.step;
    }
};

/// What rollouts wait in a loop of one shape.
struct LoopForm {
    double step_seconds = 0;  // from one version served to the next
    double idle_seconds = 0;  // of it, a replica
    double shortest_step_seconds = 0;
    std::optional<double> idle_usd;  // a step, all rollout GPUs

    double idle_fraction() const { return idle_seconds / step_seconds; }
};

struct CodecPlan {
    std::string codec;
    double bits_per_parameter = 0;
    DeltaSize size;
    RefitForm form;
    double replica_pause_seconds = 0;
    double speedup = 0;  // over the faster full checkpoint
    LoopForm one_step_off;
    LoopForm synchronous;
    LoopForm asynchronous;
    std::optional<double> egress_usd;  // a refit

    const LoopForm& loop(LoopShape shape) const {
        if (shape == LoopShape::asynchronous) return asynchronous;
        return shape == LoopShape::synchronous ? synchronous : one_step_off;
    }
    /// In the scenario's loop shape.
    std::optional<double> usd(LoopShape shape) const;
};

struct RefitPlan {
    PlanInputs inputs;
    std::vector<CodecPlan> codecs;  // best first
    std::string full;               // the faster full checkpoint
};

/// Bytes of the staging list of a whole model.
Bytes staged_bytes(std::uint64_t parameters, double changed);

/// `inputs` name `full` or `full-zstd` among their codecs; objective cost needs every price.
RefitPlan plan_refit(PlanInputs inputs);

/// The formula of one codec with its numbers, a line a phase.
std::vector<std::string> explain(const PlanInputs& inputs, const CodecPlan& plan);

}  // namespace refit
