// The asynchronous loop: which batch each replica makes, when a batch is complete, when the
// trainer's next version is final. One state machine, fed with the events of a timeline: the world
// runs it to know when the next version is there, the idle account to know what replicas waited
// for.
//
// Batches  n = 1, 2, ...; every replica makes its share of each in turn, `generation` of serving
//          time. A pause, a crash and the recomputing of KV after a resume stop its clock; what it
//          has made is not lost. It may work on batch n while it serves version n - 1 - staleness
//          or a newer one. Staleness 0 is the synchronous loop, 1 is strict one-step-off.
// Trainer  step n begins when batch n is complete at every replica, step n - 1 is over and version
//          n - 1 has been taken up (step_ready): the trainer holds one finished version and merges
//          nothing. It takes `step`; then version n is final. Its refit begins when that of n - 1
//          is done. A crash of the source does not stop the trainer's clock.
// Late     a replica is in the loop from when it first serves, with the newest batch that any other
//          is at: nobody waits for what was begun before it came.
// Period   in steady state and up to pauses: max(generation, step, refit, (generation + step +
//          refit) / (staleness + 1)); engine/observe/loop_form.hpp has it with pauses.
// Exact    integer nanoseconds, a function of the events alone. O(replicas) a change.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/observe/timeline.hpp"
#include "engine/plan.hpp"

namespace refit {

class RolloutLoop {
public:
    enum class Doing : std::uint8_t {
        nothing,  // does not serve
        kv_recompute,
        working,
        straggler,  // waits for a version whose batch another replica has not finished
        trainer,    // waits for a version that is not final yet
        payload     // waits for a version that is final
    };

    /// An asynchronous loop with generation and step over 0. Nodes are numbered below `nodes`.
    RolloutLoop(const Loop& loop, std::size_t nodes);

    /// Events come in order; true if this one has a meaning here.
    bool on_event(const Event& event);
    /// Never back in time.
    void advance(Nanoseconds to);

    /// When something here changes next, should no event come before; always later than now.
    std::optional<Nanoseconds> next_change() const;
    /// The newest version that is final.
    std::uint64_t finals() const { return finals_; }
    /// Of a replica, from now until the next change.
    Doing doing(NodeId node) const;

private:
    struct Replica {
        bool known = false;  // has served
        bool serving = false;
        std::uint64_t version = 0;
        std::uint64_t batch = 1;  // under way or next
        Nanoseconds made{0};      // of its share
        Nanoseconds kv_until{0};
    };

    bool works(const Replica& replica) const;
    std::uint64_t complete() const;
    void serve(Replica& replica, std::uint64_t version);
    void settle();

    Loop loop_;
    std::vector<Replica> replicas_;  // by node; those that never serve stay unknown
    Nanoseconds now_{0};
    std::uint64_t finals_ = 0;
    std::uint64_t taken_ = 0;  // the newest version whose refit has begun
    std::optional<Nanoseconds> step_until_;
};

}  // namespace refit
