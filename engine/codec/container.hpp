// The .rfd file: one delta on disk, the same records and bytes that travel, plus attachments.
//
// Layout     magic "REFITRFD", format version, then records (type, length, bytes, each with an
//            XXH3 of type + bytes): catalog, open, (part, payload)*, attachments, seal.
//            FORMAT.md is normative. Nothing may follow the seal.
// Opaque     an attachment "opaque" lists what travels as bytes behind the words: opaque.hpp.
// Memory     one part at a time. RfdReader never allocates by a length it has not checked against
//            the file's size.
// Errors     truncated, corrupt, unsupported (newer format), each naming the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/byte_source.hpp"
#include "engine/codec/delta.hpp"
#include "engine/codec/opaque.hpp"

namespace refit {

/// A byte string that travels with a delta untouched: a file header, an index.
struct Attachment {
    std::string name;
    ByteVector bytes;
    friend bool operator==(const Attachment&, const Attachment&) = default;
};

/// Where records go: a file being written, a buffer in a test.
using ByteSink = std::function<void(ByteSpan)>;

/// Replaces bytes that were written before, at an offset from the start.
using BytePatch = std::function<void(std::uint64_t, ByteSpan)>;

class RfdWriter {
public:
    RfdWriter(ByteSink sink, const Catalog& catalog, const OpenRecord& open);
    void write(const Part& part);
    /// Names the base of what was written: who reads base and next side by side knows it last.
    /// `open` has the values of the constructor's, but for the base. Chains `parts` anew, in the
    /// file and in place. Call it before finish().
    void set_base(const OpenRecord& open, std::vector<PartRecord>& parts, const BytePatch& patch);
    /// Returns the seal with its attachments hash filled in.
    SealRecord finish(const std::vector<Attachment>& attachments,
                      const std::vector<PartRecord>& parts,
                      std::uint64_t changed_words,
                      const Hash256& next_version);

private:
    /// Returns where the record begins.
    std::uint64_t record(std::uint8_t type, ByteSpan bytes);
    void put(ByteSpan bytes);

    ByteSink sink_;
    OpenRecord open_;
    std::uint64_t written_ = 0;
    std::uint64_t open_at_ = 0;
    std::vector<std::uint64_t> parts_at_;
};

class RecordFile;
struct RecordHead;

/// An opened .rfd: everything but the payloads is read and checked on open().
class RfdReader {
public:
    static Result<RfdReader> open(const std::filesystem::path& path);
    /// The same file, in memory. Errors name no file.
    static Result<RfdReader> parse(ByteVector bytes);

    const Catalog& catalog() const { return catalog_; }
    const Manifest& manifest() const { return manifest_; }
    const std::vector<Attachment>& attachments() const { return attachments_; }
    /// What of the checkpoint is not words; also among the attachments, as bytes.
    const std::vector<OpaqueItem>& opaque() const { return opaque_; }
    Bytes file_bytes() const { return Bytes{source_->bytes()}; }

    /// Reads part i and checks it against its hashes. Any thread.
    Result<ByteVector> read_payload(std::size_t part) const;

private:
    Status read_all();
    Status read_part(RecordFile& file, RecordHead part_head);
    Result<RecordHead> read_attachments(RecordFile& file, RecordHead head, Hash256& hash);

    std::string name_;  // for errors; empty in memory
    std::shared_ptr<const ByteSource> source_;
    Catalog catalog_;
    Manifest manifest_;
    std::vector<Attachment> attachments_;
    std::vector<OpaqueItem> opaque_;
    std::vector<std::uint64_t> payload_offsets_;
};

}  // namespace refit
