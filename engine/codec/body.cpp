#include "engine/codec/body.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/codec/zstd_frame.hpp"

namespace refit {

bool any_in(std::span<const TileMode> modes, TileMode mode) {
    return std::ranges::find(modes, mode) != modes.end();
}

bool any_in(std::span<const TileBase> tiles, TileMode mode) {
    return std::ranges::find(tiles, mode, &TileBase::mode) != tiles.end();
}

std::uint64_t coded_words(std::span<const TileBase> tiles) {
    std::uint64_t total = 0;
    for (const TileBase& tile : tiles)
        if (tile.mode == TileMode::coded) total += tile.base.size();
    return total;
}

std::uint64_t coded_changes(std::span<const TileBase> tiles) {
    std::uint64_t total = 0;
    for (const TileBase& tile : tiles)
        if (tile.mode == TileMode::coded) total += tile.changed;
    return total;
}

Status check_tiles(std::span<const TileBase> tiles) {
    for (const TileBase& tile : tiles) {
        if (tile.changed > tile.base.size()) {
            return Error{ErrorCode::corrupt, fmt::format("a tile of {} words claims {} changes",
                                                         tile.base.size(), tile.changed)};
        }
        if ((tile.mode == TileMode::empty) != (tile.changed == 0))
            return Error{ErrorCode::corrupt, "a tile's mode and its count of changes disagree"};
    }
    return Done{};
}

void append_words(std::span<const std::uint16_t> words, ByteVector& body) {
    const auto bytes = std::as_bytes(words);
    body.insert(body.end(), bytes.begin(), bytes.end());
}

void append_raw_tiles(std::span<const TileDiff> tiles,
                      std::span<const TileMode> modes,
                      ByteVector& body) {
    REFIT_ASSERT(tiles.size() == modes.size());
    for (std::size_t i = 0; i < tiles.size(); ++i)
        if (modes[i] == TileMode::raw) append_words(tiles[i].next, body);
}

Status decode_raw_tiles(Device& device,
                        ByteReader& reader,
                        std::span<const TileBase> tiles,
                        std::span<Changes> changes) {
    REFIT_ASSERT(tiles.size() == changes.size());
    std::vector<ByteSpan> raw(tiles.size());
    for (std::size_t i = 0; i < tiles.size(); ++i) {
        changes[i].clear();
        if (tiles[i].mode == TileMode::raw) raw[i] = reader.take(2 * tiles[i].base.size());
    }
    if (reader.failed()) return Error{ErrorCode::truncated, "the raw tiles are cut short"};
    return for_each_tile(device, tiles.size(), [&](std::size_t i) -> Status {
        if (tiles[i].mode != TileMode::raw) return Done{};
        // A copy, because the bytes may lie at an odd address.
        std::vector<std::uint16_t> next(tiles[i].base.size());
        if (!next.empty()) std::memcpy(next.data(), raw[i].data(), raw[i].size());
        return stage_words(device, tiles[i], next, changes[i]);
    });
}

void append_stream(ByteSpan bytes, int level, ByteVector& body) {
    const std::size_t at = body.size();
    body.resize(at + sizeof(std::uint32_t));
    append_zstd_frame(bytes, level, body);
    const std::size_t length = body.size() - at - sizeof(std::uint32_t);
    REFIT_ASSERT(length <= 0xFFFF'FFFFu);
    const auto stored = static_cast<std::uint32_t>(length);
    std::memcpy(body.data() + at, &stored, sizeof(stored));
}

Status read_stream(ByteReader& reader, std::span<std::byte> out, std::string_view what) {
    const ByteSpan frame = reader.take_block(0xFFFF'FFFFu);
    if (reader.failed())
        return Error{ErrorCode::truncated, fmt::format("the zstd frame of {} is cut short", what)};
    return read_zstd_frame(frame, out, what);
}

Status for_each_tile(Device& device,
                     std::size_t tiles,
                     const std::function<Status(std::size_t)>& task) {
    std::vector<std::optional<Error>> errors(tiles);
    device.for_each(tiles, [&](std::uint64_t i, unsigned) {
        Status status = task(i);
        if (!status.has_value()) errors[i] = std::move(status).error();
    });
    for (std::optional<Error>& error : errors)
        if (error.has_value()) return std::move(*error);
    return Done{};
}

Status stage_words(Device& device,
                   const TileBase& tile,
                   std::span<const std::uint16_t> next,
                   Changes& out) {
    device.diff(tile.base, next, out);
    if (out.changed() == tile.changed) return Done{};
    return Error{ErrorCode::corrupt, fmt::format("a tile has {} changes where {} were announced",
                                                 out.changed(), tile.changed)};
}

Status stage_list(Device& device,
                  const TileBase& tile,
                  std::span<const std::uint32_t> index,
                  std::span<const std::uint16_t> mask,
                  Changes& out) {
    REFIT_ASSERT(index.size() == mask.size());
    if (index.size() != tile.changed) {
        return Error{ErrorCode::corrupt, fmt::format("a tile lists {} changes of {} announced",
                                                     index.size(), tile.changed)};
    }
    std::uint64_t least = 0;
    for (const std::uint32_t position : index) {
        if (position < least)
            return Error{ErrorCode::corrupt, "the positions of a tile do not ascend"};
        least = std::uint64_t{position} + 1;
    }
    if (least > tile.base.size()) {
        return Error{ErrorCode::corrupt, fmt::format("position {} lies outside a tile of {} words",
                                                     least - 1, tile.base.size())};
    }
    if (std::ranges::find(mask, std::uint16_t{0}) != mask.end())
        return Error{ErrorCode::corrupt, "a word listed as changed equals its base"};
    device.stage(tile.base, index, mask, out);
    return Done{};
}

}  // namespace refit
