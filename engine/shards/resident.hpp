// What one replica holds: its shards, the staging list, and the digests that prove them.
//
// Checks     base      every tile is read in full before it is decoded (decode_unit)
//            delta     the staged list alone must move the tile's digest to the one sent
//            resident  every rank's memory, read in full after overwriting, must have the digest
//                      it had before plus what the staged list changes in it
//            Expected digests start at zero words and only ever move by staged lists: memory is
//            never its own witness. Only `resident` counts as checked words.
// Restart    overwrite() is plain stores: once, twice, or half then whole give the same bits.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/codec/delta.hpp"
#include "engine/shards/sharded_weights.hpp"

namespace refit {

class Resident {
public:
    /// Nothing resident: all words zero.
    Resident(Device& device, const DeltaContext& context, const ShardMap& map);

    /// Memory lost: zero words, nothing staged.
    void clear();

    /// Decodes a part of a delta made from what is resident. Errors leave the list as it was.
    Status stage(const OpenRecord& open, const PartRecord& part, ByteSpan payload);
    void drop_staged();
    Bytes staged_bytes() const;
    std::uint64_t staged_words() const { return staged_words_; }

    /// Stores the staged words and moves the expected digests. The list is kept until it is
    /// dropped, so that it can be stored again.
    void overwrite();

    /// The resident check, and that the version as a whole is the one the seal names.
    Status check(const Hash256& version);

    /// Identity of what is resident, from expected digests.
    Hash256 version() const;

    ShardedWeights& weights() { return weights_; }
    const ShardedWeights& weights() const { return weights_; }
    Words words_checked() const { return words_checked_; }

private:
    struct StagedTile {
        std::uint32_t tile;
        Changes changes;
        std::uint64_t next_digest;
        std::vector<std::uint64_t> rank_change;  // by how much each rank's digest moves
    };

    void stage_tile(DecodedTile tile);

    Device& device_;
    DeltaContext context_;
    ShardedWeights weights_;
    std::vector<std::vector<Placement>> rank_placements_;
    std::vector<std::uint64_t> rank_digests_;  // expected
    std::vector<std::uint64_t> tile_digests_;  // expected
    std::vector<StagedTile> staged_;
    std::uint64_t staged_words_ = 0;
    bool overwritten_ = false;
    Words words_checked_;
};

}  // namespace refit
