// One tile as the ranks of a layout hold it: of each rank's memory the part the tile reaches.
//
// Model    The window of a rank holds the runs of its memory that the tile reaches, one behind the
//          other; placements are the layout's own, moved with their runs. So a replica whose memory
//          no machine has is read, stored to and checked tile by tile.
// Memory   the words of the windows, kept from tile to tile.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/coords/shard_map.hpp"
#include "kernels/device.hpp"

namespace refit {

class ShardWindow {
public:
    struct Rank {
        std::uint32_t id = 0;
        std::vector<Placement> placements;  // into `words`
        std::vector<std::uint16_t> words;
        std::uint64_t held = 0;  // of the tile
    };

    /// Turns to a tile; its words are not there yet.
    void open(const Catalog& catalog, const Tile& tile, const ShardMap& map);

    /// The tile's words, as every rank would hold them.
    void load(Device& device, std::span<const std::uint16_t> tile);
    /// The tile as its ranks hold it: from the first that has all of it, else from all.
    void gather(Device& device, std::span<std::uint16_t> tile) const;

    std::span<Rank> ranks() { return std::span(ranks_).first(used_); }
    std::span<const Rank> ranks() const { return std::span(ranks_).first(used_); }
    /// Copies counted.
    Words held() const;
    /// What the rank that has most of the tile must get from the others.
    Words missing() const;

private:
    std::vector<Rank> ranks_;  // those that hold any of the tile; more than used for their memory
    std::size_t used_ = 0;
    std::uint64_t tile_words_ = 0;
};

}  // namespace refit
