#include <fmt/format.h>

#include "engine/codec/body.hpp"
#include "engine/codec/delta.hpp"

namespace refit {

namespace {

struct TileHead {
    TileMode mode = TileMode::empty;
    std::uint32_t changed = 0;
    std::uint64_t base_digest = 0;
    std::uint64_t next_digest = 0;
};

Result<TileHead> read_head(ByteReader& reader, std::uint64_t tile_words) {
    TileHead head;
    const auto mode = reader.read<std::uint8_t>();
    head.base_digest = reader.read<std::uint64_t>();
    head.next_digest = head.base_digest;
    if (mode != static_cast<std::uint8_t>(TileMode::empty)) {
        head.changed = reader.read<std::uint32_t>();
        head.next_digest = reader.read<std::uint64_t>();
    }
    if (reader.failed()) return Error{ErrorCode::truncated, "a unit's header is cut short"};
    if (mode > static_cast<std::uint8_t>(TileMode::coded))
        return Error{ErrorCode::corrupt, fmt::format("a tile has the unknown mode {}", mode)};
    head.mode = static_cast<TileMode>(mode);
    if (head.changed > tile_words) {
        return Error{ErrorCode::corrupt,
                     fmt::format("a tile of {} words claims {} changes", tile_words, head.changed)};
    }
    if (head.changed == 0 && head.base_digest != head.next_digest)
        return Error{ErrorCode::corrupt, "a tile without changes claims two digests"};
    return head;
}

/// The header and the bytes behind it, as far as they can be checked without the base.
struct UnitView {
    std::vector<TileHead> heads;
    ByteSpan body;
    std::uint64_t bytes = 0;
};

Result<UnitView> read_unit(const Grid& grid, UnitRange range, ByteSpan bytes) {
    ByteReader reader(bytes);
    const auto first = reader.read<std::uint32_t>();
    const auto count = reader.read<std::uint32_t>();
    if (reader.failed()) return Error{ErrorCode::truncated, "a unit's header is cut short"};
    if (first != range.first_tile || count != range.tile_count) {
        return Error{ErrorCode::corrupt,
                     fmt::format("a unit holds {} tiles from {}, where {} from {} are due", count,
                                 first, range.tile_count, range.first_tile)};
    }
    UnitView unit;
    unit.heads.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        REFIT_TRY(head, read_head(reader, grid.tile(first + i).words));
        unit.heads.push_back(head);
    }
    unit.body = reader.take_block(0xFFFF'FFFFu);
    if (reader.failed()) return Error{ErrorCode::truncated, "a unit's body is cut short"};
    unit.bytes = bytes.size() - reader.remaining();
    return unit;
}

/// The base check: every word of every tile of the unit, before anything is decoded.
Status read_bases(Device& device,
                  const DeltaContext& context,
                  const UnitView& view,
                  const BaseReader& read_base,
                  std::vector<DecodedTile>& tiles) {
    for (DecodedTile& tile : tiles) {
        tile.base = read_base(tile.tile, tile.copy);
        REFIT_ASSERT(tile.base.size() == context.grid.tile(tile.tile).words);
    }
    return for_each_tile(device, tiles.size(), [&](std::size_t i) -> Status {
        DecodedTile& tile = tiles[i];
        const auto placements = identity_placements(context.catalog, context.grid.tile(tile.tile));
        tile.base_digest = device.digest(tile.base, placements, context.salt);
        tile.next_digest = view.heads[i].next_digest;
        if (tile.base_digest == view.heads[i].base_digest) return Done{};
        return Error{ErrorCode::wrong_base,
                     fmt::format("tile {} has digest {:016x}, the delta was made from {:016x}",
                                 tile.tile, tile.base_digest, view.heads[i].base_digest)};
    });
}

/// The delta check: what the digest of the tile becomes, from the staged list alone.
Status check_staged(Device& device,
                    const DeltaContext& context,
                    const TileHead& head,
                    const DecodedTile& tile) {
    if (tile.changes.changed() != head.changed) {
        return Error{ErrorCode::corrupt,
                     fmt::format("tile {} decodes to {} changes where {} were announced", tile.tile,
                                 tile.changes.changed(), head.changed)};
    }
    const auto placements = identity_placements(context.catalog, context.grid.tile(tile.tile));
    const std::uint64_t digest =
        tile.base_digest + device.digest_change(tile.base, tile.changes, placements, context.salt);
    if (digest == tile.next_digest) return Done{};
    return Error{ErrorCode::corrupt, fmt::format("tile {} decodes to digest {:016x}, not {:016x}",
                                                 tile.tile, digest, tile.next_digest)};
}

}  // namespace

BaseReader read_base_from(const Weights& weights, const Grid& grid) {
    return [&](std::uint32_t number, std::vector<std::uint16_t>& copy) {
        const Tile& tile = grid.tile(number);
        if (const auto view = weights.view_tile(tile); !view.empty()) return view;
        copy.resize(tile.words);
        weights.read_tile(tile, copy);
        return std::span<const std::uint16_t>(copy);
    };
}

std::span<const std::uint16_t> overwrite_tile(Device& device,
                                              const DeltaContext& context,
                                              DecodedTile& tile) {
    if (tile.base.data() != tile.copy.data()) tile.copy.assign(tile.base.begin(), tile.base.end());
    device.overwrite(tile.copy, tile.changes,
                     identity_placements(context.catalog, context.grid.tile(tile.tile)));
    tile.base = {};
    return tile.copy;
}

Status UnitDecoder::decode(UnitRange range,
                           ByteSpan bytes,
                           const BaseReader& read_base,
                           DecodedUnit& unit) const {
    REFIT_TRY(view, read_unit(context_.grid, range, bytes));
    unit.bytes = view.bytes;
    unit.tiles.resize(range.tile_count);
    for (std::uint32_t i = 0; i < range.tile_count; ++i) unit.tiles[i].tile = range.first_tile + i;
    REFIT_CHECK(read_bases(device_, context_, view, read_base, unit.tiles));

    std::vector<TileBase> bases;
    std::vector<Changes> changes;
    for (std::uint32_t i = 0; i < range.tile_count; ++i) {
        bases.push_back(TileBase{unit.tiles[i].base, view.heads[i].mode, view.heads[i].changed});
        changes.push_back(std::move(unit.tiles[i].changes));  // for their memory
    }
    REFIT_CHECK(codec_.decode(device_, view.body, bases, changes));
    return for_each_tile(device_, unit.tiles.size(), [&](std::size_t i) {
        unit.tiles[i].changes = std::move(changes[i]);
        return check_staged(device_, context_, view.heads[i], unit.tiles[i]);
    });
}

}  // namespace refit
