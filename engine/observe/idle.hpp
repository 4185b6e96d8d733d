// Where rollout GPUs waited: every idle nanosecond of every replica, charged to one cause.
//
// Model      one-step-off: a replica works while it serves. Synchronous: it works for `generation`
//            after each resume and then waits for the next version; until the trainer's weights are
//            final that is a pipeline bubble, after that it waits for the payload.
//            Asynchronous: it works on batches as engine/observe/rollout_loop.hpp has them; where
//            it may not begin the next one, it waits for the slowest replica's share of the awaited
//            version's batch (straggler), then for the trainer (pipeline bubble), then for the
//            payload.
//            With a declared `kv_recompute` the first so much of serving after each resume is that.
//            A pause is drain, overwrite, resident check and, until resume, the barrier.
//            A crashed or fenced replica is in recovery until it serves again.
//            A late replica counts from when it first serves. The window ends with the run's last
//            serving event.
// Exact      integer nanoseconds: busy + the causes add up to replica time.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "engine/net/relay_tree.hpp"
#include "engine/observe/timeline.hpp"
#include "engine/plan.hpp"

namespace refit {

enum class IdleCause : std::uint8_t {
    payload,
    barrier,
    drain,
    overwrite,
    resident_check,
    recovery,
    pipeline_bubble,
    kv_recompute,
    straggler
};

std::string_view cause_name(IdleCause cause);

/// From when to when a replica worked without a break.
struct BusySpan {
    NodeId node = kNoNode;
    Nanoseconds from{0};
    Nanoseconds to{0};
};

/// From when to when a replica waited, for one cause.
struct IdleSpan {
    NodeId node = kNoNode;
    IdleCause cause{};
    Nanoseconds from{0};
    Nanoseconds to{0};
};

struct IdleAccount {
    Nanoseconds replica_time{0};
    Nanoseconds busy{0};
    std::map<IdleCause, Nanoseconds> idle;
    std::vector<BusySpan> busy_spans;  // of one node in order; they add up to busy
    std::vector<IdleSpan> idle_spans;  // likewise, to the idle time of each cause

    Nanoseconds idle_total() const;
};

IdleAccount account_idle(const Timeline& timeline, const RelayTree& tree, const Loop& loop);

}  // namespace refit
