// For walks that jump: memory is asked for before it is needed.
#pragma once

#include <cstdint>

#include "kernels/changes.hpp"

namespace refit {

/// Fetches what lies half a segment further into the cache; that need not exist.
inline void fetch_ahead(const std::uint16_t* word) {
    const auto address = reinterpret_cast<std::uintptr_t>(word) + kSegmentWords;
    __builtin_prefetch(reinterpret_cast<const void*>(address), 0, 2);
}

}  // namespace refit
