#include "engine/observe/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/codec/record_file.hpp"
#include "engine/codec/zstd_frame.hpp"
#include "engine/observe/event_columns.hpp"

namespace refit {

namespace {

constexpr std::string_view kMagic = "REFITRUN";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kFirstBlockEvents = 256;
constexpr std::size_t kBlockEvents = 4096;
constexpr std::uint32_t kBlockBytesMax = 64u << 20;
constexpr std::uint32_t kPlainBytesMax = 9 + kBlockEvents * 7 * 9;  // seven columns, LEB128
constexpr int kEventsLevel = 1;  // 6 saves 5 % of a 1T run and costs it twice the time

enum BlockType : std::uint8_t { kCast = 1, kEvents = 2, kEnd = 3 };

struct Block {
    std::uint8_t type = 0;
    ByteVector bytes;
};

class BlockReader {
public:
    explicit BlockReader(std::istream& file) : file_(file) {}

    /// Nothing left to read, not even the beginning of a block.
    bool at_end() { return file_.peek() == std::istream::traits_type::eof(); }

    /// truncated, corrupt.
    Result<Block> read() {
        std::array<std::byte, 5> head{};
        if (!read_exactly(head)) return Error{ErrorCode::truncated, "is cut inside a block"};
        ByteReader reader(head);
        Block block;
        block.type = reader.read<std::uint8_t>();
        const auto size = reader.read<std::uint32_t>();
        if (size > kBlockBytesMax) return Error{ErrorCode::corrupt, "has a damaged block"};
        // A length is not believed before its bytes are there.
        while (block.bytes.size() < size) {
            const std::size_t have = block.bytes.size();
            block.bytes.resize(std::min<std::size_t>(size, have + (1u << 20)));
            if (!read_exactly(std::span(block.bytes).subspan(have)))
                return Error{ErrorCode::truncated, "is cut inside a block"};
        }
        std::array<std::byte, 8> hash{};
        if (!read_exactly(hash)) return Error{ErrorCode::truncated, "is cut inside a block"};
        if (ByteReader(hash).read<std::uint64_t>() != record_hash(block.type, block.bytes))
            return Error{ErrorCode::corrupt, "has a damaged block"};
        return block;
    }

    bool read_exactly(std::span<std::byte> out) {
        file_.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
        return static_cast<std::size_t>(file_.gcount()) == out.size();
    }

private:
    std::istream& file_;
};

std::uint32_t count_units(const Cast& cast) {
    std::uint32_t units = 0;
    for (const TensorUnits& of : cast.units)
        if (of.first <= of.last) units = std::max(units, of.last + 1);
    return units;
}

/// Whether an event names only what the cast has: views index by it.
class EventCheck {
public:
    explicit EventCheck(const Recording& recording)
        : nodes_(recording.timeline.node_names().size()),
          links_(recording.cast.links.size()),
          units_(count_units(recording.cast)) {}

    bool holds(const Event& event) const {
        switch (event.kind) {
            case EventKind::link_down:
            case EventKind::link_up:
                return event.index < links_;
            case EventKind::unit_encoded:
            case EventKind::part_durable:
            case EventKind::stage_begin:
            case EventKind::part_staged:  // a part has a unit at least
                return event.node < nodes_ && event.index < units_;
            case EventKind::chunk_sent:
            case EventKind::chunk_received:
            case EventKind::chunk_repeated:
            case EventKind::chunk_refused:
            case EventKind::joined:
            case EventKind::connected:
            case EventKind::disconnected:
                return event.node < nodes_ && event.peer < nodes_;
            default:
                return event.node < nodes_;
        }
    }

private:
    std::size_t nodes_;
    std::size_t links_;
    std::uint32_t units_;
};

Status append_block(const Block& block, const EventCheck& check, Recording& to) {
    ByteReader in(block.bytes);
    const auto size = in.read<std::uint32_t>();
    if (in.failed() || size > kPlainBytesMax)
        return Error{ErrorCode::corrupt, "has a damaged block"};
    ByteVector plain(size);
    REFIT_CHECK(read_zstd_frame(in.take(in.remaining()), plain, "a block of events"));
    const auto& had = to.timeline.events();
    REFIT_TRY(events, unpack_events(plain, kBlockEvents, to.timeline.node_names().size(),
                                    had.empty() ? Nanoseconds{0} : had.back().at));
    if (!std::ranges::all_of(events, [&](const Event& event) { return check.holds(event); }))
        return Error{ErrorCode::corrupt, "has an event of what is not there"};
    for (const Event& event : events) to.timeline.append(event);
    return Done{};
}

/// All blocks of events; an error says why there are no more before the end.
Status read_events(BlockReader& blocks, Recording& to) {
    const EventCheck check(to);
    while (!blocks.at_end()) {
        REFIT_TRY(block, blocks.read());
        if (block.type == kEvents) {
            REFIT_CHECK(append_block(block, check, to));
            continue;
        }
        ByteReader in(block.bytes);
        const auto count = in.read<std::uint64_t>();
        if (block.type != kEnd || in.failed() || count != to.timeline.events().size())
            return Error{ErrorCode::corrupt, "has a damaged block"};
        return Done{};
    }
    return Error{ErrorCode::truncated, "has no end: the run was not over, or the file is cut"};
}

}  // namespace

RecordingWriter::RecordingWriter(const std::filesystem::path& file, const Cast& cast)
    : path_(file),
      file_(file, std::ios::binary | std::ios::trunc),
      block_events_(kFirstBlockEvents) {
    ByteWriter preamble;
    preamble.append(as_byte_span(kMagic));
    preamble.write(kVersion);
    file_ << as_text(preamble.bytes());
    write_block(kCast, serialize(cast));
}

RecordingWriter::~RecordingWriter() {
    try {
        flush();
    } catch (const MachineError&) {  // the run already failed for a reason of its own
    }
}

void RecordingWriter::append(std::span<const Event> events) {
    while (!events.empty()) {
        const std::size_t taken = std::min(events.size(), block_events_ - pending_.size());
        pending_.insert(pending_.end(), events.begin(),
                        events.begin() + static_cast<std::ptrdiff_t>(taken));
        events = events.subspan(taken);
        if (pending_.size() < block_events_) continue;
        flush();
        block_events_ = std::min(2 * block_events_, kBlockEvents);
    }
}

void RecordingWriter::flush() {
    if (pending_.empty()) return;
    const ByteVector plain = pack_events(pending_);
    ByteWriter block;
    block.write(static_cast<std::uint32_t>(plain.size()));
    ByteVector frame;
    append_zstd_frame(plain, kEventsLevel, frame);
    block.append(frame);
    write_block(kEvents, block.bytes());
    written_ += pending_.size();
    pending_.clear();
}

void RecordingWriter::finish() {
    flush();
    ByteWriter count;
    count.write(written_);
    write_block(kEnd, count.bytes());
    file_.close();
    if (!file_) throw MachineError(path_.string() + ": cannot be written");
}

void RecordingWriter::write_block(std::uint8_t type, ByteSpan bytes) {
    REFIT_ASSERT(bytes.size() <= kBlockBytesMax);
    ByteWriter block;
    block.write(type);
    block.write_block(bytes);
    block.write(record_hash(type, bytes));
    file_ << as_text(block.bytes());
    file_.flush();
    if (!file_) throw MachineError(path_.string() + ": cannot be written");
}

Result<Recording> read_recording(std::istream& in) {
    BlockReader blocks(in);
    std::array<std::byte, kMagic.size() + sizeof(kVersion)> preamble{};
    if (!blocks.read_exactly(preamble) ||
        as_text(ByteSpan(preamble).first(kMagic.size())) != kMagic)
        return Error{ErrorCode::corrupt, "is no recording of a run"};
    const auto version =
        ByteReader(ByteSpan(preamble).subspan(kMagic.size())).read<std::uint32_t>();
    if (version != kVersion)
        return Error{ErrorCode::unsupported,
                     fmt::format("is of format {}; this program reads {}", version, kVersion)};
    REFIT_TRY(first, blocks.read());
    if (first.type != kCast) return Error{ErrorCode::corrupt, "does not begin with a cast"};
    Recording recording;
    REFIT_TRY(cast, parse_cast(first.bytes));
    recording.cast = std::move(cast);
    recording.timeline = Timeline(node_names(recording.cast.tree));
    const Status events = read_events(blocks, recording);
    if (!events.has_value())
        recording.missing = fmt::format("{}; {} events before that are whole", events.error().what,
                                        recording.timeline.events().size());
    return recording;
}

Result<Recording> read_recording(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) return Error{ErrorCode::not_found, "no such recording", file.string()};
    auto recording = read_recording(stream);
    if (recording.has_value()) return recording;
    Error error = recording.error();
    error.where = file.string();
    return error;
}

}  // namespace refit
