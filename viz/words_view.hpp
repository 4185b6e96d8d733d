// Bits of a tile before and after a refit: the words around the first changed one, and what holds
// for all of the tile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "viz/tile_words.hpp"

namespace refit {

struct WordRow {
    std::uint64_t index = 0;  // in the tensor
    std::uint16_t base = 0;
    std::uint16_t mask = 0;
    std::uint16_t next = 0;
};

struct WordsView {
    std::vector<WordRow> rows;
    std::uint64_t words = 0;    // of the tile
    std::uint64_t changed = 0;  // of them: base and next differ
    /// Words whose base XOR mask is not next.
    std::uint64_t mismatches = 0;
    /// Changed shares of the tile's segments, 4096 words each but the last.
    std::vector<double> segments;
    std::size_t segment = 0;  // of the first row

    /// The mask leads from base to next everywhere, and changes as many words as the delta says.
    bool exact(const TileWords& tile) const {
        return mismatches == 0 && changed == tile.delta_changed;
    }
};

/// At most `rows` words of the piece at hand, from a little before its first changed word on (from
/// its first word when none has).
WordsView view_words(const TileWords& tile, std::size_t rows);

/// The number that 16 bits stand for: "-0.01227", "nan".
std::string word_text(WordType type, std::uint16_t bits);

}  // namespace refit
