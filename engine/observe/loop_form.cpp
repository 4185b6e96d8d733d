#include "engine/observe/loop_form.hpp"

#include <algorithm>

namespace refit {
namespace {

constexpr double kSteps = 100;  // rollouts may wait one of so many parts of a step

}  // namespace

LoopPeriod loop_period(LoopShape shape, const Loop& loop, const RefitCost& cost) {
    const double step = to_seconds(loop.step);
    const double generation = to_seconds(loop.generation);
    const double kv = to_seconds(loop.kv_recompute);
    if (shape == LoopShape::synchronous) return {generation + kv + cost.refit, kv + cost.refit};
    if (shape == LoopShape::one_step_off) return {std::max(step, cost.refit), cost.pause + kv};
    const double round = (generation + kv + step + cost.refit) / (loop.staleness + 1.0);
    const double period = std::max({generation + cost.pause + kv, step, cost.refit, round});
    return {period, period - generation};
}

double shortest_step(LoopShape shape, const Loop& loop, const RefitCost& cost) {
    const double kv = to_seconds(loop.kv_recompute);
    const bool waits = shape == LoopShape::asynchronous && loop.staleness == 0;
    if (shape == LoopShape::synchronous || waits) return kSteps * (cost.refit + kv);
    const double paused = std::max(cost.refit, kSteps * (cost.pause + kv));
    if (shape == LoopShape::one_step_off) return paused;
    return std::max(paused, kSteps * (cost.refit + kv) / (kSteps * (loop.staleness - 1.0) + 1));
}

}  // namespace refit
