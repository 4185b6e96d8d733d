// The Weights port: the words of one version of the canonical checkpoint, wherever they live.
//
// Real sides   a checkpoint file or directory (workloads/checkpoint.hpp), memory (below).
// Threads      read() may be called from several threads at once.
// Errors       a failed read of the machine throws MachineError.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/coords/catalog.hpp"
#include "engine/coords/grid.hpp"

namespace refit {

class Weights {
public:
    virtual ~Weights() = default;

    /// Copies words [first, first + out.size()) of one tensor.
    virtual void read(std::uint32_t tensor,
                      std::uint64_t first,
                      std::span<std::uint16_t> out) const = 0;

    /// Copies a whole tile; `out` has tile.words words.
    void read_tile(const Tile& tile, std::span<std::uint16_t> out) const {
        for (const Piece& piece : tile.pieces)
            read(piece.tensor, piece.tensor_first, out.subspan(piece.tile_first, piece.words));
    }
};

/// Canonical words in memory, in catalog order. An empty vector stands for all zero words: the
/// "nothing" an anchor is a delta from.
class MemoryWeights final : public Weights {
public:
    MemoryWeights(const Catalog& catalog, std::vector<std::uint16_t> words);
    void read(std::uint32_t tensor,
              std::uint64_t first,
              std::span<std::uint16_t> out) const override;

private:
    const Catalog& catalog_;
    std::vector<std::uint16_t> words_;
};

}  // namespace refit
