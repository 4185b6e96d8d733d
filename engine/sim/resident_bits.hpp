// The bits of a world whose words fit in memory: real weights on real shards.
//
// Memory   per replica and twice for the trainer: the local words of all ranks.
// Truth    the step source: differing_words() compares every rank with it word for word.
#pragma once

#include "engine/coords/shard_map.hpp"
#include "engine/plan.hpp"
#include "engine/sim/world_bits.hpp"
#include "engine/step_source.hpp"
#include "kernels/device.hpp"

namespace refit {

/// What the bits are made from; all of it outlives them. `serving`: one map per replica, in tree
/// order.
struct ResidentParts {
    Device& device;
    const StepSource& steps;
    const Grid& grid;
    const ShardMap& training;
    std::vector<const ShardMap*> serving;
};

/// The salt of the digests of a run.
std::uint64_t digest_salt(std::uint64_t seed);

std::unique_ptr<WorldBits> make_resident_bits(const ResidentParts& parts,
                                              const DeltaSpec& delta,
                                              std::uint64_t seed);

}  // namespace refit
