#include "viz/chunk_counts.hpp"

#include <algorithm>

namespace refit {

std::map<std::uint64_t, std::uint32_t> chunk_counts(const Timeline& timeline) {
    std::map<std::uint64_t, std::uint32_t> chunks;
    for (const Event& event : timeline.events()) {
        if (event.kind != EventKind::chunk_sent && event.kind != EventKind::chunk_received)
            continue;
        std::uint32_t& count = chunks[event.version];
        count = std::max(count, event.index + 1);
    }
    return chunks;
}

}  // namespace refit
