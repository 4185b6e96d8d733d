#include "engine/emulate/shard_window.hpp"

#include <algorithm>

namespace refit {

namespace {

std::uint64_t words_of(const Placement& p) { return p.row_count * p.col_count; }

std::uint64_t end_of(const Placement& p) {
    return p.local_first + (p.row_count - 1) * p.local_row_stride +
           (p.col_count - 1) * p.local_col_stride + 1;
}

/// Moves runs of rank memory next to each other and returns where they end. Placements whose runs
/// overlap (strided ones that share rows) keep their distance.
std::uint64_t close_gaps(std::vector<Placement>& placements) {
    std::ranges::sort(placements, {}, &Placement::local_first);
    std::uint64_t begin = placements.front().local_first;  // of the run at hand
    std::uint64_t end = begin;
    std::uint64_t used = 0;  // words of the runs before it
    for (Placement& p : placements) {
        if (p.local_first > end) {
            used += end - begin;
            begin = p.local_first;
        }
        end = std::max(end, end_of(p));
        p.local_first = used + (p.local_first - begin);
    }
    return used + (end - begin);
}

}  // namespace

void ShardWindow::open(const Catalog& catalog, const Tile& tile, const ShardMap& map) {
    used_ = 0;
    tile_words_ = tile.words;
    for (std::uint32_t id = 0; id < map.ranks().size(); ++id) {
        std::vector<Placement> placements = map.placements(catalog, tile, id);
        std::erase_if(placements, [](const Placement& p) { return words_of(p) == 0; });
        if (placements.empty()) continue;
        if (used_ == ranks_.size()) ranks_.emplace_back();
        Rank& rank = ranks_[used_++];
        rank.id = id;
        rank.held = 0;
        rank.placements = std::move(placements);
        for (const Placement& p : rank.placements) rank.held += words_of(p);
        rank.words.resize(close_gaps(rank.placements));
    }
}

void ShardWindow::load(Device& device, std::span<const std::uint16_t> tile) {
    for (Rank& rank : ranks()) device.scatter(tile, rank.placements, rank.words);
}

void ShardWindow::gather(Device& device, std::span<std::uint16_t> tile) const {
    const auto whole = std::ranges::find(ranks(), tile_words_, &Rank::held);
    if (whole != ranks().end()) {
        device.gather(whole->words, whole->placements, tile);
        return;
    }
    for (const Rank& rank : ranks()) device.gather(rank.words, rank.placements, tile);
}

Words ShardWindow::held() const {
    Words words;
    for (const Rank& rank : ranks()) words += Words{rank.held};
    return words;
}

Words ShardWindow::missing() const {
    std::uint64_t best = 0;
    for (const Rank& rank : ranks()) best = std::max(best, rank.held);
    return Words{tile_words_ - best};
}

}  // namespace refit
