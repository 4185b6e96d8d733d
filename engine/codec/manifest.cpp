#include "engine/codec/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace refit {

namespace {

// Four letters in front of every record, so that no record's bytes are another kind's.
constexpr std::string_view kOpenTag = "RFO1";
constexpr std::string_view kPartTag = "RFP1";
constexpr std::string_view kSealTag = "RFS1";
constexpr std::string_view kManifestTag = "RFM1";

constexpr std::uint64_t kChunkRefBytes = 36;
constexpr std::uint64_t kRecordBytesMax = 1024 + kChunkRefBytes * kChunksPerPartMax;

Error corrupt(std::string what) { return Error{ErrorCode::corrupt, std::move(what)}; }

void write_hash(ByteWriter& writer, const Hash256& hash) { writer.write(hash.bytes); }

Hash256 read_hash(ByteReader& reader) { return Hash256{reader.read<decltype(Hash256::bytes)>()}; }

Status check_tag(ByteReader& reader, std::string_view tag, std::string_view what) {
    if (as_text(reader.take(tag.size())) == tag) return Done{};
    if (reader.failed()) return Error{ErrorCode::truncated, std::string(what) + " is cut short"};
    return corrupt(std::string(what) + " does not start with " + std::string(tag));
}

bool is_codec_name(std::string_view name) {
    return !name.empty() && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    });
}

/// Where the next part has to start, and what it has to name.
struct LogEnd {
    Hash256 previous;
    std::uint64_t units = 0;
    std::uint64_t chunks = 0;
};

LogEnd end_of(const OpenRecord& open, const std::vector<PartRecord>& parts) {
    if (parts.empty()) return LogEnd{sha256(open.serialize())};
    const PartRecord& last = parts.back();
    return LogEnd{sha256(last.serialize()), std::uint64_t{last.first_unit} + last.unit_count,
                  last.first_chunk + last.chunks.size()};
}

Status check_open(const OpenRecord& open) {
    if (!is_codec_name(open.codec)) return corrupt("the open record names no codec");
    if (open.unit_words == 0 || open.unit_words > kUnitWordsMax)
        return corrupt(fmt::format("the open record asks for units of {} words", open.unit_words));
    if (open.chunk_bytes == 0 || open.chunk_bytes > kChunkBytesMax) {
        return corrupt(
            fmt::format("the open record asks for chunks of {} bytes", open.chunk_bytes));
    }
    if (open.base_version.is_zero() && !open.base_delta.is_zero())
        return corrupt("the open record names a base delta but no base version");
    return Done{};
}

Status check_chunks(const PartRecord& part, std::uint32_t chunk_bytes) {
    for (std::size_t i = 0; i < part.chunks.size(); ++i) {
        const std::uint32_t bytes = part.chunks[i].bytes;
        const bool last = i + 1 == part.chunks.size();
        if (bytes == 0 || bytes > chunk_bytes || (!last && bytes != chunk_bytes)) {
            return corrupt(fmt::format("chunk {} of part {} has {} bytes in slices of {}", i,
                                       part.index, bytes, chunk_bytes));
        }
    }
    return Done{};
}

}  // namespace

ByteVector OpenRecord::serialize() const {
    ByteWriter writer;
    writer.append(as_byte_span(kOpenTag));
    write_hash(writer, catalog);
    write_hash(writer, grid);
    writer.write_text(codec);
    writer.write(salt);
    writer.write(number);
    writer.write(attempt);
    write_hash(writer, base_version);
    write_hash(writer, base_delta);
    writer.write(unit_words);
    writer.write(chunk_bytes);
    return std::move(writer).take();
}

Result<OpenRecord> OpenRecord::parse(ByteSpan bytes) {
    ByteReader reader(bytes);
    REFIT_CHECK(check_tag(reader, kOpenTag, "the open record"));
    OpenRecord open;
    open.catalog = read_hash(reader);
    open.grid = read_hash(reader);
    open.codec = reader.take_text(kCodecNameMax);
    open.salt = reader.read<std::uint64_t>();
    open.number = reader.read<std::uint64_t>();
    open.attempt = reader.read<std::uint64_t>();
    open.base_version = read_hash(reader);
    open.base_delta = read_hash(reader);
    open.unit_words = reader.read<std::uint64_t>();
    open.chunk_bytes = reader.read<std::uint32_t>();
    REFIT_CHECK(reader.finish("the open record"));
    REFIT_CHECK(check_open(open));
    return open;
}

Bytes PartRecord::payload_bytes() const {
    std::uint64_t total = 0;
    for (const ChunkRef& chunk : chunks) total += chunk.bytes;
    return Bytes{total};
}

ByteVector PartRecord::serialize() const {
    REFIT_ASSERT(chunks.size() <= kChunksPerPartMax);
    ByteWriter writer;
    writer.append(as_byte_span(kPartTag));
    writer.write(index);
    write_hash(writer, previous);
    writer.write(first_unit);
    writer.write(unit_count);
    writer.write(first_chunk);
    write_hash(writer, payload);
    writer.write(static_cast<std::uint32_t>(chunks.size()));
    for (const ChunkRef& chunk : chunks) {
        writer.write(chunk.bytes);
        write_hash(writer, chunk.hash);
    }
    return std::move(writer).take();
}

Result<PartRecord> PartRecord::parse(ByteSpan bytes) {
    ByteReader reader(bytes);
    REFIT_CHECK(check_tag(reader, kPartTag, "a part record"));
    PartRecord part;
    part.index = reader.read<std::uint32_t>();
    part.previous = read_hash(reader);
    part.first_unit = reader.read<std::uint32_t>();
    part.unit_count = reader.read<std::uint32_t>();
    part.first_chunk = reader.read<std::uint32_t>();
    part.payload = read_hash(reader);
    const auto count = reader.read<std::uint32_t>();
    if (reader.failed()) return Error{ErrorCode::truncated, "a part record is cut short"};
    if (part.unit_count == 0 || count == 0)
        return corrupt(fmt::format("part {} is empty", part.index));
    if (count > kChunksPerPartMax)
        return corrupt(fmt::format("part {} claims {} chunks", part.index, count));
    if (count > reader.remaining() / kChunkRefBytes)
        return Error{ErrorCode::truncated, "a part record is cut short"};
    if (part.unit_count > ~part.first_unit || count > ~part.first_chunk)
        return corrupt(fmt::format("part {} numbers past 2^32", part.index));
    part.chunks.resize(count);
    for (ChunkRef& chunk : part.chunks) {
        chunk.bytes = reader.read<std::uint32_t>();
        chunk.hash = read_hash(reader);
    }
    REFIT_CHECK(reader.finish("a part record"));
    const std::uint32_t slice = part.chunks.front().bytes;
    if (slice > kChunkBytesMax)
        return corrupt(fmt::format("part {} has a chunk of {} bytes", part.index, slice));
    REFIT_CHECK(check_chunks(part, slice));
    return part;
}

ByteVector SealRecord::serialize() const {
    ByteWriter writer;
    writer.append(as_byte_span(kSealTag));
    write_hash(writer, previous);
    writer.write(parts);
    writer.write(chunks);
    writer.write(units);
    writer.write(changed_words);
    writer.write(payload_bytes);
    write_hash(writer, next_version);
    write_hash(writer, attachments);
    return std::move(writer).take();
}

Result<SealRecord> SealRecord::parse(ByteSpan bytes) {
    ByteReader reader(bytes);
    REFIT_CHECK(check_tag(reader, kSealTag, "the seal"));
    SealRecord seal;
    seal.previous = read_hash(reader);
    seal.parts = reader.read<std::uint32_t>();
    seal.chunks = reader.read<std::uint32_t>();
    seal.units = reader.read<std::uint64_t>();
    seal.changed_words = reader.read<std::uint64_t>();
    seal.payload_bytes = reader.read<std::uint64_t>();
    seal.next_version = read_hash(reader);
    seal.attachments = read_hash(reader);
    REFIT_CHECK(reader.finish("the seal"));
    return seal;
}

Status check_part(const OpenRecord& open,
                  const std::vector<PartRecord>& parts,
                  const PartRecord& part) {
    if (part.index != parts.size())
        return corrupt(
            fmt::format("part {} stands where part {} is due", part.index, parts.size()));
    if (part.index >= kPartsMax) return corrupt(fmt::format("part {} is too many", part.index));
    const LogEnd end = end_of(open, parts);
    if (part.previous != end.previous) {
        return corrupt(fmt::format("part {} follows record {}, not {}", part.index,
                                   short_hex(part.previous), short_hex(end.previous)));
    }
    if (part.first_unit != end.units) {
        return corrupt(fmt::format("part {} starts at unit {}, not {}", part.index, part.first_unit,
                                   end.units));
    }
    if (part.first_chunk != end.chunks) {
        return corrupt(fmt::format("part {} starts at chunk {}, not {}", part.index,
                                   part.first_chunk, end.chunks));
    }
    if (part.unit_count == 0 || part.chunks.empty())
        return corrupt(fmt::format("part {} is empty", part.index));
    return check_chunks(part, open.chunk_bytes);
}

Status check_seal(const OpenRecord& open,
                  const std::vector<PartRecord>& parts,
                  const SealRecord& seal) {
    const LogEnd end = end_of(open, parts);
    if (seal.previous != end.previous) {
        return corrupt(fmt::format("the seal follows record {}, not {}", short_hex(seal.previous),
                                   short_hex(end.previous)));
    }
    std::uint64_t bytes = 0;
    for (const PartRecord& part : parts) bytes += part.payload_bytes().count;
    const auto differs = [](std::string_view what, std::uint64_t said, std::uint64_t found) {
        return corrupt(fmt::format("the seal counts {} {}, the parts {}", said, what, found));
    };
    if (seal.parts != parts.size()) return differs("parts", seal.parts, parts.size());
    if (seal.units != end.units) return differs("units", seal.units, end.units);
    if (seal.chunks != end.chunks) return differs("chunks", seal.chunks, end.chunks);
    if (seal.payload_bytes != bytes) return differs("bytes", seal.payload_bytes, bytes);
    return Done{};
}

Hash256 Manifest::transfer_id() const { return sha256(open.serialize()); }

Hash256 Manifest::sealed_id() const { return sha256(seal.serialize()); }

ByteVector Manifest::serialize() const {
    ByteWriter writer;
    writer.append(as_byte_span(kManifestTag));
    writer.write_block(open.serialize());
    writer.write(static_cast<std::uint32_t>(parts.size()));
    for (const PartRecord& part : parts) writer.write_block(part.serialize());
    writer.write_block(seal.serialize());
    return std::move(writer).take();
}

Result<Manifest> Manifest::parse(ByteSpan bytes) {
    const auto cut_short = [] { return Error{ErrorCode::truncated, "the manifest is cut short"}; };
    ByteReader reader(bytes);
    REFIT_CHECK(check_tag(reader, kManifestTag, "the manifest"));
    const ByteSpan open_bytes = reader.take_block(kRecordBytesMax);
    if (reader.failed()) return cut_short();
    REFIT_TRY(open, OpenRecord::parse(open_bytes));
    Manifest manifest{open, {}, {}};
    const auto count = reader.read<std::uint32_t>();
    if (count > kPartsMax) return corrupt(fmt::format("the manifest claims {} parts", count));
    for (std::uint32_t i = 0; i < count; ++i) {
        const ByteSpan part_bytes = reader.take_block(kRecordBytesMax);
        if (reader.failed()) return cut_short();
        REFIT_TRY(part, PartRecord::parse(part_bytes));
        REFIT_CHECK(check_part(manifest.open, manifest.parts, part));
        manifest.parts.push_back(std::move(part));
    }
    const ByteSpan seal_bytes = reader.take_block(kRecordBytesMax);
    REFIT_CHECK(reader.finish("the manifest"));
    REFIT_TRY(seal, SealRecord::parse(seal_bytes));
    REFIT_CHECK(check_seal(manifest.open, manifest.parts, seal));
    manifest.seal = seal;
    return manifest;
}

Hash256 version_id(const Hash256& catalog,
                   std::uint64_t salt,
                   std::span<const std::uint64_t> tile_digests) {
    Sha256 hasher;
    hasher.update(std::as_bytes(std::span(catalog.bytes)));
    hasher.update(std::as_bytes(std::span(&salt, 1)));
    hasher.update(std::as_bytes(tile_digests));
    return hasher.finish();
}

}  // namespace refit
