// The manifest log of one delta: open, parts, seal. Each record names the hash of the one before.
//
// Model      open says what the delta is made from and how. A part lists the chunks of one run of
//            whole units; parts and their payload are durable in the store before they are
//            offered. seal closes the log: totals and the version that results.
// Identity   transfer id = SHA-256(open record): names an attempt from its first byte.
//            sealed id = SHA-256(seal record): names the delta for good; through the chain of
//            hashes it covers base, grid, codec and every chunk. Never a number.
// Anchor     a delta whose base is nothing: base_version zero, base words all zero.
// Bytes      FORMAT.md, normative. parse() trusts nothing.
// Limits     below; a record over one of them is corrupt.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/hash.hpp"
#include "engine/base/units.hpp"

namespace refit {

inline constexpr std::uint64_t kCodecNameMax = 64;
inline constexpr std::uint64_t kUnitWordsMax = std::uint64_t{1} << 30;
inline constexpr std::uint32_t kChunkBytesMax = std::uint32_t{1} << 30;
inline constexpr std::uint32_t kChunksPerPartMax = std::uint32_t{1} << 20;
inline constexpr std::uint32_t kPartsMax = std::uint32_t{1} << 20;

struct OpenRecord {
    Hash256 catalog;
    Hash256 grid;
    std::string codec;
    std::uint64_t salt = 0;        // of the digests
    std::uint64_t number = 0;      // version number the delta leads to; for people and ordering
    std::uint64_t attempt = 0;     // tells a second try at the same number apart
    Hash256 base_version;          // version id of the base; zero for an anchor
    Hash256 base_delta;            // sealed id of the delta that made the base; zero for an anchor
    std::uint64_t unit_words = 0;  // units are runs of whole tiles of at most this many words
    std::uint32_t chunk_bytes = 0;

    ByteVector serialize() const;
    static Result<OpenRecord> parse(ByteSpan bytes);
    friend bool operator==(const OpenRecord&, const OpenRecord&) = default;
};

struct ChunkRef {
    std::uint32_t bytes = 0;
    Hash256 hash;
    friend bool operator==(const ChunkRef&, const ChunkRef&) = default;
};

struct PartRecord {
    std::uint32_t index = 0;  // 0, 1, 2, ...
    Hash256 previous;         // hash of part index - 1, or of open
    std::uint32_t first_unit = 0;
    std::uint32_t unit_count = 0;
    std::uint32_t first_chunk = 0;  // chunks are numbered through the delta
    Hash256 payload;                // SHA-256 of the part's bytes: its key in the store
    std::vector<ChunkRef> chunks;   // slices of chunk_bytes, the last one shorter

    Bytes payload_bytes() const;
    ByteVector serialize() const;
    static Result<PartRecord> parse(ByteSpan bytes);
    friend bool operator==(const PartRecord&, const PartRecord&) = default;
};

struct SealRecord {
    Hash256 previous;  // hash of the last part, or of open when nothing changed
    std::uint32_t parts = 0;
    std::uint32_t chunks = 0;
    std::uint64_t units = 0;
    std::uint64_t changed_words = 0;
    std::uint64_t payload_bytes = 0;
    Hash256 next_version;
    Hash256 attachments;  // SHA-256 of the attachment block of an .rfd file; zero without one

    ByteVector serialize() const;
    static Result<SealRecord> parse(ByteSpan bytes);
    friend bool operator==(const SealRecord&, const SealRecord&) = default;
};

/// A whole log, checked as one: hashes chain, units and chunks number through, totals add up.
struct Manifest {
    OpenRecord open;
    std::vector<PartRecord> parts;
    SealRecord seal;

    Hash256 transfer_id() const;
    Hash256 sealed_id() const;
    ByteVector serialize() const;
    static Result<Manifest> parse(ByteSpan bytes);
};

/// Does `part` follow the log so far? The error says what disagrees.
Status check_part(const OpenRecord& open,
                  const std::vector<PartRecord>& parts,
                  const PartRecord& part);
Status check_seal(const OpenRecord& open,
                  const std::vector<PartRecord>& parts,
                  const SealRecord& seal);

/// Identity of a version: SHA-256 over catalog id, salt and the digest of every tile in order.
Hash256 version_id(const Hash256& catalog,
                   std::uint64_t salt,
                   std::span<const std::uint64_t> tile_digests);

}  // namespace refit
