// The WordPairs port: two versions of the words of a model that is never in memory as a whole.
//
// Real side   the weight field over an architecture (workloads/field_steps.hpp).
// Exact       one tile has the same words however often and in whatever order it is asked for.
// Threads     read() may be called from several threads at once.
#pragma once

#include <cstdint>
#include <span>

#include "engine/coords/grid.hpp"

namespace refit {

class WordPairs {
public:
    virtual ~WordPairs() = default;

    /// Both versions of a tile; the spans have tile.words words each.
    virtual void read(const Tile& tile,
                      std::span<std::uint16_t> base,
                      std::span<std::uint16_t> next) const = 0;
};

}  // namespace refit
