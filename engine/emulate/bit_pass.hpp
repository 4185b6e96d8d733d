// The bit pass: every word of a unit made, encoded, staged, stored, read back and compared.
//
// Model    generate both versions -> encode (UnitEncoder) -> for every layout: base words on its
//          ranks -> gather -> decode against them (base and delta checks) -> overwrite on the ranks
//          -> resident digest of every rank -> word for word against the next version, made a
//          second time. The codec and the kernels are those of a resident run.
// Layouts  each once: replicas of one layout would do the same work on the same bits.
// Memory   per unit: three times its words, one window per layout, the staging list.
// Errors   a failed check is counted and said in `first_failure`, and the pass goes on; corrupt
//          bytes out of our own encoder end it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/codec/delta.hpp"
#include "engine/emulate/shard_window.hpp"
#include "engine/emulate/word_pairs.hpp"

namespace refit {

struct BitPassTotals {
    Words words;          // made and encoded
    Words words_checked;  // read back by resident checks, copies counted
    std::uint64_t mismatches = 0;
    std::uint64_t resident_failures = 0;  // tiles or ranks with a wrong digest
    std::vector<Words> replica_missing;   // by layout: gathered inside the replica
    std::string first_failure;

    bool exact() const { return mismatches == 0 && resident_failures == 0; }
    void add(const BitPassTotals& other);
};

/// Wall time of each part of the pass.
struct BitPassTimes {
    Nanoseconds generate;
    Nanoseconds encode;
    Nanoseconds stage;  // gather, base check, decode, delta check
    Nanoseconds check;  // overwrite, resident digests, words made again and compared
};

class BitPass {
public:
    /// All that is referred to outlives the pass. Without a clock times() stay zero.
    BitPass(Device& device,
            const DeltaContext& context,
            const Codec& codec,
            std::vector<const ShardMap*> serving,
            MonotonicClock clock = {});

    struct Unit {
        EncodedUnit encoded;
        std::vector<std::uint64_t> staged_bytes;  // of the staging list, by tile
    };

    /// Runs one unit of the context's grid. The result is valid until the next call.
    Result<const Unit*> run(UnitRange range, const WordPairs& pairs);

    /// The words of tile i of the unit at hand.
    std::span<const std::uint16_t> base(std::size_t i) const { return work_[i].base; }
    std::span<const std::uint16_t> next(std::size_t i) const { return work_[i].next; }

    /// Some tiles of the unit at hand as a unit of their own, through the encoder alone.
    const EncodedUnit& encode_again(UnitRange range);

    /// Since the last call.
    BitPassTotals take_totals();
    const BitPassTimes& times() const { return times_; }

private:
    struct TileWork {
        const Tile* tile = nullptr;
        std::vector<std::uint16_t> base, next, again;
        std::vector<std::uint16_t> gathered;
        ShardWindow window;
        std::uint64_t mismatches = 0;
        std::uint64_t failures = 0;
    };
    class Held;  // the words of the unit at hand as Weights

    Nanoseconds now() const { return clock_ ? clock_() : Nanoseconds{}; }
    void generate(UnitRange range, const WordPairs& pairs);
    Status serve(std::size_t layout, UnitRange range);
    void overwrite_and_check(TileWork& work, const DecodedTile& decoded) const;
    void compare(TileWork& work) const;

    Device& device_;
    DeltaContext context_;
    std::vector<const ShardMap*> serving_;
    MonotonicClock clock_;
    UnitEncoder encoder_;
    UnitDecoder decoder_;
    std::vector<TileWork> work_;
    std::vector<EncodedUnit> encoded_;
    std::vector<EncodedUnit> again_;
    DecodedUnit decoded_;
    Unit unit_;
    std::uint32_t first_tile_ = 0;  // of the unit at hand
    std::size_t tiles_ = 0;
    BitPassTotals totals_;
    BitPassTimes times_;
};

}  // namespace refit
