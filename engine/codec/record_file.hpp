// Records of an .rfd file, read one after the other: type, length, bytes, XXH3 of type and bytes.
//
// Source     a file, or the same bytes in memory; it outlives the RecordFile.
// Memory     a record's bytes are allocated only after its length fits what is left of the file.
// Errors     truncated, corrupt; MachineError when the disk fails to give what the file has.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "engine/base/byte_source.hpp"

namespace refit {

inline constexpr std::string_view kRfdMagic = "REFITRFD";
inline constexpr std::uint32_t kRfdVersion = 1;

enum class RecordType : std::uint8_t {
    catalog = 1,
    open = 2,
    part = 3,
    payload = 4,
    attachments = 5,
    seal = 6
};

inline constexpr std::uint64_t kRecordHeadBytes = 1 + 8;
inline constexpr std::uint64_t kRecordHashBytes = 8;

std::uint64_t record_hash(std::uint8_t type, ByteSpan bytes);

struct RecordHead {
    RecordType type{};
    std::uint64_t bytes = 0;
};

/// The bytes of a regular file. Errors: not_found, invalid_input.
Result<std::shared_ptr<const ByteSource>> open_record_source(const std::filesystem::path& path);

class RecordFile {
public:
    explicit RecordFile(const ByteSource& source) : source_(source) {}

    std::uint64_t file_bytes() const { return source_.bytes(); }
    std::uint64_t offset() const { return offset_; }
    bool at_end() const { return offset_ == file_bytes(); }

    /// Checks the magic and the format's version.
    Status read_preamble();
    /// The next record's head; its bytes and its hash are known to lie inside the file.
    Result<RecordHead> read_head();
    /// The bytes of the record whose head was just read, checked against its hash.
    Result<ByteVector> read_body(RecordHead head);
    /// Passes over them unread.
    void skip_body(RecordHead head) { offset_ += head.bytes + kRecordHashBytes; }
    /// Goes to a place where a record's bytes begin.
    void seek(std::uint64_t offset) { offset_ = offset; }

private:
    void read_exactly(std::span<std::byte> out);

    const ByteSource& source_;
    std::uint64_t offset_ = 0;
};

}  // namespace refit
