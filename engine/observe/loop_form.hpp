// Loops in closed form: how long a step is, how much of it rollouts wait, and how short it may get.
//
// Model    A refit takes `refit` from final weights to the last resume, of which each replica does
//          not serve for `pause`; after it the replica recomputes KV (Loop::kv_recompute).
//          Synchronous    step = generation + kv + refit; idle in kv + refit. The trainer's own
//                         time, which no codec changes, is left out.
//          One-step-off   step = max(trainer's step, refit); idle in pause + kv.
//          Asynchronous   step = max(generation + pause + kv, trainer's step, refit, (generation +
//                         kv + trainer's step + refit) / (staleness + 1)); idle in all of it but
//                         generation. The last term is rollouts that wait for a version: the
//                         pause falls into the wait, or, where steps take turns, into a batch, and
//                         the step is up to pause + kv longer.
// Busy     the shortest step at which rollouts stay 99 % busy, whatever generation is.
//          Synchronous    100 x (refit + kv).
//          One-step-off   max(refit, 100 x (pause + kv)).
//          Asynchronous   beside a trainer that works for the whole step: rollouts then wait
//                         refit + kv - (staleness - 1) x step, which may be 1 % of the step, so
//                         max(refit, 100 x (pause + kv), (refit + kv) / (staleness - 0.99)).
//                         Staleness 0: as synchronous.
// Units    seconds.
#pragma once

#include "engine/plan.hpp"

namespace refit {

struct RefitCost {
    double refit = 0;
    double pause = 0;  // of one replica
};

struct LoopPeriod {
    double step = 0;  // from one version served to the next
    double idle = 0;  // of it, a replica
};

/// `loop` as if it were of this shape.
LoopPeriod loop_period(LoopShape shape, const Loop& loop, const RefitCost& cost);
double shortest_step(LoopShape shape, const Loop& loop, const RefitCost& cost);

}  // namespace refit
