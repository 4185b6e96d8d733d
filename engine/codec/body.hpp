// What the bodies of all codecs have in common: raw tiles, length-prefixed zstd streams, walking
// and checking lists of changes.
//
// Body       the next words of every raw tile, in tile order; then, if any tile is coded, the
//            codec's own streams. FORMAT.md is normative.
// Decoding   of a codec that sends changes only: decode_list() or decode_dense() around what it
//            reads from its streams.
// Errors     truncated, corrupt. Nothing here trusts a count, a position or a mode.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/codec/codec.hpp"

namespace refit {

/// Calls visit(index in tile, next word) for every changed word, ascending.
template <class Visit>
void for_each_change(const TileDiff& tile, Visit visit) {
    const Changes& changes = *tile.changes;
    std::size_t position = 0;
    std::size_t word = 0;
    for (const SegmentChanges& segment : changes.segments) {
        const std::uint32_t first = segment.segment * kSegmentWords;
        for (std::uint32_t k = 0; k < segment.stored; ++k) {
            const std::uint16_t next = changes.words[word++];
            const std::uint32_t index = first + (segment.dense ? k : changes.positions[position++]);
            if (segment.dense && tile.base[index] == next) continue;
            visit(index, next);
        }
    }
}

/// The mode of a tile for a codec that sends changes only. `coded_bytes`: what its streams take
/// before compression; raw when that is not less than the plain words.
TileMode choose_shorter(const TileDiff& tile, std::uint64_t coded_bytes);

/// Is any tile in this mode?
bool any_in(std::span<const TileMode> modes, TileMode mode);
bool any_in(std::span<const TileBase> tiles, TileMode mode);

/// Words of all coded tiles, and changes in all coded tiles.
std::uint64_t coded_words(std::span<const TileBase> tiles);
std::uint64_t coded_changes(std::span<const TileBase> tiles);

/// Are modes and counts possible at all for a codec that sends changes only? Memory is bounded by
/// the words of the unit from here on.
Status check_tiles(std::span<const TileBase> tiles);

/// For a codec that never sends raw words.
Status refuse_raw_tiles(std::span<const TileBase> tiles, std::string_view codec);

void append_words(std::span<const std::uint16_t> words, ByteVector& body);
void append_raw_tiles(std::span<const TileDiff> tiles,
                      std::span<const TileMode> modes,
                      ByteVector& body);

/// Stages every raw tile from the front of the body; empty tiles become empty lists.
Status decode_raw_tiles(Device& device,
                        ByteReader& reader,
                        std::span<const TileBase> tiles,
                        std::span<Changes> changes);

/// u32 length and one zstd frame.
void append_stream(ByteSpan bytes, int level, ByteVector& body);
Status read_stream(ByteReader& reader, std::span<std::byte> out, std::string_view what);

/// A stream of exactly `count` values, which the caller has checked against the tiles.
template <class Value>
Result<std::vector<Value>> read_values(ByteReader& reader,
                                       std::uint64_t count,
                                       std::string_view what) {
    std::vector<Value> values(static_cast<std::size_t>(count));
    REFIT_CHECK(read_stream(reader, std::as_writable_bytes(std::span(values)), what));
    return values;
}

/// u32 number of values, then their stream.
template <class Value>
void append_counted_stream(const std::vector<Value>& values, int level, ByteVector& body) {
    REFIT_ASSERT(values.size() <= 0xFFFF'FFFFu);
    const auto count = static_cast<std::uint32_t>(values.size());
    const auto bytes = std::as_bytes(std::span(&count, 1));
    body.insert(body.end(), bytes.begin(), bytes.end());
    append_stream(std::as_bytes(std::span(values)), level, body);
}

/// Runs task(i) for every tile on the device's lanes; yields the error of the lowest tile.
Status for_each_tile(Device& device,
                     std::size_t tiles,
                     const std::function<Status(std::size_t)>& task);

/// Turns `next` words of a tile into its staging list and checks the count.
Status stage_words(Device& device,
                   const TileBase& tile,
                   std::span<const std::uint16_t> next,
                   Changes& out);

/// Turns a tile's list into its staging list after checking what Device::stage demands: strictly
/// ascending positions inside the tile, no zero mask.
Status stage_list(Device& device,
                  const TileBase& tile,
                  std::span<const std::uint32_t> index,
                  std::span<const std::uint16_t> mask,
                  Changes& out);

/// Checks modes and counts, stages the raw tiles, lets `read_streams` read what the coded tiles
/// have (not called when there is none), and refuses bytes left over.
Status decode_frame(Device& device,
                    ByteSpan body,
                    std::span<const TileBase> tiles,
                    std::span<Changes> changes,
                    const std::function<Status(ByteReader&)>& read_streams);

/// The changes of all coded tiles, tile after tile: what a codec reads from its streams.
struct TilesList {
    std::vector<std::uint32_t> positions;  // within the tile, below its size: the codec checks
    std::vector<std::uint16_t> values;     // as many: XORs, or next words
};
enum class ValueKind : std::uint8_t { mask, next };

/// The decoder of a codec that lists its changes: decode_frame() around `read_list`, then
/// stage_list() for every coded tile with its share of the list.
Status decode_list(Device& device,
                   ByteSpan body,
                   std::span<const TileBase> tiles,
                   std::span<Changes> changes,
                   ValueKind kind,
                   const std::function<Result<TilesList>(ByteReader&)>& read_list);

/// base XOR next of all words of the coded tiles, tile after tile, and back.
std::vector<std::uint16_t> dense_masks(std::span<const TileDiff> tiles,
                                       std::span<const TileMode> modes);
/// `read_masks` yields what dense_masks() made of the coded tiles. No tile may be raw.
Status decode_dense(
    Device& device,
    ByteSpan body,
    std::span<const TileBase> tiles,
    std::span<Changes> changes,
    std::string_view codec,
    const std::function<Result<std::vector<std::uint16_t>>(ByteReader&)>& read_masks);

}  // namespace refit
