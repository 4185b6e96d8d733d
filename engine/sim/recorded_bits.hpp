// The bits of a world whose words were processed before: sizes, hashes and counts of a bit pass.
//
// Model    Each request answers with what was recorded, so the time pass runs the same protocol
//          over the same chunks by handle. Of the words nothing is left: no check of this world
//          counts checked words, and staging only tracks which version would be resident.
// Phantom  a delta of which only sizes are known (an estimate) has made-up hashes, one per chunk.
#pragma once

#include "engine/plan.hpp"
#include "engine/sim/world_bits.hpp"

namespace refit {

struct RecordedDelta {
    std::vector<RecordedUnit> units;          // the last one closes the last part
    std::vector<std::uint64_t> staged_bytes;  // of the staging list, by unit
    Hash256 next_version;

    std::uint64_t payload_bytes() const;
    std::uint64_t changed_words() const;
};

/// What a run knows of its bits.
struct RecordedRun {
    Hash256 catalog;
    Hash256 grid;
    std::uint64_t salt = 0;
    Words words;
    std::vector<Words> units;
    RecordedDelta anchor;
    std::vector<RecordedDelta> deltas;  // to version 1, 2, ...
    Bytes trainer_gather;
    std::vector<Bytes> replica_gather;  // in tree order
};

/// Closes parts over units of which only the sizes are known, by the rule of PartBuilder, in place
/// of those there were. `seed` makes the hashes of the chunks.
void close_phantom_parts(std::vector<RecordedUnit>& units,
                         const DeltaSpec& delta,
                         std::uint64_t seed);

/// `run` outlives the bits.
std::unique_ptr<WorldBits> make_recorded_bits(const RecordedRun& run, const DeltaSpec& delta);

}  // namespace refit
