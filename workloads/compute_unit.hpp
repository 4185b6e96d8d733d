// A codec's work on one unit in memory, to run beside a compute load: staging as a replica does it,
// encoding as the trainer does.
//
// Stage     a unit's bytes and the base to staging lists: base check, decoding, delta check.
// Encode    both versions to the unit's bytes: diff, both digests, bodies.
// Threads   both run on the device's lanes: give it a device of one, which is the calling thread.
//           An object serves one thread at a time.
// Memory    4 bytes a word, the unit, its staging lists.
#pragma once

#include <vector>

#include "engine/codec/delta.hpp"
#include "workloads/profile.hpp"

namespace refit {

class UnitWork {
public:
    /// Encodes all words of the pair as one unit. `device` and `codec` outlive this.
    UnitWork(Device& device, const Codec& codec, WordPair pair);
    UnitWork(const UnitWork&) = delete;
    UnitWork& operator=(const UnitWork&) = delete;

    Words words() const { return catalog_.words(); }

    /// What of the delta was found again: the changed words of the last stage().
    std::uint64_t staged_words() const;

    /// Bytes of one version's weights.
    Bytes stage();
    Bytes encode();

private:
    DeltaContext context() const;

    Device& device_;
    const Codec& codec_;
    Catalog catalog_;
    Grid grid_;
    MemoryWeights base_;
    MemoryWeights next_;
    std::vector<UnitRange> units_;
    UnitEncoder encoder_;
    std::vector<EncodedUnit> encoded_;
    DecodedUnit staged_;
};

}  // namespace refit
