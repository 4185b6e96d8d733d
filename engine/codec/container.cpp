#include "engine/codec/container.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/codec/attachments.hpp"
#include "engine/codec/packed.hpp"
#include "engine/codec/record_file.hpp"

namespace refit {

namespace {

Error corrupt(std::string what) { return Error{ErrorCode::corrupt, std::move(what)}; }

/// The next record, which must be of this type.
Result<ByteVector> read_record(RecordFile& file, RecordType type, std::string_view what) {
    REFIT_TRY(head, file.read_head());
    if (head.type != type) return corrupt(fmt::format("has no {} where one is due", what));
    return file.read_body(head);
}

/// Does the log cover the catalog's grid? Asked before the grid is built: a unit's header takes
/// bytes for every tile, so a payload bounds how many tiles an honest catalog can have.
Status check_coverage(const Catalog& catalog,
                      const Manifest& manifest,
                      const std::vector<OpaqueItem>& opaque) {
    const std::uint64_t tiles_min = catalog.words().count / kTileWordsMax;
    if (tiles_min > manifest.seal.payload_bytes / kTileHeadBytes) {
        return corrupt(fmt::format("has {} payload bytes for {} words", manifest.seal.payload_bytes,
                                   catalog.words().count));
    }
    if (manifest.open.catalog != catalog.id()) return corrupt("holds another delta's catalog");
    const Grid grid(catalog);
    if (manifest.open.grid != grid.id())
        return corrupt("was made with a grid this program does not compute");
    const std::uint64_t units =
        make_units(grid, manifest.open.unit_words).size() + opaque_tiles(opaque);
    if (manifest.seal.units != units)
        return corrupt(fmt::format("holds {} units of {}", manifest.seal.units, units));
    if (manifest.seal.changed_words > catalog.words().count) {
        return corrupt(fmt::format("counts {} changes in {} words", manifest.seal.changed_words,
                                   catalog.words().count));
    }
    return Done{};
}

/// A whole record: type, length, bytes, hash.
ByteVector framed(std::uint8_t type, ByteSpan bytes) {
    ByteWriter writer;
    writer.write(type);
    writer.write(std::uint64_t{bytes.size()});
    writer.append(bytes);
    writer.write(record_hash(type, bytes));
    return std::move(writer).take();
}

}  // namespace

RfdWriter::RfdWriter(ByteSink sink, const Catalog& catalog, const OpenRecord& open)
    : sink_(std::move(sink)), open_(open) {
    REFIT_ASSERT(open.catalog == catalog.id());
    ByteWriter preamble;
    preamble.append(as_byte_span(kRfdMagic));
    preamble.write(kRfdVersion);
    put(preamble.bytes());
    ByteWriter packed;
    write_packed(catalog.serialize(), packed);
    record(static_cast<std::uint8_t>(RecordType::catalog), packed.bytes());
    open_at_ = record(static_cast<std::uint8_t>(RecordType::open), open.serialize());
}

void RfdWriter::put(ByteSpan bytes) {
    sink_(bytes);
    written_ += bytes.size();
}

std::uint64_t RfdWriter::record(std::uint8_t type, ByteSpan bytes) {
    const std::uint64_t at = written_;
    ByteWriter head;
    head.write(type);
    head.write(std::uint64_t{bytes.size()});
    put(head.bytes());
    put(bytes);
    const std::uint64_t hash = record_hash(type, bytes);
    put(std::as_bytes(std::span(&hash, 1)));
    return at;
}

void RfdWriter::write(const Part& part) {
    parts_at_.push_back(
        record(static_cast<std::uint8_t>(RecordType::part), part.record.serialize()));
    record(static_cast<std::uint8_t>(RecordType::payload), part.payload);
}

void RfdWriter::set_base(const OpenRecord& open,
                         std::vector<PartRecord>& parts,
                         const BytePatch& patch) {
    REFIT_ASSERT(parts.size() == parts_at_.size());
    open_ = open;
    ByteVector record = open.serialize();
    patch(open_at_, framed(static_cast<std::uint8_t>(RecordType::open), record));
    for (std::size_t i = 0; i < parts.size(); ++i) {
        parts[i].previous = sha256(record);
        record = parts[i].serialize();
        patch(parts_at_[i], framed(static_cast<std::uint8_t>(RecordType::part), record));
    }
}

SealRecord RfdWriter::finish(const std::vector<Attachment>& attachments,
                             const std::vector<PartRecord>& parts,
                             std::uint64_t changed_words,
                             const Hash256& next_version) {
    Hash256 attached;
    if (!attachments.empty()) {
        const ByteVector block = serialize_attachments(attachments);
        attached = sha256(block);
        record(static_cast<std::uint8_t>(RecordType::attachments), block);
    }
    const SealRecord seal = make_seal(open_, parts, changed_words, next_version, attached);
    record(static_cast<std::uint8_t>(RecordType::seal), seal.serialize());
    return seal;
}

Result<RfdReader> RfdReader::open(const std::filesystem::path& path) {
    REFIT_TRY(source, open_record_source(path));
    RfdReader reader;
    reader.name_ = path.string();
    reader.source_ = std::move(source);
    Status status = reader.read_all();
    if (!status.has_value()) return in_file(std::move(status).error(), reader.name_);
    return reader;
}

Result<RfdReader> RfdReader::parse(ByteVector bytes) {
    RfdReader reader;
    reader.source_ = std::make_shared<MemorySource>(std::move(bytes));
    REFIT_CHECK(reader.read_all());
    return reader;
}

Status RfdReader::read_all() {
    RecordFile file(*source_);
    REFIT_CHECK(file.read_preamble());
    REFIT_TRY(packed, read_record(file, RecordType::catalog, "catalog"));
    ByteReader reader(packed);
    REFIT_TRY(catalog_bytes, read_packed(reader, "the catalog"));
    REFIT_CHECK(reader.finish("the catalog"));
    REFIT_TRY(catalog, Catalog::parse(catalog_bytes));
    catalog_ = std::move(catalog);
    REFIT_TRY(open_bytes, read_record(file, RecordType::open, "open record"));
    REFIT_TRY(open, OpenRecord::parse(open_bytes));
    manifest_.open = std::move(open);

    REFIT_TRY(head, file.read_head());
    while (head.type == RecordType::part) {
        REFIT_CHECK(read_part(file, head));
        REFIT_TRY(next, file.read_head());
        head = next;
    }
    Hash256 attached;
    REFIT_TRY(last, read_attachments(file, head, attached));
    if (last.type != RecordType::seal) return corrupt("has no seal where one is due");
    REFIT_TRY(seal_bytes, file.read_body(last));
    REFIT_TRY(seal, SealRecord::parse(seal_bytes));
    REFIT_CHECK(check_seal(manifest_.open, manifest_.parts, seal));
    if (seal.attachments != attached) return corrupt("holds other attachments than its seal says");
    if (!file.at_end()) {
        return corrupt(
            fmt::format("has {} bytes after its seal", file.file_bytes() - file.offset()));
    }
    manifest_.seal = seal;
    return check_coverage(catalog_, manifest_, opaque_);
}

/// Yields the head of the record behind the attachments, or `head` where there are none.
Result<RecordHead> RfdReader::read_attachments(RecordFile& file, RecordHead head, Hash256& hash) {
    if (head.type != RecordType::attachments) return head;
    REFIT_TRY(block, file.read_body(head));
    hash = sha256(block);
    REFIT_TRY(attachments, parse_attachments(block));
    attachments_ = std::move(attachments);
    const auto table = std::ranges::find(attachments_, kOpaqueTableName, &Attachment::name);
    if (table != attachments_.end()) {
        REFIT_TRY(opaque, parse_opaque(table->bytes));
        opaque_ = std::move(opaque);
    }
    return file.read_head();
}

Status RfdReader::read_part(RecordFile& file, RecordHead part_head) {
    REFIT_TRY(part_bytes, file.read_body(part_head));
    REFIT_TRY(part, PartRecord::parse(part_bytes));
    REFIT_CHECK(check_part(manifest_.open, manifest_.parts, part));
    REFIT_TRY(head, file.read_head());
    if (head.type != RecordType::payload || head.bytes != part.payload_bytes().count) {
        return corrupt(fmt::format("does not hold the {} payload bytes of part {}",
                                   part.payload_bytes().count, part.index));
    }
    payload_offsets_.push_back(file.offset());
    file.skip_body(head);
    manifest_.parts.push_back(std::move(part));
    return Done{};
}

Result<ByteVector> RfdReader::read_payload(std::size_t part) const {
    REFIT_ASSERT(part < manifest_.parts.size());
    const PartRecord& record = manifest_.parts[part];
    RecordFile file(*source_);
    file.seek(payload_offsets_[part]);
    auto bytes = file.read_body(RecordHead{RecordType::payload, record.payload_bytes().count});
    if (!bytes.has_value()) return in_file(std::move(bytes).error(), name_);
    if (sha256(bytes.value()) != record.payload) {
        return Error{ErrorCode::corrupt,
                     fmt::format("the payload of part {} does not match its SHA-256", part), name_};
    }
    return bytes;
}

}  // namespace refit
