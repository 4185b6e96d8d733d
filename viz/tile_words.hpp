// The words of one tile of a kept run, as whoever can make or read them again hands them over: what
// the panel of words draws. Views make no words themselves.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/coords/grid.hpp"

namespace refit {

struct TileWords {
    std::string missing;  // one sentence: why there are no words; the rest is empty then

    std::string source;         // one sentence: what the words are from, and what was checked
    std::string codec;          // of the run
    std::uint64_t version = 0;  // of `next`; `base` is the one before
    WordType type = WordType::bf16;
    Piece piece;                      // of the tensor at hand, in the tile
    std::vector<std::uint16_t> base;  // the whole tile
    std::vector<std::uint16_t> mask;  // the same length; decoded from the tile's own bytes
    std::vector<std::uint16_t> next;  // the same length
    std::uint64_t delta_bytes = 0;    // that the tile takes when it is encoded alone
    std::uint64_t delta_changed = 0;  // words that those bytes change

    std::size_t tile = 0;  // in `tiles`
    /// Changed shares of the tensor's tiles in order; absent: not looked at.
    std::vector<std::optional<double>> tiles;
};

/// Of the refit that makes this version. Never null.
using WordsOf = std::function<std::shared_ptr<const TileWords>(std::uint64_t version)>;

/// What the page of weights shows.
struct Subject {
    std::optional<std::uint32_t> tensor;  // of the catalog; absent: pick_tensor()
    WordsOf words;                        // may be empty: nobody looked for words
};

}  // namespace refit
