#include "engine/codec/opaque.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "engine/codec/zstd_frame.hpp"

namespace refit {

namespace {

constexpr std::string_view kFormatName = "refit.opaque/1";
constexpr int kLevel = 3;
constexpr std::uint64_t kItemsMax = std::uint64_t{1} << 20;
constexpr std::uint64_t kBytesEnd = std::uint64_t{1} << 48;
/// Kind, base flag, name length, three counts, hash: an item takes at least this.
constexpr std::uint64_t kItemBytesMin = 1 + 1 + 4 + 8 + 8 + 8 + 32;

Error corrupt(std::string what) { return Error{ErrorCode::corrupt, std::move(what)}; }

Result<OpaqueItem> read_item(ByteReader& reader) {
    OpaqueItem item;
    const auto kind = reader.read<std::uint8_t>();
    const auto has_base = reader.read<std::uint8_t>();
    item.name = reader.take_text(kOpaqueNameMax);
    item.bytes = reader.read<std::uint64_t>();
    item.changed_elements = reader.read<std::uint64_t>();
    item.payload_bytes = reader.read<std::uint64_t>();
    const ByteSpan hash = reader.take(item.hash.bytes.size());
    if (reader.failed())
        return Error{ErrorCode::truncated, "the table of opaque items is cut short"};
    std::memcpy(item.hash.bytes.data(), hash.data(), hash.size());
    if (kind != static_cast<std::uint8_t>(OpaqueKind::tensor) &&
        kind != static_cast<std::uint8_t>(OpaqueKind::file))
        return corrupt(fmt::format("an opaque item is of the unknown kind {}", kind));
    if (has_base > 1) return corrupt("an opaque item has a bad base flag");
    if (item.bytes >= kBytesEnd)
        return corrupt(fmt::format("an opaque item claims {} bytes", item.bytes));
    item.kind = static_cast<OpaqueKind>(kind);
    item.has_base = has_base == 1;
    return item;
}

}  // namespace

ByteVector serialize_opaque(const std::vector<OpaqueItem>& items) {
    ByteWriter writer;
    writer.write_text(kFormatName);
    writer.write(static_cast<std::uint32_t>(items.size()));
    for (const OpaqueItem& item : items) {
        writer.write(static_cast<std::uint8_t>(item.kind));
        writer.write(static_cast<std::uint8_t>(item.has_base ? 1 : 0));
        writer.write_text(item.name);
        writer.write(item.bytes);
        writer.write(item.changed_elements);
        writer.write(item.payload_bytes);
        writer.append(std::as_bytes(std::span(item.hash.bytes)));
    }
    return std::move(writer).take();
}

Result<std::vector<OpaqueItem>> parse_opaque(ByteSpan bytes) {
    ByteReader reader(bytes);
    if (reader.take_text(kFormatName.size()) != kFormatName)
        return corrupt("the table of opaque items is in no format we know");
    const auto count = reader.read<std::uint32_t>();
    if (count > kItemsMax || count > reader.remaining() / kItemBytesMin)
        return corrupt(fmt::format("the table cannot hold {} opaque items", count));
    std::vector<OpaqueItem> items;
    items.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        REFIT_TRY(item, read_item(reader));
        const auto key = [](const OpaqueItem& one) { return std::tie(one.kind, one.name); };
        if (!items.empty() && key(item) <= key(items.back()))
            return corrupt("the opaque items are not in order of kind and name");
        items.push_back(std::move(item));
    }
    REFIT_CHECK(reader.finish("the table of opaque items"));
    return items;
}

std::uint64_t opaque_tiles(const std::vector<OpaqueItem>& items) {
    std::uint64_t tiles = 0;
    for (const OpaqueItem& item : items) tiles += item.tiles();
    return tiles;
}

ByteVector encode_opaque_tile(std::uint32_t item,
                              std::uint32_t tile,
                              ByteSpan base,
                              ByteSpan next) {
    REFIT_ASSERT(base.empty() || base.size() == next.size());
    OpaqueMode mode = OpaqueMode::raw;
    ByteVector packed;
    ByteSpan body = next;
    if (!base.empty() && std::memcmp(base.data(), next.data(), next.size()) == 0) {
        mode = OpaqueMode::empty;
        body = {};
    } else {
        append_zstd_frame(next, kLevel, packed);
        if (packed.size() < next.size()) {
            mode = OpaqueMode::zstd;
            body = packed;
        }
    }
    ByteWriter writer;
    writer.write(item);
    writer.write(tile);
    writer.write(static_cast<std::uint8_t>(mode));
    writer.write_block(body);
    return std::move(writer).take();
}

Result<OpaqueUnit> read_opaque_unit(ByteSpan bytes,
                                    std::uint32_t item,
                                    std::uint32_t tile,
                                    const OpaqueItem& about) {
    ByteReader reader(bytes);
    const auto its_item = reader.read<std::uint32_t>();
    const auto its_tile = reader.read<std::uint32_t>();
    const auto mode = reader.read<std::uint8_t>();
    OpaqueUnit unit;
    unit.body = reader.take_block(0xFFFF'FFFFu);
    if (reader.failed()) return Error{ErrorCode::truncated, "an opaque unit is cut short"};
    if (its_item != item || its_tile != tile) {
        return corrupt(fmt::format("an opaque unit is tile {} of item {}, where {} of {} is due",
                                   its_tile, its_item, tile, item));
    }
    if (mode > static_cast<std::uint8_t>(OpaqueMode::zstd))
        return corrupt(fmt::format("an opaque unit has the unknown mode {}", mode));
    unit.mode = static_cast<OpaqueMode>(mode);
    unit.bytes = bytes.size() - reader.remaining();
    if (unit.mode == OpaqueMode::empty && (!about.has_base || !unit.body.empty()))
        return corrupt("an empty opaque unit has bytes, or no base to take them from");
    if (unit.mode == OpaqueMode::raw && unit.body.size() != about.tile_bytes(tile))
        return corrupt("a raw opaque unit is not as long as its tile");
    return unit;
}

Status expand_opaque(const OpaqueUnit& unit, std::span<std::byte> out) {
    if (unit.mode == OpaqueMode::empty) return Done{};
    if (unit.mode == OpaqueMode::zstd) return read_zstd_frame(unit.body, out, "an opaque unit");
    REFIT_ASSERT(unit.body.size() == out.size());
    std::ranges::copy(unit.body, out.begin());
    return Done{};
}

}  // namespace refit
