// The .rfd file: one delta on disk, the same records and bytes that travel, plus attachments.
//
// Layout     magic "REFITRFD", format version, then records (type, length, bytes, each with an
//            XXH3 of type + bytes): catalog, open, (part, payload)*, attachments, seal.
//            FORMAT.md is normative. Nothing may follow the seal.
// Memory     one part at a time. RfdReader never allocates by a length it has not checked against
//            the file's size.
// Errors     truncated, corrupt, unsupported (newer format), each naming the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "engine/codec/delta.hpp"

namespace refit {

/// A byte string that travels with a delta untouched: a file header, an index.
struct Attachment {
    std::string name;
    ByteVector bytes;
    friend bool operator==(const Attachment&, const Attachment&) = default;
};

/// Where records go: a file being written, a buffer in a test.
using ByteSink = std::function<void(ByteSpan)>;

class RfdWriter {
public:
    RfdWriter(ByteSink sink, const Catalog& catalog, const OpenRecord& open);
    void write(const Part& part);
    /// Returns the seal with its attachments hash filled in.
    SealRecord finish(const std::vector<Attachment>& attachments,
                      const std::vector<PartRecord>& parts,
                      std::uint64_t changed_words,
                      const Hash256& next_version);

private:
    void record(std::uint8_t type, ByteSpan bytes);
    ByteSink sink_;
    OpenRecord open_;
};

class RecordFile;
struct RecordHead;

/// An opened .rfd: everything but the payloads is read and checked on open().
class RfdReader {
public:
    static Result<RfdReader> open(const std::filesystem::path& path);

    const Catalog& catalog() const { return catalog_; }
    const Manifest& manifest() const { return manifest_; }
    const std::vector<Attachment>& attachments() const { return attachments_; }
    Bytes file_bytes() const { return file_bytes_; }

    /// Reads part i from the file and checks it against its hashes. Any thread.
    Result<ByteVector> read_payload(std::size_t part) const;

private:
    Status read_all();
    Status read_part(RecordFile& file, RecordHead part_head);

    std::filesystem::path path_;
    Catalog catalog_;
    Manifest manifest_;
    std::vector<Attachment> attachments_;
    std::vector<std::uint64_t> payload_offsets_;
    Bytes file_bytes_;
};

}  // namespace refit
