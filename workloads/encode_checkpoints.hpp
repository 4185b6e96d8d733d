// From two checkpoints to an .rfd file, in one pass over both.
//
// Order    units of words, then opaque tiles, then the attachments: file headers, index, the table
//          of opaque items. The base's identity is known last and is patched into the records.
// Memory   two batches of units (one read while the other is coded), each of at most kBatchWords
//          words of either side; their streams; one part; never the files. At most 512 MiB with
//          the values below.
// Same     bytes for every number of lanes.
// Errors   those of reading; the machine's as MachineError.
#pragma once

#include <functional>

#include "engine/codec/container.hpp"
#include "workloads/checkpoint_match.hpp"

namespace refit {

/// Salt of the digests in files. Fixed, so that the same pair always yields the same file.
inline constexpr std::uint64_t kFileSalt = 0x5246445F66696C65;  // "RFD_file"

/// A batch is what is encoded at once. One unit of a codec that uses all lanes fills it, others
/// share it.
inline constexpr std::uint64_t kBatchWords = std::uint64_t{16} << 20;
constexpr std::uint64_t file_unit_words(const Codec& codec) {
    return codec.encodes_on_lanes() ? kBatchWords : kBatchWords / 4;
}

inline constexpr std::uint32_t kFileChunkBytes = std::uint32_t{1} << 20;
inline constexpr std::uint32_t kFileChunksPerPart = 64;

/// Names of attachments: the headers of the new checkpoint's files, its index, and the mark of a
/// checkpoint that is a directory.
inline constexpr std::string_view kHeaderPrefix = "file/";
inline constexpr std::string_view kIndexAttachment = "index";
inline constexpr std::string_view kDirectoryAttachment = "directory";

/// Where the file's bytes go.
struct DeltaOutput {
    ByteSink append;
    BytePatch patch;
};

/// Called on the encoding thread with the weight bytes done since the last call. May throw to stop.
using ByteProgress = std::function<void(Bytes)>;

/// Time by kind of work; the three overlap.
struct EncodeTimes {
    Nanoseconds read;   // on a thread of its own; of opaque tiles summed over lanes
    Nanoseconds code;   // diff, digests, codec bodies, opaque frames; summed over lanes
    Nanoseconds write;  // hashing and writing
};

struct EncodeSummary {
    OpenRecord open;
    SealRecord seal;
    std::uint64_t words = 0;
    std::vector<OpaqueItem> opaque;
    Bytes attachments;
    Bytes file;
    EncodeTimes times;
};

class CheckpointEncoder {
public:
    CheckpointEncoder(Device& device,
                      const Codec& codec,
                      const Checkpoint& base,
                      const Checkpoint& next,
                      MonotonicClock now);

    /// `match` is that of the two checkpoints.
    Result<EncodeSummary> encode(const CheckpointMatch& match,
                                 const DeltaOutput& output,
                                 const ByteProgress& progress);

private:
    Device& device_;
    const Codec& codec_;
    const Checkpoint& base_;
    const Checkpoint& next_;
    MonotonicClock now_;
};

}  // namespace refit
