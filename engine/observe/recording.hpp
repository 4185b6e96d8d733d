// A run on disk, to be looked at again: who took part, and every event of its timeline.
//
// File      8 bytes "REFITRUN", u32 version 1, then blocks: u8 type, u32 length, bytes, u64 XXH3 of
//           type and bytes. Little-endian.
//             1 cast    first, once (cast.hpp)
//             2 events  u32 size, then at most 4096 of them (event_columns.hpp) in one zstd frame;
//                       the first has 256 and each twice as many as the one before, so that of a
//                       short run, too, no more than about half is lost with a damaged end
//             3 end     u64: how many events there are
// Stream    a block is written whole; whoever reads meanwhile finds whole blocks and perhaps the
//           beginning of one more.
// Damage    reading ends before the first block that is cut or damaged. What came before is whole,
//           and `missing` says what is not.
// Memory    a block is at most 64 MiB, its events 253 KiB, a catalog 1 GiB; numbers are checked
//           before they are believed: nodes, sites, links and units exist, time never goes back.
// Errors    not_found, truncated or corrupt when not even the cast can be read. Writing:
//           MachineError.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/observe/cast.hpp"
#include "engine/observe/timeline.hpp"

namespace refit {

/// In a run's folder.
inline constexpr const char* kRecordingFile = "run.timeline";
inline constexpr const char* kRecordFile = "record.json";

struct Recording {
    Cast cast;
    Timeline timeline;
    std::string missing;  // empty: the file is whole

    bool whole() const { return missing.empty(); }
};

class RecordingWriter {
public:
    /// Replaces the file.
    RecordingWriter(const std::filesystem::path& file, const Cast& cast);
    /// Of a run that did not end: what was appended is kept, as far as the disk takes it.
    ~RecordingWriter();
    RecordingWriter(const RecordingWriter&) = delete;
    RecordingWriter& operator=(const RecordingWriter&) = delete;

    void append(std::span<const Event> events);
    /// Everything appended so far can be read from the file from now on.
    void flush();
    /// Says that the run is over.
    void finish();

private:
    void write_block(std::uint8_t type, ByteSpan bytes);

    std::filesystem::path path_;
    std::ofstream file_;
    std::vector<Event> pending_;
    std::size_t block_events_;  // written together; grows with the run
    std::uint64_t written_ = 0;
};

Result<Recording> read_recording(std::istream& in);
Result<Recording> read_recording(const std::filesystem::path& file);

}  // namespace refit
