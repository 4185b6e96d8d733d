// Where the function of one target stands in Highway's dispatch tables. For sources that are
// compiled once per target; they include this behind hwy/highway.h, with
// HWY_COMPILE_ALL_ATTAINABLE.
#pragma once

#include <hwy/targets.h>

#include <cstddef>
#include <cstdint>

namespace refit {

/// The library's own chosen target is one per process; a device needs its own.
inline std::size_t dispatch_entry(std::int64_t target) {
    hwy::ChosenTarget chosen;
    chosen.Update(target);
    constexpr bool kOneTarget = (HWY_TARGETS & (HWY_TARGETS - 1)) == 0;
    return kOneTarget ? 0 : chosen.GetIndex();
}

}  // namespace refit
