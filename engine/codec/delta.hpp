// Units and parts: the codec's bytes as they travel, for the encoder and every receiver.
//
// Model      A unit is a run of whole tiles, at most open.unit_words words (one tile at least).
//            unit bytes = header (first tile, tile count; per tile: mode, base digest and, unless
//            it is empty, changed, next digest; body length) + codec body: FORMAT.md. A part is a
//            run of whole units, closed at the first unit boundary with chunks_per_part chunks'
//            worth of bytes, or at the end.
// Checks     UnitDecoder compares the base digest of every tile of the unit (a full read, empty
//            tiles too), the changed count, and the next digest, updated from the staged list
//            alone. The encoder reads the next digest in full.
// Threads    Both directions use device.for_each(), so call neither inside it.
// Errors     wrong_base before anything is decoded; truncated; corrupt.
// Source     tile digests and identity: design; chunk sizes: scenario values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/base/units.hpp"
#include "engine/codec/codec.hpp"
#include "engine/codec/manifest.hpp"
#include "engine/coords/grid.hpp"
#include "engine/coords/weights.hpp"

namespace refit {

/// What both ends agree on before the first byte. Catalog and grid outlive it.
struct DeltaContext {
    const Catalog& catalog;
    const Grid& grid;
    std::uint64_t salt;
};

/// Header bytes of a unit per tile, at least: mode, base digest.
inline constexpr std::uint64_t kTileHeadBytes = 1 + 8;

struct UnitRange {
    std::uint32_t first_tile = 0;
    std::uint32_t tile_count = 0;
};

/// How the grid's tiles are grouped into units; derived, never sent.
std::vector<UnitRange> make_units(const Grid& grid, std::uint64_t unit_words);
Words words_of(const Grid& grid, UnitRange unit);

struct EncodedUnit {
    ByteVector bytes;
    std::uint64_t changed_words = 0;
    std::vector<std::uint64_t> base_digests;  // per tile of the unit
    std::vector<std::uint64_t> next_digests;
    std::vector<std::uint64_t> changed;
};

/// Wall time, summed over lanes.
struct StageTimes {
    Nanoseconds read;  // words that had to be copied out of Weights
    Nanoseconds scan;  // diff, both digests, choice of mode
    Nanoseconds code;  // codec bodies
};

/// A clock that never goes back. Called on every lane.
using MonotonicClock = std::function<Nanoseconds()>;

/// Encodes batches of units with all lanes: tiles in parallel, then the units' bodies in parallel.
/// The bytes are the same for any batches and lanes. Buffers are kept from batch to batch; a batch
/// needs twice its words, unless they lie in memory, and its changes. Device, codec and what the
/// context refers to outlive this.
class UnitEncoder {
public:
    /// Without a clock times() stay zero.
    UnitEncoder(Device& device,
                const Codec& codec,
                const DeltaContext& context,
                MonotonicClock clock = {});

    std::vector<EncodedUnit> encode(std::span<const UnitRange> units,
                                    const Weights& base,
                                    const Weights& next);

    /// Replaces `out`, the units of an earlier batch, whose buffers are used again: fresh memory
    /// costs the system as much as a plain codec.
    void encode(std::span<const UnitRange> units,
                const Weights& base,
                const Weights& next,
                std::vector<EncodedUnit>& out);

    /// Of all batches so far.
    StageTimes times() const;

private:
    struct TileWork {
        std::uint32_t tile = 0;
        std::vector<std::uint16_t> base_copy;
        std::vector<std::uint16_t> next_copy;
        std::span<const std::uint16_t> base;  // in the copy, or where the weights are
        std::span<const std::uint16_t> next;
        Changes changes;
        TileMode mode = TileMode::empty;
        TileDigests digests;
    };

    Nanoseconds now() const { return clock_ ? clock_() : Nanoseconds{}; }
    void read(TileWork& work, const Weights& base, const Weights& next) const;
    void scan(TileWork& work) const;
    void code(UnitRange range, std::span<const TileWork> work, EncodedUnit& unit) const;

    Device& device_;
    const Codec& codec_;
    DeltaContext context_;
    MonotonicClock clock_;
    std::vector<TileWork> work_;       // one per tile of the largest batch
    std::vector<StageTimes> by_lane_;  // written by one lane each
};

/// One batch.
std::vector<EncodedUnit> encode_units(Device& device,
                                      const Codec& codec,
                                      const DeltaContext& context,
                                      std::span<const UnitRange> units,
                                      const Weights& base,
                                      const Weights& next);

EncodedUnit encode_unit(Device& device,
                        const Codec& codec,
                        const DeltaContext& context,
                        UnitRange range,
                        const Weights& base,
                        const Weights& next);

struct DecodedTile {
    std::uint32_t tile = 0;
    std::span<const std::uint16_t> base;  // what it was decoded against: a copy, or where it lies
    std::vector<std::uint16_t> copy;
    Changes changes;  // absolute next words
    std::uint64_t base_digest = 0;
    std::uint64_t next_digest = 0;
};

struct DecodedUnit {
    std::vector<DecodedTile> tiles;
    std::uint64_t bytes = 0;  // of the unit
};

/// The next words of a tile, in its copy of the base, which they replace.
std::span<const std::uint16_t> overwrite_tile(Device& device,
                                              const DeltaContext& context,
                                              DecodedTile& tile);

/// The still-served words of a tile of the grid: where they lie, or put into `copy`.
using BaseReader =
    std::function<std::span<const std::uint16_t>(std::uint32_t tile, std::vector<std::uint16_t>&)>;

/// Reads from `weights`; they and the grid outlive it.
BaseReader read_base_from(const Weights& weights, const Grid& grid);

/// Decodes units one at a time, with all lanes. Device, codec and what the context refers to
/// outlive this.
class UnitDecoder {
public:
    UnitDecoder(Device& device, const Codec& codec, const DeltaContext& context)
        : device_(device), codec_(codec), context_(context) {}

    /// Decodes the next unit of `bytes`, which hold the whole of it. Replaces `unit`, whose buffers
    /// are used again. `read_base` is called on this thread, tile after tile, before anything is
    /// decoded.
    Status decode(UnitRange range,
                  ByteSpan bytes,
                  const BaseReader& read_base,
                  DecodedUnit& unit) const;

private:
    Device& device_;
    const Codec& codec_;
    DeltaContext context_;
};

/// A finished part: its record and its payload.
struct Part {
    PartRecord record;
    ByteVector payload;

    /// The bytes of chunk `first_chunk + i`.
    ByteSpan chunk(std::size_t i, std::uint32_t chunk_bytes) const {
        return ByteSpan(payload).subspan(i * chunk_bytes, record.chunks[i].bytes);
    }
};

/// A unit whose bytes are elsewhere: a bit pass made them before.
struct RecordedUnit {
    std::uint64_t bytes = 0;
    std::uint64_t changed_words = 0;
    /// The part that this unit closes; its place in a log (`previous`) does not matter.
    std::optional<PartRecord> closes;
};

/// Collects units into parts. The whole state a restarted source needs is `resume_after`.
class PartBuilder {
public:
    PartBuilder(OpenRecord open, std::uint32_t chunks_per_part);

    /// Continues a log whose `parts` are already durable; the next unit is the one after them.
    PartBuilder(OpenRecord open, std::uint32_t chunks_per_part, std::vector<PartRecord> parts);

    const OpenRecord& open() const { return open_; }
    const std::vector<PartRecord>& parts() const { return parts_; }
    std::uint32_t next_unit() const { return next_unit_; }

    /// Adds the next unit; yields a part when it closes one.
    std::optional<Part> add(ByteSpan unit_bytes);
    /// Adds the next unit; the part it closes has no payload. Not to be mixed with the above.
    std::optional<Part> add(const RecordedUnit& unit);
    /// The last, short part, if units are left over.
    std::optional<Part> flush();

private:
    Part close();
    void append(PartRecord& record);

    OpenRecord open_;
    std::uint32_t chunks_per_part_;
    std::vector<PartRecord> parts_;
    std::uint32_t next_unit_ = 0;
    std::uint32_t units_pending_ = 0;
    ByteVector pending_;
};

/// Can no part of such a log pass kChunksPerPartMax chunks? For values that a user chose, before
/// anything is encoded; a PartBuilder takes it for granted. Errors: invalid_input.
Status check_part_size(std::uint64_t unit_words,
                       std::uint32_t chunk_bytes,
                       std::uint32_t chunks_per_part);

/// The seal for a finished log.
SealRecord make_seal(const OpenRecord& open,
                     const std::vector<PartRecord>& parts,
                     std::uint64_t changed_words,
                     const Hash256& next_version,
                     const Hash256& attachments = {});

}  // namespace refit
