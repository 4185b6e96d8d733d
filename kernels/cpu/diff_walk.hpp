// Builds a tile's staging list from front to back, as far as it is asked to, so that others can
// read the same words while they are in the cache.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "kernels/changes.hpp"
#include "kernels/cpu/checks.hpp"
#include "kernels/cpu/simd.hpp"

namespace refit {

class DiffWalk {
public:
    DiffWalk(const SimdOps& ops,
             std::span<const std::uint16_t> base,
             std::span<const std::uint16_t> next,
             Changes& out)
        : ops_(ops), base_(base), next_(next), out_(out) {
        constexpr std::uint64_t kTileWordsLimit = std::uint64_t{1} << 32;  // segments are u32
        REFIT_KERNEL_CHECK(base.size() == next.size() && base.size() <= kTileWordsLimit);
        out.clear();
    }

    /// Lists every segment that begins before tile word `end`.
    void compare_up_to(std::uint64_t end);

private:
    void append(std::uint64_t first, std::size_t words, std::size_t count);

    const SimdOps& ops_;
    std::span<const std::uint16_t> base_;
    std::span<const std::uint16_t> next_;
    Changes& out_;
    std::uint64_t listed_ = 0;  // words, whole segments or all
    std::array<std::uint16_t, kSparseMax + kPositionSlack> positions_;
};

inline void DiffWalk::compare_up_to(std::uint64_t end) {
    const std::uint64_t segments = (end + kSegmentWords - 1) / kSegmentWords;
    end = std::min<std::uint64_t>(segments * kSegmentWords, base_.size());
    while (listed_ < end) {
        listed_ += ops_.equal_prefix(&base_[listed_], &next_[listed_], end - listed_);
        if (listed_ == end) return;
        listed_ -= listed_ % kSegmentWords;
        const std::size_t n = std::min<std::uint64_t>(kSegmentWords, end - listed_);
        append(listed_, n,
               ops_.changed_positions(&base_[listed_], &next_[listed_], n, positions_.data()));
        listed_ += n;
    }
}

inline void DiffWalk::append(std::uint64_t first, std::size_t words, std::size_t count) {
    if (count == 0) return;
    const bool dense = count > kSparseMax;
    out_.segments.push_back({static_cast<std::uint32_t>(first / kSegmentWords),
                             static_cast<std::uint16_t>(count),
                             static_cast<std::uint16_t>(dense ? words : count), dense});
    const std::uint16_t* segment = &next_[first];
    if (dense) {
        out_.words.insert(out_.words.end(), segment, segment + words);
        return;
    }
    std::array<std::uint16_t, kSparseMax> values;
    for (std::size_t k = 0; k < count; ++k) values[k] = segment[positions_[k]];
    out_.positions.insert(out_.positions.end(), positions_.data(), positions_.data() + count);
    out_.words.insert(out_.words.end(), values.data(), values.data() + count);
}

}  // namespace refit
