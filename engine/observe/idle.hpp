// Where rollout GPUs waited: every idle nanosecond of every replica, charged to one cause.
//
// Model      one-step-off: a replica works while it serves. Synchronous: it works for `generation`
//            after each resume and then waits for the next version; until the trainer's weights are
//            final that is a pipeline bubble, after that it waits for the payload.
//            A pause is drain, overwrite, resident check and, until resume, the barrier.
//            A crashed or fenced replica is in recovery until it serves again.
//            A late replica counts from when it first serves. The window ends with the run's last
//            serving event.
// Exact      integer nanoseconds: busy + the causes add up to replica time.
#pragma once

#include <cstdint>
#include <map>
#include <string>

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
    pipeline_bubble
};

std::string_view cause_name(IdleCause cause);

struct IdleAccount {
    Nanoseconds replica_time{0};
    Nanoseconds busy{0};
    std::map<IdleCause, Nanoseconds> idle;

    Nanoseconds idle_total() const;
};

IdleAccount account_idle(const Timeline& timeline, const RelayTree& tree, const Loop& loop);

}  // namespace refit
