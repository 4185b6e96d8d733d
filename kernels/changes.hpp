// The staging list: which words of one tile change, and to which absolute words.
//
// Model      A tile is cut into segments of 4096 words. A segment with 1..2048 changes is sparse:
//            ascending u16 positions and one absolute word each. With more it is dense: all its
//            words, plain. Storing the words once, twice, or half then whole gives the same bits.
// Shapes     positions: one per sparse change. words: sparse words and dense segments in segment
//            order. segments: ascending, only those that change.
// Bytes      at most 2 per word + 12 per segment: 16.03 bits per parameter.
#pragma once

#include <cstdint>
#include <vector>

namespace refit {

inline constexpr std::uint32_t kSegmentWords = 4096;
inline constexpr std::uint32_t kSparseMax = 2048;  // more changes than this: the segment is dense

struct SegmentChanges {
    std::uint32_t segment;  // covers tile words [4096 * segment, ...)
    std::uint16_t changed;  // words that differ from the base, 1..4096
    std::uint16_t stored;   // words kept in `words`: `changed`, or the whole segment when dense
    bool dense;

    friend bool operator==(const SegmentChanges&, const SegmentChanges&) = default;
};

struct Changes {
    std::vector<SegmentChanges> segments;
    std::vector<std::uint16_t> positions;
    std::vector<std::uint16_t> words;

    void clear() {
        segments.clear();
        positions.clear();
        words.clear();
    }
    std::uint64_t changed() const {
        std::uint64_t total = 0;
        for (const SegmentChanges& s : segments) total += s.changed;
        return total;
    }
    std::uint64_t bytes() const {
        return segments.size() * sizeof(SegmentChanges) + 2 * (positions.size() + words.size());
    }

    friend bool operator==(const Changes&, const Changes&) = default;
};

}  // namespace refit
