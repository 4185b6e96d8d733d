#include <algorithm>
#include <cstring>

#include "engine/codec/attachments.hpp"
#include "engine/codec/container.hpp"
#include "engine/codec/opaque.hpp"
#include "engine/codec/record_file.hpp"
#include "engine/observe/cast.hpp"
#include "engine/observe/event_columns.hpp"
#include "engine/store/in_place_journal.hpp"
#include "tests/fuzz/targets.hpp"

namespace refit::fuzz {

namespace {

/// Random bytes never carry a right hash: every record that is there whole gets its own.
ByteVector with_right_hashes(ByteSpan bytes) {
    ByteVector file(bytes.begin(), bytes.end());
    ByteReader reader(bytes);
    reader.take(kRfdMagic.size() + sizeof(kRfdVersion));
    while (!reader.failed() && reader.remaining() > 0) {
        const auto type = reader.read<std::uint8_t>();
        const auto length = reader.read<std::uint64_t>();
        const ByteSpan body = reader.take(length);
        const std::size_t at = bytes.size() - reader.remaining();
        reader.read<std::uint64_t>();
        if (reader.failed()) break;
        const std::uint64_t hash = record_hash(type, body);
        std::memcpy(file.data() + at, &hash, sizeof(hash));
    }
    return file;
}

/// What parses is what was written: the same bytes come out again.
template <class Record>
void check_record(ByteSpan bytes) {
    const auto record = Record::parse(bytes);
    if (record.has_value()) {
        REFIT_ASSERT(std::ranges::equal(record.value().serialize(), bytes));
    } else {
        REFIT_ASSERT(!record.error().what.empty());
    }
}

class MemoryJournal final : public DiskFile {
public:
    explicit MemoryJournal(ByteVector bytes) : bytes_(std::move(bytes)) {}
    std::uint64_t bytes() const override { return bytes_.size(); }
    void read_at(std::uint64_t offset, std::span<std::byte> out) const override {
        REFIT_ASSERT(offset <= bytes_.size() && out.size() <= bytes_.size() - offset);
        if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
    }
    void write_at(std::uint64_t, ByteSpan) override { REFIT_ASSERT(false); }
    void reserve(std::uint64_t) override { REFIT_ASSERT(false); }
    void sync() override { REFIT_ASSERT(false); }

private:
    ByteVector bytes_;
};

/// Holds the reader to what it promises a sink.
class CheckingSink final : public PatchSink {
public:
    void words(const NamedFile& file,
               std::uint64_t offset,
               std::span<const std::uint16_t> positions,
               std::span<const std::uint16_t> words) override {
        REFIT_ASSERT(!positions.empty() && positions.size() == words.size());
        const bool ascend =
            std::ranges::adjacent_find(positions, std::greater_equal{}) == positions.end();
        REFIT_ASSERT(ascend && offset <= file.bytes);
        REFIT_ASSERT(2 * (std::uint64_t{positions.back()} + 1) <= file.bytes - offset);
    }
    void bytes(const NamedFile& file, std::uint64_t offset, ByteSpan bytes) override {
        REFIT_ASSERT(offset <= file.bytes && bytes.size() <= file.bytes - offset);
    }
};

}  // namespace

int fuzz_container(ByteSpan bytes) {
    const auto reader = RfdReader::parse(with_right_hashes(bytes));
    if (!reader.has_value()) {
        REFIT_ASSERT(!reader.error().what.empty());
        return 0;
    }
    const auto& parts = reader.value().manifest().parts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto payload = reader.value().read_payload(i);
        if (payload.has_value())
            REFIT_ASSERT(payload.value().size() == parts[i].payload_bytes().count);
    }
    return 0;
}

int fuzz_manifest(ByteSpan bytes) {
    if (bytes.empty()) return 0;
    const ByteSpan record = bytes.subspan(1);
    switch (std::to_integer<unsigned>(bytes[0]) % 4) {
        case 0:
            check_record<OpenRecord>(record);
            break;
        case 1:
            check_record<PartRecord>(record);
            break;
        case 2:
            check_record<SealRecord>(record);
            break;
        default:
            check_record<Manifest>(record);
            break;
    }
    return 0;
}

int fuzz_catalog(ByteSpan bytes) {
    check_record<Catalog>(bytes);
    return 0;
}

/// Frames may be packed in many ways: what was read is written and read again.
int fuzz_cast(ByteSpan bytes) {
    const auto cast = parse_cast(bytes);
    if (!cast.has_value()) return 0;
    const ByteVector written = serialize(cast.value());
    const auto again = parse_cast(written);
    REFIT_ASSERT(again.has_value());
    REFIT_ASSERT(std::ranges::equal(serialize(again.value()), written));
    REFIT_ASSERT(cast.value().units.size() == cast.value().catalog.tensors().size());
    return 0;
}

int fuzz_events(ByteSpan bytes) {
    constexpr std::size_t kNodes = 5;
    const auto events = unpack_events(bytes, 4096, kNodes, Nanoseconds{0});
    if (!events.has_value()) return 0;
    Timeline timeline;
    for (const Event& event : events.value()) timeline.append(event);  // in order of time
    const auto again = unpack_events(pack_events(events.value()), 4096, kNodes, Nanoseconds{0});
    REFIT_ASSERT(again.has_value() && again.value() == events.value());
    return 0;
}

int fuzz_attachments(ByteSpan bytes) {
    const auto attachments = parse_attachments(bytes);
    if (!attachments.has_value()) {
        REFIT_ASSERT(!attachments.error().what.empty());
        return 0;
    }
    std::uint64_t total = 0;
    for (const Attachment& attachment : attachments.value()) {
        const bool leaves = ("/" + attachment.name + "/").find("/../") != std::string::npos;
        REFIT_ASSERT(!leaves && !attachment.name.starts_with("/") && !attachment.name.empty());
        total += attachment.bytes.size();
    }
    REFIT_ASSERT(total <= 64 * bytes.size());
    return 0;
}

int fuzz_opaque(ByteSpan bytes) {
    if (bytes.empty()) return 0;
    const ByteSpan rest = bytes.subspan(1);
    const auto choice = std::to_integer<unsigned>(bytes[0]);
    if (choice % 2 == 0) {
        const auto items = parse_opaque(rest);
        if (items.has_value())
            REFIT_ASSERT(std::ranges::equal(serialize_opaque(items.value()), rest));
        return 0;
    }
    OpaqueItem about;
    about.name = "t";
    about.bytes = choice;
    about.has_base = choice % 4 == 1;
    const auto unit = read_opaque_unit(rest, 0, 0, about);
    if (!unit.has_value()) return 0;
    REFIT_ASSERT(unit.value().bytes <= rest.size());
    ByteVector out(about.bytes);
    const Status status = expand_opaque(unit.value(), out);
    REFIT_ASSERT(status.has_value() || !status.error().what.empty());
    return 0;
}

int fuzz_journal(ByteSpan bytes) {
    ByteVector file(bytes.begin(), bytes.end());
    if (file.size() > sizeof(std::uint64_t)) {
        // It covers all bytes before itself; the hash of a record is over a type and its bytes.
        const std::size_t covered = file.size() - sizeof(std::uint64_t);
        const std::uint64_t hash = record_hash(std::to_integer<std::uint8_t>(file[0]),
                                               ByteSpan(file).subspan(1, covered - 1));
        std::memcpy(file.data() + covered, &hash, sizeof(hash));
    }
    const MemoryJournal journal(std::move(file));
    CheckingSink sink;
    const auto plan = read_journal(journal, &sink);
    if (!plan.has_value()) {
        REFIT_ASSERT(!plan.error().what.empty());
        return 0;
    }
    REFIT_ASSERT(!plan.value().heads.empty());
    for (const std::string& head : plan.value().heads) REFIT_ASSERT(is_update_name(head));
    for (const NamedFile& named : plan.value().patched) REFIT_ASSERT(is_update_name(named.name));
    return 0;
}

std::vector<Target> engine_targets() {
    std::vector<Target> list{
        {"container", 1024, fuzz_container},
        {"manifest", 768, fuzz_manifest},
        {"catalog", 256, fuzz_catalog},
        {"attachments", 256, fuzz_attachments},
        {"cast", 512, fuzz_cast},
        {"events", 256, fuzz_events},
        {"opaque", 256, fuzz_opaque},
        {"journal", 160, fuzz_journal},
    };
    const std::shared_ptr<Device> device = make_cpu_device(1);
    for (const auto& codec : builtin_codecs()) {
        const std::string name(codec->name());
        // Where a tile alone has 96 bytes of states, room for three of them.
        const std::size_t max_bytes = name == "xc" || name == "cf" ? 768 : 256;
        list.push_back({"codec-" + name, max_bytes, [&codec, device](ByteSpan bytes) {
                            return fuzz_codec(*codec, *device, bytes);
                        }});
    }
    return list;
}

}  // namespace refit::fuzz
