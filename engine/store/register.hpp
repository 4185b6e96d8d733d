// The Register port: the one small place that decides which version is live.
//
// Model      acquire() hands out strictly growing epochs. decide() moves the decision from
//            version v to v + 1 exactly if the epoch is still the newest and the decision is
//            still v: a compare-and-swap. Nothing else changes it.
// Durable    both return only when the change survives a crash (SQLite: WAL, synchronous FULL).
// Errors     a register that cannot be read or written, or whose file is no register of ours,
//            throws MachineError naming the file.
// Threads    every operation may be called from several threads and processes at once.
// Limit      versions and epochs stay below 2^63.
// Place      lease, members and tree of design 8 become further fields of the same record.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "engine/base/hash.hpp"

namespace refit {

struct Decision {
    std::uint64_t version = 0;
    Hash256 delta;  // sealed id of the delta that leads to it (of the anchor, for the first)
    friend bool operator==(const Decision&, const Decision&) = default;
};

class Register {
public:
    virtual ~Register() = default;

    /// A new epoch; every earlier one can decide nothing from here on.
    virtual std::uint64_t acquire() = 0;
    virtual Decision read() const = 0;
    /// True if the decision is now `next`, also when it was before: asking again after a lost
    /// answer is harmless, whatever the epoch. next.version must be from + 1.
    virtual bool decide(std::uint64_t epoch, std::uint64_t from, const Decision& next) = 0;
};

/// Starts at `initial` unless the file already holds a decision.
std::unique_ptr<Register> make_sqlite_register(const std::filesystem::path& file,
                                               const Decision& initial);
std::unique_ptr<Register> make_memory_register(const Decision& initial);

}  // namespace refit
