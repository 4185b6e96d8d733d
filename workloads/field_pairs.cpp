#include "workloads/field_pairs.hpp"

namespace refit {

FieldPairs::FieldPairs(std::vector<FieldTensor> fields, FieldSpan versions)
    : fields_(std::move(fields)), versions_(versions), fill_(field_levels().front().fill) {}

void FieldPairs::read(const Tile& tile,
                      std::span<std::uint16_t> base,
                      std::span<std::uint16_t> next) const {
    for (const Piece& piece : tile.pieces) {
        fill_words(fill_, fields_[piece.tensor], piece.tensor_first, versions_,
                   base.subspan(piece.tile_first, piece.words),
                   next.subspan(piece.tile_first, piece.words));
    }
}

}  // namespace refit
