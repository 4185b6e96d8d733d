#include "engine/refit.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace refit {

// The path of one delta. Each stage is a request of a protocol node; the node that makes it stands
// under `where`, and the event is what it appends to the timeline when the stage is over.
//
//   protocol/source.cpp       step, encode, publish
//   protocol/exchange.cpp     relay, on every node of the tree
//   protocol/replica.cpp      stage, prepare, overwrite, digest, resume
//   protocol/coordinator.cpp  decide
//   shards/resident.cpp       the words of a replica: staging list, stores, digests
std::span<const Stage> refit_stages() {
    static constexpr std::array<Stage, 10> kStages = {{
        {"step", "trainer", "final weights of the next version are on the trainer's shards",
         EventKind::step_ready},
        {"encode", "trainer", "diff against the last decided version and code, unit by unit",
         EventKind::unit_encoded},
        {"publish", "trainer", "chunks and manifest part durable in the store, then offered",
         EventKind::part_durable},
        {"relay", "tree", "chunks flow down the tree; every node checks, keeps, forwards",
         EventKind::chunk_received},
        {"stage", "replica",
         "decode against the served base into absolute words; base and delta "
         "digests checked",
         EventKind::staged},
        {"prepare", "replica", "promise: everything is durable at this site", EventKind::prepared},
        {"decide", "coordinator", "compare-and-swap at the register: the commit point",
         EventKind::decided},
        {"overwrite", "replica", "stop serving, drain, store the staged words",
         EventKind::check_begin},
        {"digest", "replica", "read every word of every rank: the resident check",
         EventKind::applied},
        {"resume", "replica", "everybody has applied: serve the new version", EventKind::serving},
    }};
    return kStages;
}

Result<RunResult> run_refits(const WorldPlan& plan,
                             const WorldParts& parts,
                             const RegisterMaker& make_register) {
    World world(plan, parts, make_register);
    REFIT_CHECK(world.run());
    RunResult result{world.tree(),
                     world.timeline(),
                     world.totals(),
                     fold_refits(world.timeline()),
                     fold_traffic(world.timeline()),
                     account_idle(world.timeline(), world.tree(), plan.loop),
                     {},
                     world.decided()};
    result.stolen = account_stolen(result.timeline, result.idle.busy_spans);
    return result;
}

std::vector<RefitTimes> fold_refits(const Timeline& timeline) {
    std::map<std::uint64_t, RefitTimes> refits;
    std::map<NodeId, Nanoseconds> paused;
    std::vector<RefitTimes> done;
    for (const Event& event : timeline.events()) {
        if (event.version == 0) continue;
        RefitTimes& refit = refits[event.version];
        refit.version = event.version;
        switch (event.kind) {
            case EventKind::step_ready:
                refit.ready = event.at;
                break;
            case EventKind::part_durable:
                if (event.index == 0) refit.offered = event.at;
                refit.last_arrival = std::max(refit.last_arrival, event.at);
                break;
            case EventKind::chunk_received:  // a straggler after the decision delays nobody
                if (refit.decided.count == 0) refit.last_arrival = event.at;
                break;
            case EventKind::sealed:
                refit.payload_bytes = event.amount;
                break;
            case EventKind::decided:
                refit.decided = event.at;
                break;
            case EventKind::pause_begin:
                paused[event.node] = event.at;
                break;
            case EventKind::serving: {
                const auto pause = paused.find(event.node);
                if (pause != paused.end()) {
                    refit.longest_pause = std::max(refit.longest_pause, event.at - pause->second);
                    paused.erase(pause);
                }
                if (refit.decided.count > 0) refit.served = event.at;
                break;
            }
            case EventKind::refit_done:
                if (done.empty() || done.back().version < event.version) done.push_back(refit);
                break;
            default:
                break;
        }
    }
    return done;
}

}  // namespace refit
