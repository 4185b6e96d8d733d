// What checkpoint a delta leads to: its files, and where each decoded byte belongs in them.
//
// Errors   corrupt, about the delta: headers that are no safetensors headers, an index that
//          disagrees with them, a tensor that neither words nor opaque items provide, or both do.
#pragma once

#include "engine/codec/container.hpp"
#include "workloads/checkpoint.hpp"

namespace refit {

struct DeltaContents {
    CheckpointContents contents;
    std::vector<StoredTensor> words;   // by catalog id
    std::vector<StoredTensor> opaque;  // of the opaque tensors, which come first in the table

    /// Is this opaque item another file, and which of contents.others?
    bool is_other(std::size_t item) const { return item >= opaque.size(); }
    std::size_t other(std::size_t item) const { return item - opaque.size(); }
};

Result<DeltaContents> read_delta_contents(const RfdReader& delta);

/// The bytes of a tile's piece, as they stand in a file.
inline ByteSpan piece_bytes(std::span<const std::uint16_t> tile_words, const Piece& piece) {
    return std::as_bytes(tile_words.subspan(piece.tile_first, piece.words));
}

}  // namespace refit
