// The Weights port: the words of one version of the canonical checkpoint, wherever they live.
//
// Real sides   a checkpoint file or directory (workloads/checkpoint.hpp), memory (below).
// Threads      read() and view() may be called from several threads at once.
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

    /// The same words where they lie, for as long as these weights are not written; empty when they
    /// do not lie there as one run of aligned words. Spares words in memory a copy.
    virtual std::span<const std::uint16_t> view(std::uint32_t /*tensor*/,
                                                std::uint64_t /*first*/,
                                                std::uint64_t /*words*/) const {
        return {};
    }

    /// Copies a whole tile; `out` has tile.words words.
    void read_tile(const Tile& tile, std::span<std::uint16_t> out) const {
        for (const Piece& piece : tile.pieces)
            read(piece.tensor, piece.tensor_first, out.subspan(piece.tile_first, piece.words));
    }

    /// A whole tile where it lies, or empty as view(). Tiles of several pieces are never viewed.
    std::span<const std::uint16_t> view_tile(const Tile& tile) const {
        if (tile.pieces.size() != 1) return {};
        const Piece& piece = tile.pieces.front();
        return view(piece.tensor, piece.tensor_first, piece.words);
    }
};

/// All words of a version, in catalog order.
std::vector<std::uint16_t> all_words(const Catalog& catalog, const Weights& weights);

/// Canonical words in memory, in catalog order. An empty vector stands for all zero words: the
/// "nothing" an anchor is a delta from.
class MemoryWeights final : public Weights {
public:
    MemoryWeights(const Catalog& catalog, std::vector<std::uint16_t> words);
    void read(std::uint32_t tensor,
              std::uint64_t first,
              std::span<std::uint16_t> out) const override;
    std::span<const std::uint16_t> view(std::uint32_t tensor,
                                        std::uint64_t first,
                                        std::uint64_t words) const override;

private:
    std::uint64_t word_of(std::uint32_t tensor, std::uint64_t first, std::uint64_t words) const;

    const Catalog& catalog_;
    std::vector<std::uint16_t> words_;
};

}  // namespace refit
