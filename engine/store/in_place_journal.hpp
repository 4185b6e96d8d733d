// The journal of an in-place update: all that completing it takes, in one file that is streamed.
//
// Format   "REFITJNL", then records: u8 type, u32 length, bytes. Little-endian.
//          1 open       identity                          (first)
//          2 heads      u32 count, texts                  (second; a text: u32 length, bytes)
//          3 patched    text name, u64 bytes of the file  (numbered from 0 as they come)
//          4 select     u32 number: what follows is for this file
//          5 positions  u64 offset, n x u16 position, n x u16 word: at offset + 2 * position
//          6 runs       u64 offset, u32 n, n x (u16 first position, u16 words - 1), all words
//          7 bytes      u64 offset, bytes
//          8 created    text name, u64 bytes
//          9 removed    text name
//          10 commit    u64 XXH3 of the file up to here   (last)
// Cost     4 bytes a word and 13 per 128 KiB of file that holds any; 2 bytes a word in long runs.
// Memory   one window of 65,536 words and a buffer of 1 MiB, writing and reading.
// Errors   truncated, corrupt: one sentence, whatever was damaged.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/store/disk.hpp"

namespace refit {

inline constexpr std::size_t kUpdateIdentityMax = std::size_t{16} << 20;
inline constexpr std::size_t kUpdateNameMax = 255;

/// A name that stays in its folder and is none of ours.
bool is_update_name(const std::string& name);

struct NamedFile {
    std::string name;
    std::uint64_t bytes = 0;
};

struct JournalPlan {
    ByteVector identity;
    std::vector<std::string> heads;
    std::vector<NamedFile> patched;
    std::vector<NamedFile> created;
    std::vector<std::string> removed;
};

class JournalWriter {
public:
    JournalWriter(DiskFile& file, ByteSpan identity, const std::vector<std::string>& heads);
    ~JournalWriter();

    std::uint32_t patched(const NamedFile& file);
    void select(std::uint32_t number);
    void add_word(std::uint64_t offset, std::uint16_t word);
    void add_bytes(std::uint64_t offset, ByteSpan bytes);
    void created(const NamedFile& file);
    void removed(const std::string& name);
    /// Everything is written and synced when this returns.
    void commit();

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Receives the patches of a journal in the order they were made.
class PatchSink {
public:
    virtual ~PatchSink() = default;
    /// Positions ascend.
    virtual void words(const NamedFile& file,
                       std::uint64_t offset,
                       std::span<const std::uint16_t> positions,
                       std::span<const std::uint16_t> words) = 0;
    virtual void bytes(const NamedFile& file, std::uint64_t offset, ByteSpan bytes) = 0;
};

/// Reads a whole journal and checks all of it; the patches go to `sink`, where there is one.
/// Only a first reading without a sink tells whether the second may be believed.
Result<JournalPlan> read_journal(const DiskFile& file, PatchSink* sink);

}  // namespace refit
