#include "engine/codec/body.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/codec/zstd_frame.hpp"

namespace refit {

namespace {

/// Most masks are zero: four at a time are skipped before any is looked at.
void collect_masks(std::span<const std::uint16_t> dense,
                   std::vector<std::uint32_t>& index,
                   std::vector<std::uint16_t>& mask) {
    std::size_t i = 0;
    const auto take = [&](std::size_t end) {
        for (; i < end; ++i) {
            if (dense[i] == 0) continue;
            index.push_back(static_cast<std::uint32_t>(i));
            mask.push_back(dense[i]);
        }
    };
    while (i + 4 <= dense.size()) {
        std::uint64_t four = 0;
        std::memcpy(&four, dense.data() + i, sizeof(four));
        if (four == 0) {
            i += 4;
        } else {
            take(i + 4);
        }
    }
    take(dense.size());
}

std::vector<std::uint16_t> masks_of(std::span<const std::uint16_t> base,
                                    std::span<const std::uint32_t> positions,
                                    std::span<const std::uint16_t> next) {
    std::vector<std::uint16_t> masks(next.begin(), next.end());
    for (std::size_t k = 0; k < masks.size(); ++k) {
        REFIT_ASSERT(positions[k] < base.size());
        masks[k] = static_cast<std::uint16_t>(masks[k] ^ base[positions[k]]);
    }
    return masks;
}

/// Where the share of each tile begins in what all coded tiles have in common; `size` says how
/// much a coded tile has of it. The last entry is the total.
template <class Size>
std::vector<std::size_t> shares(std::span<const TileBase> tiles, Size size) {
    std::vector<std::size_t> first(tiles.size() + 1);
    for (std::size_t i = 0; i < tiles.size(); ++i)
        first[i + 1] = first[i] + (tiles[i].mode == TileMode::coded ? size(tiles[i]) : 0);
    return first;
}

}  // namespace

TileMode choose_shorter(const TileDiff& tile, std::uint64_t coded_bytes) {
    if (tile.changes->changed() == 0) return TileMode::empty;
    return coded_bytes >= 2 * tile.base.size() ? TileMode::raw : TileMode::coded;
}

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

Status refuse_raw_tiles(std::span<const TileBase> tiles, std::string_view codec) {
    if (!any_in(tiles, TileMode::raw)) return Done{};
    return Error{ErrorCode::corrupt, fmt::format("{} never sends raw tiles, but one is", codec)};
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

Status decode_frame(Device& device,
                    ByteSpan body,
                    std::span<const TileBase> tiles,
                    std::span<Changes> changes,
                    const std::function<Status(ByteReader&)>& read_streams) {
    REFIT_CHECK(check_tiles(tiles));
    ByteReader reader(body);
    REFIT_CHECK(decode_raw_tiles(device, reader, tiles, changes));
    if (any_in(tiles, TileMode::coded)) REFIT_CHECK(read_streams(reader));
    return reader.finish("the body of a unit");
}

namespace {

/// stage_list() for every coded tile, each with its share of the list.
Status stage_list_of_tiles(Device& device,
                           std::span<const TileBase> tiles,
                           const TilesList& list,
                           ValueKind kind,
                           std::span<Changes> changes) {
    const auto first = shares(tiles, [](const TileBase& tile) { return tile.changed; });
    REFIT_ASSERT(list.positions.size() == first.back() && list.values.size() == first.back());
    return for_each_tile(device, tiles.size(), [&](std::size_t i) -> Status {
        const TileBase& tile = tiles[i];
        if (tile.mode != TileMode::coded) return Done{};
        const auto positions = std::span(list.positions).subspan(first[i], tile.changed);
        const auto values = std::span(list.values).subspan(first[i], tile.changed);
        if (kind == ValueKind::mask) return stage_list(device, tile, positions, values, changes[i]);
        const auto masks = masks_of(tile.base, positions, values);
        return stage_list(device, tile, positions, masks, changes[i]);
    });
}

Status stage_dense_masks(Device& device,
                         std::span<const TileBase> tiles,
                         std::span<const std::uint16_t> masks,
                         std::span<Changes> changes) {
    const auto first = shares(tiles, [](const TileBase& tile) { return tile.base.size(); });
    REFIT_ASSERT(masks.size() == first.back());
    return for_each_tile(device, tiles.size(), [&](std::size_t i) -> Status {
        if (tiles[i].mode != TileMode::coded) return Done{};
        std::vector<std::uint32_t> index;
        std::vector<std::uint16_t> mask;
        index.reserve(tiles[i].changed);
        mask.reserve(tiles[i].changed);
        collect_masks(masks.subspan(first[i], tiles[i].base.size()), index, mask);
        return stage_list(device, tiles[i], index, mask, changes[i]);
    });
}

}  // namespace

Status decode_list(Device& device,
                   ByteSpan body,
                   std::span<const TileBase> tiles,
                   std::span<Changes> changes,
                   ValueKind kind,
                   const std::function<Result<TilesList>(ByteReader&)>& read_list) {
    TilesList list;
    REFIT_CHECK(decode_frame(device, body, tiles, changes, [&](ByteReader& reader) -> Status {
        REFIT_TRY(read, read_list(reader));
        list = std::move(read);
        return Done{};
    }));
    return stage_list_of_tiles(device, tiles, list, kind, changes);
}

std::vector<std::uint16_t> dense_masks(std::span<const TileDiff> tiles,
                                       std::span<const TileMode> modes) {
    std::vector<std::uint16_t> dense;
    for (std::size_t t = 0; t < tiles.size(); ++t) {
        REFIT_ASSERT(modes[t] != TileMode::raw);
        if (modes[t] == TileMode::empty) continue;
        const auto base = tiles[t].base;
        const auto next = tiles[t].next;
        const std::size_t first = dense.size();
        dense.resize(first + base.size());
        for (std::size_t i = 0; i < base.size(); ++i)
            dense[first + i] = static_cast<std::uint16_t>(base[i] ^ next[i]);
    }
    return dense;
}

Status decode_dense(
    Device& device,
    ByteSpan body,
    std::span<const TileBase> tiles,
    std::span<Changes> changes,
    std::string_view codec,
    const std::function<Result<std::vector<std::uint16_t>>(ByteReader&)>& read_masks) {
    REFIT_CHECK(refuse_raw_tiles(tiles, codec));
    std::vector<std::uint16_t> masks;
    REFIT_CHECK(decode_frame(device, body, tiles, changes, [&](ByteReader& reader) -> Status {
        REFIT_TRY(read, read_masks(reader));
        masks = std::move(read);
        return Done{};
    }));
    return stage_dense_masks(device, tiles, masks, changes);
}

}  // namespace refit
