#include "engine/emulate/pass_journal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "engine/codec/record_file.hpp"

namespace refit {

namespace {

constexpr std::string_view kMagic = "REFITBPJ";
constexpr std::uint8_t kHashType = 0;  // no type of an .rfd record
constexpr std::uint64_t kRecordMax = std::uint64_t{1} << 30;

ByteSpan bytes_of(const Hash256& hash) { return std::as_bytes(std::span(hash.bytes)); }

ByteVector serialize(const PassPart& part) {
    ByteWriter writer;
    writer.write_block(part.record.serialize());
    writer.write(static_cast<std::uint32_t>(part.units.size()));
    for (const PassUnit& unit : part.units) {
        writer.write(unit.bytes);
        writer.write(unit.changed_words);
        writer.write(unit.staged_bytes);
    }
    writer.write(static_cast<std::uint32_t>(part.next_digests.size()));
    for (const std::uint64_t digest : part.next_digests) writer.write(digest);
    writer.write(part.totals.words.count);
    writer.write(part.totals.words_checked.count);
    writer.write(part.totals.mismatches);
    writer.write(part.totals.resident_failures);
    writer.write(static_cast<std::uint32_t>(part.totals.replica_missing.size()));
    for (const Words words : part.totals.replica_missing) writer.write(words.count);
    writer.write_text(part.totals.first_failure);
    return std::move(writer).take();
}

Result<PassPart> parse(ByteSpan bytes) {
    ByteReader reader(bytes);
    PassPart part;
    REFIT_TRY(record, PartRecord::parse(reader.take_block(kRecordMax)));
    part.record = std::move(record);
    // A length that the bytes cannot hold ends the loop with the reader failed.
    const auto units = reader.read<std::uint32_t>();
    for (std::uint32_t u = 0; u < units && !reader.failed(); ++u) {
        PassUnit& unit = part.units.emplace_back();
        unit.bytes = reader.read<std::uint64_t>();
        unit.changed_words = reader.read<std::uint64_t>();
        unit.staged_bytes = reader.read<std::uint64_t>();
    }
    const auto digests = reader.read<std::uint32_t>();
    for (std::uint32_t t = 0; t < digests && !reader.failed(); ++t)
        part.next_digests.push_back(reader.read<std::uint64_t>());
    part.totals.words = Words{reader.read<std::uint64_t>()};
    part.totals.words_checked = Words{reader.read<std::uint64_t>()};
    part.totals.mismatches = reader.read<std::uint64_t>();
    part.totals.resident_failures = reader.read<std::uint64_t>();
    const auto layouts = reader.read<std::uint32_t>();
    for (std::uint32_t i = 0; i < layouts && !reader.failed(); ++i)
        part.totals.replica_missing.emplace_back(reader.read<std::uint64_t>());
    part.totals.first_failure = reader.take_text(kRecordMax);
    REFIT_CHECK(reader.finish("a part of a pass"));
    if (part.units.size() != part.record.unit_count)
        return Error{ErrorCode::corrupt, "a part of a pass has other units than its record"};
    return part;
}

/// The record at `at`, if it is whole; moves behind it.
std::optional<ByteVector> read_record(const File& file, std::uint64_t& at) {
    const std::uint64_t end = file.bytes();
    std::uint32_t length = 0;
    std::uint64_t hash = 0;
    if (end - at < sizeof(length) + sizeof(hash)) return std::nullopt;
    file.read_at(at, std::as_writable_bytes(std::span(&length, 1)));
    if (length > kRecordMax || end - at - sizeof(length) - sizeof(hash) < length)
        return std::nullopt;
    ByteVector bytes(length);
    file.read_at(at + sizeof(length), bytes);
    file.read_at(at + sizeof(length) + length, std::as_writable_bytes(std::span(&hash, 1)));
    if (hash != record_hash(kHashType, bytes)) return std::nullopt;
    at += sizeof(length) + length + sizeof(hash);
    return bytes;
}

std::uint64_t write_record(File& file, std::uint64_t at, ByteSpan bytes) {
    ByteWriter writer;
    writer.write_block(bytes);
    writer.write(record_hash(kHashType, bytes));
    file.write_at(at, writer.bytes());
    file.sync();
    return at + writer.bytes().size();
}

}  // namespace

Result<PassJournal> PassJournal::open(const std::filesystem::path& path, const Hash256& identity) {
    File file(path, O_RDWR | O_CREAT);
    if (file.bytes() == 0) {
        file.write_at(0, as_byte_span(kMagic));
        const std::uint64_t end = write_record(file, kMagic.size(), bytes_of(identity));
        return PassJournal(std::move(file), {}, end);
    }
    std::uint64_t at = kMagic.size();
    ByteVector magic(std::min<std::uint64_t>(kMagic.size(), file.bytes()));
    file.read_at(0, magic);
    if (as_text(magic) != kMagic)
        return Error{ErrorCode::invalid_input, "is no journal of a bit pass", path.string()};
    const auto first = read_record(file, at);
    if (!first || !std::ranges::equal(*first, bytes_of(identity))) {
        return Error{ErrorCode::invalid_input,
                     "was left by a run of another model, profile, rate, codec, seed or layout",
                     path.string()};
    }
    std::vector<PassPart> parts;
    std::uint64_t end = at;
    while (const auto bytes = read_record(file, at)) {
        auto part = parse(*bytes);
        if (!part.has_value()) break;
        parts.push_back(std::move(part).value());
        end = at;
    }
    return PassJournal(std::move(file), std::move(parts), end);
}

void PassJournal::append(const PassPart& part) {
    end_ = write_record(file_, end_, serialize(part));
}

}  // namespace refit
