// The refit pipeline. READ FIRST: refit.cpp lists its stages in order and runs them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "engine/observe/idle.hpp"
#include "engine/observe/stolen.hpp"
#include "engine/observe/traffic.hpp"
#include "engine/sim/world.hpp"

namespace refit {

/// A stage of the pipeline: what happens, where, and the event that says it is over.
struct Stage {
    std::string_view name;
    std::string_view where;
    std::string_view what;
    EventKind done;
};

std::span<const Stage> refit_stages();

/// One refit on the clock. The four shares follow one another and add up to seconds().
struct RefitTimes {
    std::uint64_t version = 0;
    std::uint64_t payload_bytes = 0;
    Nanoseconds ready{0};         // final weights on the trainer
    Nanoseconds offered{0};       // the first part is durable and offered
    Nanoseconds last_arrival{0};  // the last chunk has reached the last member
    Nanoseconds decided{0};
    Nanoseconds served{0};  // the last member serves
    Nanoseconds longest_pause{0};

    Nanoseconds seconds() const { return served - ready; }
    Nanoseconds encode() const { return offered - ready; }
    Nanoseconds wire() const { return last_arrival - offered; }
    Nanoseconds stage() const { return decided - last_arrival; }
    Nanoseconds pause() const { return served - decided; }
};

struct RunResult {
    RelayTree tree;
    Timeline timeline;
    WorldTotals totals;
    std::vector<RefitTimes> refits;
    std::vector<EdgeTraffic> edges;
    IdleAccount idle;
    Nanoseconds stolen{0};  // summed over replicas
    Decision decided;
};

using RegisterMaker = std::function<std::unique_ptr<Register>(const Decision&)>;

/// Runs every refit of the plan to the end. Errors: as World::run().
Result<RunResult> run_refits(const WorldPlan& plan,
                             const WorldParts& parts,
                             const RegisterMaker& make_register);

/// The refits of a timeline, in order; only those that were served by everybody.
std::vector<RefitTimes> fold_refits(const Timeline& timeline);

}  // namespace refit
