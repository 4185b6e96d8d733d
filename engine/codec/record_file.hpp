// Records of an .rfd file, read one after the other: type, length, bytes, XXH3 of type and bytes.
//
// Memory     a record's bytes are allocated only after its length fits what is left of the file.
// Errors     truncated, corrupt; MachineError when the disk fails to give what the file has.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "engine/base/bytes.hpp"

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

class RecordFile {
public:
    static Result<RecordFile> open(const std::filesystem::path& path);

    std::uint64_t file_bytes() const { return file_bytes_; }
    std::uint64_t offset() const { return offset_; }
    bool at_end() const { return offset_ == file_bytes_; }

    /// Checks the magic and the format's version.
    Status read_preamble();
    /// The next record's head; its bytes and its hash are known to lie inside the file.
    Result<RecordHead> read_head();
    /// The bytes of the record whose head was just read, checked against its hash.
    Result<ByteVector> read_body(RecordHead head);
    /// Passes over them unread.
    void skip_body(RecordHead head);
    /// Goes to a place where a record's bytes begin.
    void seek(std::uint64_t offset);

private:
    RecordFile(std::ifstream stream, std::string name, std::uint64_t file_bytes);
    void read_exactly(std::span<std::byte> out);

    std::ifstream stream_;
    std::string name_;
    std::uint64_t file_bytes_;
    std::uint64_t offset_ = 0;
};

}  // namespace refit
