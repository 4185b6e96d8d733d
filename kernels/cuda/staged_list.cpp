#include "kernels/cuda/staged_list.hpp"

namespace refit::kernels {

std::vector<StagedSegment> to_staged(const Changes& changes) {
    std::vector<StagedSegment> staged;
    staged.reserve(changes.segments.size());
    std::uint32_t positions = 0;
    std::uint32_t words = 0;
    for (const SegmentChanges& s : changes.segments) {
        staged.push_back({0, s.segment, positions, words, s.changed, s.stored});
        positions += s.dense ? 0u : s.stored;
        words += s.stored;
    }
    return staged;
}

void to_changes(const StagedResult& staged, std::uint32_t tile, Changes& out) {
    out.clear();
    for (const StagedSegment& s : staged.segments) {
        if (s.tile != tile || s.changed == 0) continue;
        const bool dense = s.changed > kSparseMax;
        out.segments.push_back({s.segment, s.changed, s.stored, dense});
        const auto words = staged.words.subspan(s.words_at, s.stored);
        out.words.insert(out.words.end(), words.begin(), words.end());
        if (dense) continue;
        const auto positions = staged.positions.subspan(s.positions_at, s.stored);
        out.positions.insert(out.positions.end(), positions.begin(), positions.end());
    }
}

}  // namespace refit::kernels
