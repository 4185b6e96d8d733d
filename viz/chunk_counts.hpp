// How many chunks the delta to each version has: as many as anybody passed on.
#pragma once

#include <cstdint>
#include <map>

#include "engine/observe/timeline.hpp"

namespace refit {

std::map<std::uint64_t, std::uint32_t> chunk_counts(const Timeline& timeline);

}  // namespace refit
