// The Codec port: turns the change of a unit (a run of whole tiles) into bytes and back.
//
// Exact      for every pair of bit patterns. Deterministic: the same tiles, the same bytes, on
//            every backend and for every thread count.
// Model      Each tile has a mode. empty: nothing changed, no bytes. raw: next words, plain.
//            coded: the codec's own streams. All coded tiles of a unit share the streams, so a
//            general-purpose compressor sees them in one frame. The unit header (delta.hpp)
//            holds modes, counts and digests; a codec writes the body only.
// Errors     decode() trusts nothing: truncated, corrupt. It never writes outside its outputs
//            and allocates at most in proportion to the words of the unit.
// Add one    write engine/codec/<name>.cpp, list it in builtin_codecs(), describe it in FORMAT.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/coords/catalog.hpp"
#include "kernels/device.hpp"

namespace refit {

enum class TileMode : std::uint8_t { empty = 0, raw = 1, coded = 2 };

/// One tile of a unit to encode. `changes` is Device::diff(base, next).
struct TileDiff {
    std::span<const std::uint16_t> base;
    std::span<const std::uint16_t> next;
    const Changes* changes;
    WordType type = WordType::bf16;
};

/// One tile of a unit to decode. `changed` comes from the unit header.
struct TileBase {
    std::span<const std::uint16_t> base;
    TileMode mode;
    std::uint32_t changed;
};

class Codec {
public:
    virtual ~Codec() = default;

    virtual std::string_view name() const = 0;     // "gap-xor-zstd"
    virtual std::string_view summary() const = 0;  // one line, with the zstd level where it has one

    /// The mode this codec wants for a tile; empty exactly when nothing changed, except for codecs
    /// that always send everything.
    virtual TileMode choose_mode(const TileDiff& tile) const = 0;

    /// Does encode() use the device's lanes itself? Then it must not be called on one of them.
    virtual bool encodes_on_lanes() const { return false; }

    /// Appends the body of a unit to `body`. modes[i] is choose_mode(tiles[i]); a tile that turned
    /// out longer than its words becomes raw.
    virtual void encode(Device& device,
                        std::span<const TileDiff> tiles,
                        std::span<TileMode> modes,
                        ByteVector& body) const = 0;

    /// The inverse: one staging list per tile, absolute words. `changes` has tiles.size() entries.
    virtual Status decode(Device& device,
                          ByteSpan body,
                          std::span<const TileBase> tiles,
                          std::span<Changes> changes) const = 0;
};

/// The one list of codecs: tests, `list`, `encode --codec`, `run --codec` all read it.
const std::vector<std::unique_ptr<Codec>>& builtin_codecs();

/// Error lists the known names.
Result<const Codec*> find_codec(std::string_view name);

}  // namespace refit
