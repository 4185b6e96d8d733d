// The preconditions of the Device operations, checked the same way by every CPU device.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/changes.hpp"
#include "kernels/check.hpp"
#include "kernels/placement.hpp"

namespace refit {

inline void check_placement(const Placement& p) {
    REFIT_KERNEL_CHECK(p.columns > 0 && p.row_step > 0 && p.col_step > 0);
    REFIT_KERNEL_CHECK(p.col_count == 0 ||
                       p.col_first + (p.col_count - 1) * p.col_step < p.columns);
}

/// True when `count` addresses that start at `first` and step by `stride` are below `limit`.
inline bool addresses_inside(std::uint64_t first,
                             std::uint64_t count,
                             std::uint64_t stride,
                             std::uint64_t limit) {
    std::uint64_t span = 0;
    if (count == 0) return true;
    if (first >= limit || __builtin_mul_overflow(count - 1, stride, &span)) return false;
    return span < limit - first;
}

/// Strictly, and inside a segment. Without an early exit, so that it runs at vector speed.
inline bool ascending(std::span<const std::uint16_t> positions) {
    unsigned broken = positions.back() >= kSegmentWords ? 1 : 0;
    for (std::size_t k = 1; k < positions.size(); ++k)
        broken |= positions[k - 1] >= positions[k] ? 1u : 0u;
    return broken == 0;
}

inline void check_changes(const Changes& changes) {
    std::span<const std::uint16_t> positions = changes.positions;
    std::uint64_t words = 0;
    std::uint64_t segment_min = 0;
    for (const SegmentChanges& s : changes.segments) {
        REFIT_KERNEL_CHECK(s.segment >= segment_min && s.changed > 0);
        REFIT_KERNEL_CHECK(s.dense ? s.changed > kSparseMax : s.changed <= kSparseMax);
        REFIT_KERNEL_CHECK(s.dense ? s.stored >= s.changed : s.stored == s.changed);
        REFIT_KERNEL_CHECK(s.stored <= kSegmentWords);
        segment_min = std::uint64_t{s.segment} + 1;
        words += s.stored;
        if (s.dense) continue;
        REFIT_KERNEL_CHECK(s.stored <= positions.size());
        REFIT_KERNEL_CHECK(ascending(positions.first(s.stored)));
        positions = positions.subspan(s.stored);
    }
    REFIT_KERNEL_CHECK(positions.empty() && words == changes.words.size());
}

}  // namespace refit
