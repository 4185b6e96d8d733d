#include "engine/store/in_place_journal.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace refit {

namespace {

constexpr std::string_view kMagic = "REFITJNL";
constexpr std::size_t kBuffer = std::size_t{1} << 20;
constexpr std::size_t kRecordMax = kUpdateIdentityMax;
constexpr std::uint64_t kWindowWords = 65536;
constexpr std::size_t kBytesMax = std::size_t{1} << 20;  // of one record; longer patches take more
constexpr std::size_t kFilesMax = std::size_t{1} << 20;

enum class Type : std::uint8_t {
    open = 1,
    heads,
    patched,
    select,
    positions,
    runs,
    bytes,
    created,
    removed,
    commit
};

struct Run {
    std::uint16_t first;
    std::uint16_t more;  // words after the first
};
static_assert(sizeof(Run) == 4);

class Hasher {
public:
    Hasher() : state_(XXH3_createState(), XXH3_freeState) {
        if (state_ == nullptr || XXH3_64bits_reset(state_.get()) != XXH_OK)
            throw MachineError("no memory for a hash");
    }
    void update(ByteSpan bytes) {
        if (XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()) != XXH_OK)
            throw MachineError("XXH3 failed");
    }
    std::uint64_t digest() const { return XXH3_64bits_digest(state_.get()); }

private:
    std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
};

Error corrupt(const std::string& what) { return Error{ErrorCode::corrupt, "the journal " + what}; }

}  // namespace

bool is_update_name(const std::string& name) {
    const bool plain = !name.empty() && name.size() <= kUpdateNameMax && name != "." &&
                       name != ".." && name.find_first_of(std::string_view("/\0", 2)) == name.npos;
    const bool ours = name.ends_with(".refit-applying") || name.ends_with(".refit-new") ||
                      name.ends_with(".refit-journal") || name.ends_with(".refit-journal-new");
    return plain && !ours;
}

struct JournalWriter::State {
    explicit State(DiskFile& journal) : file(journal) {}

    DiskFile& file;
    Hasher hasher;
    ByteVector buffer;
    std::uint64_t written = 0;
    std::uint32_t files = 0;
    std::uint32_t selected = ~std::uint32_t{0};
    std::uint64_t window = 0;  // file offset of position 0
    std::vector<std::uint16_t> positions;
    std::vector<std::uint16_t> words;
    std::size_t runs = 0;

    void append(ByteSpan bytes) { buffer.insert(buffer.end(), bytes.begin(), bytes.end()); }

    template <class T>
    void append_all(std::span<const T> values) {
        append(std::as_bytes(values));
    }

    void head(Type type, std::size_t length) {
        REFIT_ASSERT(length <= kRecordMax);
        if (buffer.size() >= kBuffer) flush();
        const auto size = static_cast<std::uint32_t>(length);
        append(std::as_bytes(std::span(&type, 1)));
        append(std::as_bytes(std::span(&size, 1)));
    }

    void record(Type type, ByteSpan bytes) {
        end_window();
        head(type, bytes.size());
        append(bytes);
    }

    void flush() {
        hasher.update(buffer);
        file.write_at(written, buffer);
        written += buffer.size();
        buffer.clear();
    }

    /// Writes the words gathered so far, as positions or as runs, whichever is shorter.
    void end_window() {
        if (words.empty()) return;
        const std::size_t by_position = 4 * words.size();
        const std::size_t by_run = sizeof(std::uint32_t) + sizeof(Run) * runs + 2 * words.size();
        head(by_run < by_position ? Type::runs : Type::positions,
             sizeof(window) + std::min(by_run, by_position));
        append(std::as_bytes(std::span(&window, 1)));
        if (by_run < by_position) {
            const auto count = static_cast<std::uint32_t>(runs);
            append(std::as_bytes(std::span(&count, 1)));
            append_runs();
        } else {
            append_all<std::uint16_t>(positions);
        }
        append_all<std::uint16_t>(words);
        positions.clear();
        words.clear();
        runs = 0;
    }

    void append_runs() {
        Run run{positions[0], 0};
        for (std::size_t i = 1; i < positions.size(); ++i) {
            if (positions[i] == positions[i - 1] + 1) {
                ++run.more;
                continue;
            }
            append(std::as_bytes(std::span(&run, 1)));
            run = {positions[i], 0};
        }
        append(std::as_bytes(std::span(&run, 1)));
    }
};

JournalWriter::JournalWriter(DiskFile& file,
                             ByteSpan identity,
                             const std::vector<std::string>& heads)
    : state_(std::make_unique<State>(file)) {
    REFIT_ASSERT(identity.size() <= kUpdateIdentityMax);
    state_->append(as_byte_span(kMagic));
    state_->record(Type::open, identity);
    ByteWriter names;
    names.write(static_cast<std::uint32_t>(heads.size()));
    for (const std::string& name : heads) names.write_text(name);
    state_->record(Type::heads, names.bytes());
}

JournalWriter::~JournalWriter() = default;

std::uint32_t JournalWriter::patched(const NamedFile& file) {
    ByteWriter writer;
    writer.write_text(file.name);
    writer.write(file.bytes);
    state_->record(Type::patched, writer.bytes());
    return state_->files++;
}

void JournalWriter::select(std::uint32_t number) {
    REFIT_ASSERT(number < state_->files);
    if (number == state_->selected) return;
    state_->selected = number;
    state_->record(Type::select, std::as_bytes(std::span(&number, 1)));
}

void JournalWriter::add_word(std::uint64_t offset, std::uint16_t word) {
    State& state = *state_;
    std::uint64_t distance = offset - state.window;  // wraps when it lies before the window
    if (!state.words.empty() && (distance % 2 != 0 || distance / 2 >= kWindowWords ||
                                 distance / 2 <= state.positions.back()))
        state.end_window();
    if (state.words.empty()) {
        state.window = offset;
        distance = 0;
    }
    const auto position = static_cast<std::uint16_t>(distance / 2);
    if (state.words.empty() || position != state.positions.back() + 1) ++state.runs;
    state.positions.push_back(position);
    state.words.push_back(word);
}

void JournalWriter::add_bytes(std::uint64_t offset, ByteSpan bytes) {
    while (!bytes.empty()) {
        const std::size_t size = std::min(bytes.size(), kBytesMax);
        state_->end_window();
        state_->head(Type::bytes, sizeof(offset) + size);
        state_->append(std::as_bytes(std::span(&offset, 1)));
        state_->append(bytes.first(size));
        bytes = bytes.subspan(size);
        offset += size;
    }
}

void JournalWriter::created(const NamedFile& file) {
    ByteWriter writer;
    writer.write_text(file.name);
    writer.write(file.bytes);
    state_->record(Type::created, writer.bytes());
}

void JournalWriter::removed(const std::string& name) {
    ByteWriter writer;
    writer.write_text(name);
    state_->record(Type::removed, writer.bytes());
}

void JournalWriter::commit() {
    state_->end_window();
    state_->head(Type::commit, sizeof(std::uint64_t));
    state_->flush();
    const std::uint64_t hash = state_->hasher.digest();
    state_->append(std::as_bytes(std::span(&hash, 1)));
    state_->flush();
    state_->file.sync();
}

namespace {

/// The bytes of a file in order, a buffer at a time.
class Stream {
public:
    explicit Stream(const DiskFile& file) : file_(file), size_(file.bytes()) {}

    std::uint64_t remaining() const { return size_ - offset_ + (buffer_.size() - at_); }

    /// False when the file has fewer bytes left.
    bool read(std::span<std::byte> out) {
        if (out.size() > remaining()) return false;
        while (!out.empty()) {
            if (at_ == buffer_.size()) refill();
            const std::size_t size = std::min(out.size(), buffer_.size() - at_);
            std::memcpy(out.data(), buffer_.data() + at_, size);
            at_ += size;
            out = out.subspan(size);
        }
        return true;
    }

private:
    void refill() {
        buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kBuffer, size_ - offset_)));
        file_.read_at(offset_, buffer_);
        offset_ += buffer_.size();
        at_ = 0;
    }

    const DiskFile& file_;
    std::uint64_t size_;
    std::uint64_t offset_ = 0;  // of what follows the buffer
    ByteVector buffer_;
    std::size_t at_ = 0;
};

class Parser {
public:
    Parser(const DiskFile& file, PatchSink* sink) : stream_(file), sink_(sink) {}

    Result<JournalPlan> parse() {
        ByteVector magic(kMagic.size());
        if (!stream_.read(magic)) return cut_short();
        hasher_.update(magic);
        if (as_text(magic) != kMagic) return corrupt("is none of ours");
        for (std::uint64_t number = 0;; ++number) {
            REFIT_TRY(type, next_record());
            if (type == Type::commit) break;
            const bool first = number == 0 ? type == Type::open : type != Type::open;
            const bool second = number == 1 ? type == Type::heads : type != Type::heads;
            if (!first || !second) return corrupt("has its records in a wrong order");
            REFIT_CHECK(take(type));
        }
        if (plan_.heads.empty()) return corrupt("names no head");
        if (stream_.remaining() != 0) return corrupt("goes on after its end");
        return std::move(plan_);
    }

private:
    static Error cut_short() { return Error{ErrorCode::truncated, "the journal is cut short"}; }

    /// Reads a record into bytes_; of the last one the hash, which it checks.
    Result<Type> next_record() {
        Type type{};
        std::uint32_t length = 0;
        if (!stream_.read(std::as_writable_bytes(std::span(&type, 1))) ||
            !stream_.read(std::as_writable_bytes(std::span(&length, 1))) ||
            length > stream_.remaining())
            return cut_short();
        if (length > kRecordMax) return corrupt("has a record that is too long");
        bytes_.resize(length);
        if (!stream_.read(bytes_)) return cut_short();
        hasher_.update(std::as_bytes(std::span(&type, 1)));
        hasher_.update(std::as_bytes(std::span(&length, 1)));
        if (type == Type::commit) {
            ByteReader reader(bytes_);
            if (reader.read<std::uint64_t>() != hasher_.digest() ||
                !reader.finish("hash").has_value())
                return corrupt("does not match its hash");
        }
        hasher_.update(bytes_);
        return type;
    }

    Status take(Type type) {
        ByteReader reader(bytes_);
        switch (type) {
            case Type::open:
                plan_.identity = bytes_;
                return Done{};
            case Type::heads:
                return take_heads(reader);
            case Type::patched:
            case Type::created:
            case Type::removed:
                return take_name(type, reader);
            case Type::select:
                selected_ = reader.read<std::uint32_t>();
                if (!reader.finish("select").has_value() || selected_ >= plan_.patched.size())
                    return corrupt("selects a file it does not name");
                return Done{};
            case Type::positions:
            case Type::runs:
            case Type::bytes:
                return take_patch(type, reader);
            case Type::commit:
                break;
        }
        return corrupt("has a record of an unknown type");
    }

    Status take_heads(ByteReader reader) {
        const auto count = reader.read<std::uint32_t>();
        for (std::uint32_t i = 0; i < count && !reader.failed(); ++i) {
            plan_.heads.push_back(reader.take_text(kUpdateNameMax));
            if (!is_update_name(plan_.heads.back())) return corrupt("holds an impossible name");
        }
        return reader.finish("the journal's list of heads");
    }

    Status take_name(Type type, ByteReader reader) {
        NamedFile file;
        file.name = reader.take_text(kUpdateNameMax);
        if (type != Type::removed) file.bytes = reader.read<std::uint64_t>();
        REFIT_CHECK(reader.finish("a name in the journal"));
        if (!is_update_name(file.name)) return corrupt("holds an impossible name");
        if (names_.size() >= kFilesMax || !names_.insert(file.name).second)
            return corrupt("names a file twice, or too many");
        if (type == Type::patched) plan_.patched.push_back(file);
        if (type == Type::created) plan_.created.push_back(file);
        if (type == Type::removed) plan_.removed.push_back(file.name);
        return Done{};
    }

    Status take_patch(Type type, ByteReader reader) {
        if (selected_ >= plan_.patched.size()) return corrupt("patches a file it does not name");
        const NamedFile& file = plan_.patched[selected_];
        const auto offset = reader.read<std::uint64_t>();
        if (reader.failed() || offset > file.bytes) return corrupt("patches past the end");
        if (type == Type::bytes) {
            if (reader.remaining() > file.bytes - offset) return corrupt("patches past the end");
            const ByteSpan bytes = reader.take(reader.remaining());
            if (sink_ != nullptr) sink_->bytes(file, offset, bytes);
            return Done{};
        }
        REFIT_CHECK(type == Type::runs ? take_runs(reader) : take_positions(reader));
        if (2 * (std::uint64_t{positions_.back()} + 1) > file.bytes - offset)
            return corrupt("patches past the end");
        if (sink_ != nullptr) sink_->words(file, offset, positions_, words_);
        return Done{};
    }

    static void copy_words(ByteReader& reader, std::size_t count, std::vector<std::uint16_t>& to) {
        to.resize(count);
        const ByteSpan bytes = reader.take(2 * count);
        if (!bytes.empty()) std::memcpy(to.data(), bytes.data(), bytes.size());
    }

    Status take_positions(ByteReader& reader) {
        const std::size_t count = reader.remaining() / 4;
        if (count == 0 || count > kWindowWords || reader.remaining() % 4 != 0)
            return corrupt("has a list of words of an impossible length");
        copy_words(reader, count, positions_);
        copy_words(reader, count, words_);
        for (std::size_t i = 1; i < count; ++i) {
            if (positions_[i] <= positions_[i - 1]) return corrupt("has positions out of order");
        }
        return Done{};
    }

    Status take_runs(ByteReader& reader) {
        const auto count = reader.read<std::uint32_t>();
        positions_.clear();
        for (std::uint32_t i = 0; i < count; ++i) {
            const auto run = reader.read<Run>();
            const std::uint32_t end = std::uint32_t{run.first} + run.more + 1;
            const bool ordered = positions_.empty() || run.first > positions_.back();
            if (reader.failed() || !ordered || end > kWindowWords)
                return corrupt("has runs out of order");
            for (std::uint32_t position = run.first; position < end; ++position)
                positions_.push_back(static_cast<std::uint16_t>(position));
        }
        if (positions_.empty() || reader.remaining() != 2 * positions_.size())
            return corrupt("has a run of an impossible length");
        copy_words(reader, positions_.size(), words_);
        return Done{};
    }

    Stream stream_;
    PatchSink* sink_;
    Hasher hasher_;
    JournalPlan plan_;
    std::set<std::string> names_;
    std::uint32_t selected_ = ~std::uint32_t{0};
    ByteVector bytes_;
    std::vector<std::uint16_t> positions_;
    std::vector<std::uint16_t> words_;
};

}  // namespace

Result<JournalPlan> read_journal(const DiskFile& file, PatchSink* sink) {
    return Parser(file, sink).parse();
}

}  // namespace refit
