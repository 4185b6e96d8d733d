// What an interrupted full pass has done so far, in one file: part after part.
//
// Format   "REFITBPJ", then records: u32 length, bytes, u64 XXH3 of the bytes. The first holds the
//          identity of the pass (SHA-256 of all it is made from), each other one a closed part.
//          Little-endian.
// Safe     a record is synced before the pass goes on; one that is cut short or damaged, and all
//          behind it, is dropped when the file is opened again: the pass does that work again.
// Errors   invalid_input: the file belongs to another pass, or is none. MachineError.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "engine/codec/delta.hpp"
#include "engine/emulate/bit_pass.hpp"
#include "engine/store/file_io.hpp"

namespace refit {

struct PassUnit {
    std::uint64_t bytes = 0;
    std::uint64_t changed_words = 0;
    std::uint64_t staged_bytes = 0;
};

/// Everything the pass keeps of one part.
struct PassPart {
    PartRecord record;
    std::vector<PassUnit> units;
    std::vector<std::uint64_t> next_digests;  // by tile
    BitPassTotals totals;                     // of this part alone
};

class PassJournal {
public:
    /// Opens the file, or makes it.
    static Result<PassJournal> open(const std::filesystem::path& path, const Hash256& identity);

    const std::vector<PassPart>& parts() const { return parts_; }
    void append(const PassPart& part);

private:
    PassJournal(File file, std::vector<PassPart> parts, std::uint64_t end)
        : file_(std::move(file)), parts_(std::move(parts)), end_(end) {}

    File file_;
    std::vector<PassPart> parts_;  // found when it was opened
    std::uint64_t end_;
};

}  // namespace refit
