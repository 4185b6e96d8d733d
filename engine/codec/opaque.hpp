// Opaque items: what of a checkpoint is not coded as words, carried as plain bytes.
//
// What     Tensors that are neither BF16 nor F16, or have no counterpart of the same type and shape
//          in the base; other files of the folder. An item is cut into tiles of 768 KiB, a
//          multiple of every element size; each tile is one unit, behind the units of words.
// Modes    empty: the bytes of the base's item of the same name and size. raw. zstd: one frame,
//          where that is smaller.
// Check    the table holds the SHA-256 of every item's next bytes; whoever decodes compares it
//          before the result gets its name. A wrong base shows there as well.
// Bytes    FORMAT.md, normative. The table is the attachment "opaque" of an .rfd file.
// Errors   truncated, corrupt. parse() allocates in proportion to the bytes that are there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/hash.hpp"

namespace refit {

inline constexpr std::uint64_t kOpaqueTileBytes = std::uint64_t{3} << 18;
inline constexpr std::uint64_t kOpaqueNameMax = 4096;
inline constexpr std::string_view kOpaqueTableName = "opaque";

enum class OpaqueKind : std::uint8_t { tensor = 1, file = 2 };
enum class OpaqueMode : std::uint8_t { empty = 0, raw = 1, zstd = 2 };

struct OpaqueItem {
    OpaqueKind kind = OpaqueKind::tensor;
    bool has_base = false;  // the base holds an item of this kind, name and size
    std::string name;
    std::uint64_t bytes = 0;
    std::uint64_t changed_elements = 0;  // against a base of the same dtype and shape; for people
    std::uint64_t payload_bytes = 0;     // of its units; for people
    Hash256 hash;

    std::uint64_t tiles() const {
        return bytes / kOpaqueTileBytes + (bytes % kOpaqueTileBytes != 0 ? 1 : 0);
    }
    /// Bytes of tile `tile`.
    std::uint64_t tile_bytes(std::uint64_t tile) const {
        const std::uint64_t first = tile * kOpaqueTileBytes;
        return bytes - first < kOpaqueTileBytes ? bytes - first : kOpaqueTileBytes;
    }
    friend bool operator==(const OpaqueItem&, const OpaqueItem&) = default;
};

ByteVector serialize_opaque(const std::vector<OpaqueItem>& items);
Result<std::vector<OpaqueItem>> parse_opaque(ByteSpan bytes);

/// Tiles of all items: the units behind those of the words.
std::uint64_t opaque_tiles(const std::vector<OpaqueItem>& items);

/// The unit of one tile. `base` is empty where the item has none, else as long as `next`.
ByteVector encode_opaque_tile(std::uint32_t item, std::uint32_t tile, ByteSpan base, ByteSpan next);

/// A unit as read, not yet expanded.
struct OpaqueUnit {
    OpaqueMode mode = OpaqueMode::empty;
    ByteSpan body;
    std::uint64_t bytes = 0;  // of the unit, header included
};

/// The next unit of `bytes`, which must be this tile of this item.
Result<OpaqueUnit> read_opaque_unit(ByteSpan bytes,
                                    std::uint32_t item,
                                    std::uint32_t tile,
                                    const OpaqueItem& about);

/// The tile's next bytes. `out` holds the base's bytes before, where the item has a base.
Status expand_opaque(const OpaqueUnit& unit, std::span<std::byte> out);

}  // namespace refit
