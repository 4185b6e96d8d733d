#include "engine/shards/sharded_weights.hpp"

#include <algorithm>

namespace refit {

namespace {

/// Words of the placement's piece that lie in its box.
std::uint64_t words_in(const Placement& p) {
    const auto below = [&p](std::uint64_t word) {  // box words with canonical index < word
        const std::uint64_t row = word / p.columns;
        const std::uint64_t column = word % p.columns;
        const auto steps = [](std::uint64_t first, std::uint64_t step, std::uint64_t count,
                              std::uint64_t end) {
            return end <= first ? 0 : std::min(count, (end - first + step - 1) / step);
        };
        const std::uint64_t rows = steps(p.row_first, p.row_step, p.row_count, row);
        const bool in_row = row >= p.row_first && (row - p.row_first) % p.row_step == 0 &&
                            (row - p.row_first) / p.row_step < p.row_count;
        return rows * p.col_count +
               (in_row ? steps(p.col_first, p.col_step, p.col_count, column) : 0);
    };
    return below(p.tensor_first + p.tile_words) - below(p.tensor_first);
}

std::uint64_t words_in(std::span<const Placement> placements) {
    std::uint64_t words = 0;
    for (const Placement& placement : placements) words += words_in(placement);
    return words;
}

}  // namespace

ShardedWeights::ShardedWeights(Device& device,
                               const Catalog& catalog,
                               const Grid& grid,
                               const ShardMap& map)
    : device_(device), catalog_(catalog), grid_(grid), map_(map) {
    for (std::uint32_t r = 0; r < map.ranks().size(); ++r) {
        ranks_.emplace_back(map.ranks()[r].local_words);
        auto& of_rank = placements_.emplace_back();
        for (const Tile& tile : grid.tiles()) {
            of_rank.push_back(map.placements(catalog, tile, r));
            held_ += Words{words_in(of_rank.back())};
        }
    }
}

void ShardedWeights::load(const Weights& from) {
    std::vector<std::uint16_t> tile;
    for (std::uint32_t t = 0; t < grid_.tiles().size(); ++t) {
        tile.resize(grid_.tile(t).words);
        from.read_tile(grid_.tile(t), tile);
        for (std::uint32_t r = 0; r < ranks_.size(); ++r)
            device_.scatter(tile, placements_[r][t], ranks_[r]);
    }
}

void ShardedWeights::clear() {
    for (auto& rank : ranks_) std::ranges::fill(rank, std::uint16_t{0});
}

void ShardedWeights::read(std::uint32_t tensor,
                          std::uint64_t first,
                          std::span<std::uint16_t> out) const {
    if (out.empty()) return;
    const Tile run{{Piece{tensor, first, out.size(), 0}}, out.size()};
    std::vector<std::vector<Placement>> found(ranks_.size());
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        found[r] = map_.placements(catalog_, run, r);
        if (words_in(found[r]) != out.size()) continue;
        device_.gather(ranks_[r], found[r], out);
        return;
    }
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) device_.gather(ranks_[r], found[r], out);
}

Bytes ShardedWeights::gather_bytes() const {
    std::uint64_t words = 0;
    for (std::uint32_t t = 0; t < grid_.tiles().size(); ++t) {
        std::uint64_t best = 0;
        for (const auto& of_rank : placements_) best = std::max(best, words_in(of_rank[t]));
        words += grid_.tile(t).words - best;
    }
    return size_of(Words{words});
}

}  // namespace refit
