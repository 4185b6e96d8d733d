// A tiny world with a crash and a cut, lived through once: what the views are tested on.
#pragma once

#include "tests/sim/tiny_world.hpp"
#include "viz/saved_run.hpp"

namespace refit {

/// Two refits in three sites; eu/relay-1 crashes in the first and comes back, the link to ap is cut
/// in the second.
inline WorldPlan eventful_plan() {
    WorldPlan plan = tiny_plan(3, 2);
    plan.faults.push_back({FaultKind::crash, "eu/relay-1", 1, 40, 500_ms});
    plan.faults.push_back({FaultKind::cut, "ap/relay-1", 2, 30, 400_ms});
    return plan;
}

/// Without a record.
inline Recording record_world(const WorldPlan& plan) {
    TinyWorld world(plan);
    const Status ran = world->run();
    REFIT_ASSERT(ran.has_value());
    const Catalog& catalog = world.steps().catalog();
    return {make_cast("tiny, \"quoted\"", plan.topology, plan.loop, catalog, Grid(catalog),
                      plan.delta.unit_words),
            world->timeline(), ""};
}

}  // namespace refit
