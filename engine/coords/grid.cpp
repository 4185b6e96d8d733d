#include "engine/coords/grid.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace refit {

namespace {

constexpr std::uint64_t div_ceil(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0); }

/// Where part `index` of `parts` begins, when sizes differ by at most one and larger come first.
std::uint64_t part_first(std::uint64_t total, std::uint64_t parts, std::uint64_t index) {
    return total / parts * index + std::min(index, total % parts);
}

class GridBuilder {
public:
    explicit GridBuilder(const Catalog& catalog) : catalog_(catalog) {}

    /// Tiles come in the order of their first piece, for that piece is what makes a tile.
    std::vector<Tile> build() {
        for (std::uint32_t id = 0; id < catalog_.tensors().size(); ++id) {
            const Tensor& tensor = catalog_.tensor(id);
            if (tensor.words == 0) continue;
            if (tensor.words < kShareTileBelow) {
                share(id, tensor);
            } else if (tensor.columns > kTileWordsMax) {
                cut_long_rows(id, tensor);
            } else {
                cut_bands(id, tensor);
            }
        }
        return std::move(tiles_);
    }

private:
    void add_tile(std::uint32_t id, std::uint64_t first, std::uint64_t words) {
        tiles_.push_back(Tile{{Piece{id, first, words, 0}}, words});
    }

    void cut_bands(std::uint32_t id, const Tensor& tensor) {
        const std::uint64_t bands = div_ceil(tensor.rows, kTileWordsMax / tensor.columns);
        for (std::uint64_t b = 0; b < bands; ++b) {
            const std::uint64_t first = part_first(tensor.rows, bands, b);
            const std::uint64_t end = part_first(tensor.rows, bands, b + 1);
            add_tile(id, first * tensor.columns, (end - first) * tensor.columns);
        }
    }

    void cut_long_rows(std::uint32_t id, const Tensor& tensor) {
        const std::uint64_t runs = div_ceil(tensor.columns, kTileWordsMax);
        for (std::uint64_t row = 0; row < tensor.rows; ++row) {
            for (std::uint64_t r = 0; r < runs; ++r) {
                const std::uint64_t first = part_first(tensor.columns, runs, r);
                const std::uint64_t end = part_first(tensor.columns, runs, r + 1);
                add_tile(id, row * tensor.columns + first, end - first);
            }
        }
    }

    void share(std::uint32_t id, const Tensor& tensor) {
        const auto [open, is_new] =
            open_.try_emplace(std::pair(tensor_class(tensor.name), tensor.type), tiles_.size());
        if (is_new || tiles_[open->second].words + tensor.words > kTileWordsMax) {
            open->second = tiles_.size();
            add_tile(id, 0, tensor.words);
            return;
        }
        Tile& tile = tiles_[open->second];
        tile.pieces.push_back(Piece{id, 0, tensor.words, tile.words});
        tile.words += tensor.words;
    }

    const Catalog& catalog_;
    std::vector<Tile> tiles_;
    std::map<std::pair<std::string, WordType>, std::size_t> open_;  // the class's unfinished tile
};

}  // namespace

Grid::Grid(const Catalog& catalog) : Grid(GridBuilder(catalog).build()) {}

Grid::Grid(std::vector<Tile> tiles) : tiles_(std::move(tiles)) {
    Sha256 hasher;
    hasher.update(as_byte_span("refit.grid/1"));
    for (const Tile& tile : tiles_) {
        ByteWriter writer;
        writer.write(static_cast<std::uint32_t>(tile.pieces.size()));
        for (const Piece& piece : tile.pieces) {
            writer.write(piece.tensor);
            writer.write(piece.tensor_first);
            writer.write(piece.words);
        }
        hasher.update(writer.bytes());
    }
    id_ = hasher.finish();
}

PieceWindow piece_window(const Tensor& tensor, const Piece& piece) {
    REFIT_ASSERT(piece.words > 0 && piece.words <= tensor.words);
    REFIT_ASSERT(piece.tensor_first <= tensor.words - piece.words);
    const std::uint64_t row = piece.tensor_first / tensor.columns;
    const std::uint64_t column = piece.tensor_first % tensor.columns;
    if (column + piece.words <= tensor.columns)
        return {.rows = {row, 1, 1}, .columns = {column, piece.words, 1}};
    REFIT_ASSERT(column == 0 && piece.words % tensor.columns == 0);
    return {.rows = {row, piece.words / tensor.columns, 1}, .columns = {0, tensor.columns, 1}};
}

std::vector<Placement> identity_placements(const Catalog& catalog, const Tile& tile) {
    std::vector<Placement> placements;
    for (const Piece& piece : tile.pieces) {
        const Tensor& tensor = catalog.tensor(piece.tensor);
        const PieceWindow window = piece_window(tensor, piece);
        placements.push_back(Placement{.tile_first = piece.tile_first,
                                       .tile_words = piece.words,
                                       .tensor_first = piece.tensor_first,
                                       .columns = tensor.columns,
                                       .row_first = window.rows.first,
                                       .row_count = window.rows.count,
                                       .col_first = window.columns.first,
                                       .col_count = window.columns.count,
                                       .local_first = piece.tile_first,
                                       .local_row_stride = window.columns.count,
                                       .tensor = piece.tensor});
    }
    return placements;
}

}  // namespace refit
