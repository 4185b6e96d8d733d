// The weights of one replica or trainer as its ranks hold them: shards in memory, through a map.
//
// Model      Reading a canonical run gathers it from the ranks; a rank that holds the run whole is
//            read alone, otherwise the words come from all that hold a part. A tile that no rank
//            holds whole costs a gather inside the cluster: gather_bytes().
// Memory     sum of local words x 2 bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/coords/shard_map.hpp"
#include "engine/coords/weights.hpp"
#include "kernels/device.hpp"

namespace refit {

class ShardedWeights final : public Weights {
public:
    /// All words zero. Catalog, grid and map outlive this.
    ShardedWeights(Device& device, const Catalog& catalog, const Grid& grid, const ShardMap& map);

    /// Replaces everything with another version's words.
    void load(const Weights& from);
    void clear();

    void read(std::uint32_t tensor,
              std::uint64_t first,
              std::span<std::uint16_t> out) const override;

    const ShardMap& map() const { return map_; }
    std::uint32_t rank_count() const { return static_cast<std::uint32_t>(ranks_.size()); }
    std::span<std::uint16_t> rank(std::uint32_t id) { return ranks_[id]; }
    std::span<const std::uint16_t> rank(std::uint32_t id) const { return ranks_[id]; }

    /// The placements of a grid tile in a rank; computed once, empty if the rank holds none of it.
    std::span<const Placement> placements(std::uint32_t rank, std::uint32_t tile) const {
        return placements_[rank][tile];
    }

    /// Words over all ranks, copies counted.
    Words held_words() const { return held_; }
    /// Bytes that cross between ranks when every tile is gathered once at its best rank.
    Bytes gather_bytes() const;

private:
    Device& device_;
    const Catalog& catalog_;
    const Grid& grid_;
    const ShardMap& map_;
    std::vector<std::vector<std::uint16_t>> ranks_;
    std::vector<std::vector<std::vector<Placement>>> placements_;  // [rank][tile]
    Words held_;
};

}  // namespace refit
