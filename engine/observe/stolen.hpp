// What the codec takes from rollouts that go on: staging on a replica that is busy.
//
// Model    while a replica decodes a part, the codec counts as having the whole of its GPUs: an
//          upper bound, since decoding may run beside rollouts. Staging while the replica waits or
//          pauses takes nothing from anybody, so idle and stolen time never overlap.
//          A part is being decoded from stage_begin until it is staged, refused or lost in a crash;
//          a replica decodes one part at a time.
// Exact    integer nanoseconds.
#pragma once

#include "engine/observe/idle.hpp"

namespace refit {

/// Summed over replicas. `busy` is that of the same timeline.
Nanoseconds account_stolen(const Timeline& timeline, const std::vector<BusySpan>& busy);

}  // namespace refit
