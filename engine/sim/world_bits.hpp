// What the requests of a world's nodes do to bits. The protocol above it is the same either way.
//
// Resident   (resident_bits.hpp) the words of every rank are in memory; each request does its work.
// Recorded   (recorded_bits.hpp) a bit pass has done the work before; requests answer with the
//            sizes and hashes it recorded.
// Errors     as Resident (engine/shards) and the object store.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "engine/codec/delta.hpp"
#include "engine/store/object_store.hpp"

namespace refit {

/// The trainer: the snapshot of the last decided version and the version after it.
class TrainerBits {
public:
    virtual ~TrainerBits() = default;

    /// The final weights of `version` are there; it stays the next one until rebase().
    virtual void take(std::uint64_t version) = 0;
    /// Identity of `version`, decided or taken.
    virtual Hash256 version_id(std::uint64_t version) = 0;
    virtual std::variant<EncodedUnit, RecordedUnit> encode(std::uint32_t unit) = 0;
    /// The version taken has been decided: it is the base from now on.
    virtual void rebase() = 0;
    /// What one pass over the tiles moves between ranks.
    virtual Bytes gather_bytes() const = 0;
};

/// One replica; the calls are those of Resident.
class ReplicaBits {
public:
    virtual ~ReplicaBits() = default;

    virtual void clear() = 0;
    virtual Status stage(const OpenRecord& open, const PartRecord& part, ByteSpan payload) = 0;
    virtual void drop_staged() = 0;
    virtual Bytes staged_bytes() const = 0;
    virtual void overwrite() = 0;
    virtual Status check(const Hash256& version) = 0;
    /// By all checks so far, copies counted.
    virtual Words words_checked() const = 0;
    virtual Bytes gather_bytes() const = 0;
    /// How many words differ from what `version` should be.
    virtual std::uint64_t differing_words(std::uint64_t version) const = 0;
};

class WorldBits {
public:
    virtual ~WorldBits() = default;

    virtual const Hash256& catalog() const = 0;
    virtual const Hash256& grid() const = 0;
    virtual Words words() const = 0;
    virtual std::uint64_t salt() const = 0;
    /// How many words each unit of a delta has.
    virtual const std::vector<Words>& units() const = 0;

    /// Puts version 0 into the store.
    virtual Manifest publish_anchor(ObjectStore& store) = 0;
    virtual std::unique_ptr<TrainerBits> trainer() = 0;
    /// In tree order.
    virtual std::unique_ptr<ReplicaBits> replica(std::size_t index) = 0;
};

}  // namespace refit
