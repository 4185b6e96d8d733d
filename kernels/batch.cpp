#include "kernels/batch.hpp"

#include <algorithm>

namespace refit {

std::uint64_t BatchCase::changed() const {
    std::uint64_t total = 0;
    for (const BatchTile& tile : tiles) total += tile.changes.changed();
    return total;
}

std::uint64_t wrong_changes(const Changes& found, const Changes& expected) {
    return wrong_values(std::span(found.segments), std::span(expected.segments)) +
           wrong_values(std::span(found.positions), std::span(expected.positions)) +
           wrong_values(std::span(found.words), std::span(expected.words));
}

std::vector<std::uint16_t> overwritten_junk(const BatchCase& of) {
    std::vector<std::uint16_t> words(of.base.size(), std::uint16_t{kBatchJunk * 0x101});
    for (const BatchTile& tile : of.tiles) {
        std::size_t position = 0;
        std::size_t word = 0;
        for (const SegmentChanges& s : tile.changes.segments) {
            const std::uint64_t first = tile.first + std::uint64_t{s.segment} * kSegmentWords;
            for (std::uint32_t k = 0; k < s.stored; ++k)
                words[first + (s.dense ? k : tile.changes.positions[position++])] =
                    tile.changes.words[word++];
        }
    }
    return words;
}

}  // namespace refit
