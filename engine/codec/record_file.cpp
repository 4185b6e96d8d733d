#include "engine/codec/record_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <xxhash.h>

#include "engine/store/file_io.hpp"

namespace refit {

namespace {

class FileSource final : public ByteSource {
public:
    explicit FileSource(const std::filesystem::path& path)
        : file_(path, O_RDONLY), bytes_(file_.bytes()) {}
    std::uint64_t bytes() const override { return bytes_; }
    void read_at(std::uint64_t offset, std::span<std::byte> out) const override {
        file_.read_at(offset, out);
    }

private:
    File file_;
    std::uint64_t bytes_;
};

}  // namespace

std::uint64_t record_hash(std::uint8_t type, ByteSpan bytes) {
    const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                         XXH3_freeState);
    if (state == nullptr) throw MachineError("no memory for a hash");
    if (XXH3_64bits_reset(state.get()) != XXH_OK ||
        XXH3_64bits_update(state.get(), &type, 1) != XXH_OK ||
        XXH3_64bits_update(state.get(), bytes.data(), bytes.size()) != XXH_OK)
        throw MachineError("XXH3 failed");
    return XXH3_64bits_digest(state.get());
}

Result<std::shared_ptr<const ByteSource>> open_record_source(const std::filesystem::path& path) {
    std::error_code failure;
    const auto status = std::filesystem::status(path, failure);
    if (status.type() == std::filesystem::file_type::not_found)
        return Error{ErrorCode::not_found, "no such file", path.string()};
    if (status.type() != std::filesystem::file_type::regular)
        return Error{ErrorCode::invalid_input, "is not a regular file", path.string()};
    return std::shared_ptr<const ByteSource>(std::make_shared<FileSource>(path));
}

void RecordFile::read_exactly(std::span<std::byte> out) {
    source_.read_at(offset_, out);
    offset_ += out.size();
}

Status RecordFile::read_preamble() {
    constexpr std::size_t kPreambleBytes = kRfdMagic.size() + sizeof(kRfdVersion);
    if (file_bytes() < kPreambleBytes)
        return Error{ErrorCode::truncated, "is too short for a delta file"};
    std::array<std::byte, kPreambleBytes> preamble{};
    read_exactly(preamble);
    ByteReader reader(preamble);
    if (as_text(reader.take(kRfdMagic.size())) != kRfdMagic)
        return Error{ErrorCode::corrupt, "is not a delta file: it does not start with REFITRFD"};
    const auto version = reader.read<std::uint32_t>();
    if (version == kRfdVersion) return Done{};
    return Error{
        ErrorCode::unsupported,
        fmt::format("is of format version {}, this program reads {}", version, kRfdVersion)};
}

Result<RecordHead> RecordFile::read_head() {
    const std::uint64_t left = file_bytes() - offset_;
    if (left < kRecordHeadBytes + kRecordHashBytes) {
        return Error{ErrorCode::truncated,
                     fmt::format("ends at byte {} without a seal", file_bytes())};
    }
    std::array<std::byte, kRecordHeadBytes> bytes{};
    const std::uint64_t at = offset_;
    read_exactly(bytes);
    ByteReader reader(bytes);
    const auto type = reader.read<std::uint8_t>();
    const auto length = reader.read<std::uint64_t>();
    if (type < static_cast<std::uint8_t>(RecordType::catalog) ||
        type > static_cast<std::uint8_t>(RecordType::seal)) {
        return Error{ErrorCode::corrupt,
                     fmt::format("has an unknown record {} at byte {}", type, at)};
    }
    if (length > left - kRecordHeadBytes - kRecordHashBytes) {
        return Error{ErrorCode::truncated,
                     fmt::format("promises {} bytes at byte {}, but has {}", length, at,
                                 left - kRecordHeadBytes - kRecordHashBytes)};
    }
    return RecordHead{static_cast<RecordType>(type), length};
}

Result<ByteVector> RecordFile::read_body(RecordHead head) {
    const std::uint64_t at = offset_;
    ByteVector bytes(head.bytes);
    read_exactly(bytes);
    std::uint64_t stored = 0;
    read_exactly(std::as_writable_bytes(std::span(&stored, 1)));
    if (stored == record_hash(static_cast<std::uint8_t>(head.type), bytes)) return bytes;
    return Error{ErrorCode::corrupt,
                 fmt::format("is damaged between bytes {} and {}", at, offset_)};
}

}  // namespace refit
