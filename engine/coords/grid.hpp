// The grid: how the canonical model is cut into tiles, the unit every codec works on.
//
// Model    A property of the catalog alone, never of layouts, and computed rather than sent.
//          A tensor of 64 Ki words or more is cut into the fewest row bands of at most 512 Ki
//          words, of row counts that differ by at most one; a row longer than 512 Ki words is cut
//          alone, into the fewest runs, in the same way. Smaller tensors of one class (catalog.hpp)
//          and type share tiles of up to 512 Ki words, in catalog order. Empty tensors are in no
//          tile. Tiles are numbered by the catalog order of their first piece.
// Exact    every canonical word lies in exactly one piece of one tile.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/coords/catalog.hpp"
#include "engine/coords/progression.hpp"
#include "kernels/placement.hpp"

namespace refit {

inline constexpr std::uint64_t kTileWordsMax = std::uint64_t{512} << 10;
inline constexpr std::uint64_t kShareTileBelow = std::uint64_t{64} << 10;

/// A contiguous run of one tensor inside a tile.
struct Piece {
    std::uint32_t tensor;
    std::uint64_t tensor_first;
    std::uint64_t words;
    std::uint64_t tile_first;

    friend bool operator==(const Piece&, const Piece&) = default;
};

struct Tile {
    std::vector<Piece> pieces;
    std::uint64_t words = 0;
};

class Grid {
public:
    explicit Grid(const Catalog& catalog);
    /// Some tiles of another grid, in any order; the id is theirs.
    explicit Grid(std::vector<Tile> tiles);

    std::span<const Tile> tiles() const { return tiles_; }
    const Tile& tile(std::uint64_t id) const { return tiles_[id]; }

    /// SHA-256 over the pieces, tile by tile.
    const Hash256& id() const { return id_; }

private:
    std::vector<Tile> tiles_;
    Hash256 id_;
};

/// The rows and columns of a piece. A piece is made of whole rows, or of a run inside one row.
struct PieceWindow {
    Progression rows;
    Progression columns;
};
PieceWindow piece_window(const Tensor& tensor, const Piece& piece);

/// The placements of a tile in memory that is the tile itself: for digests of gathered words.
std::vector<Placement> identity_placements(const Catalog& catalog, const Tile& tile);

}  // namespace refit
