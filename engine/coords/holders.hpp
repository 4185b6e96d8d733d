// Holders: the boxes of a shard map regrouped by tensor, for proofs over all ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/coords/shard_map.hpp"

namespace refit {

struct Holder {
    std::uint32_t rank;
    const Box* box;  // lives in the shard map
};

class Holders {
public:
    Holders(const Catalog& catalog, std::span<const RankMap> ranks)
        : first_(catalog.tensors().size() + 1) {
        for (const RankMap& rank : ranks)
            for (const Box& box : rank.boxes) ++first_[box.tensor + 1];
        for (std::size_t t = 1; t < first_.size(); ++t) first_[t] += first_[t - 1];
        holders_.resize(first_.back());
        std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
        for (std::uint32_t r = 0; r < ranks.size(); ++r)
            for (const Box& box : ranks[r].boxes) holders_[next[box.tensor]++] = {r, &box};
    }

    /// Lowest rank first.
    std::span<const Holder> of(std::uint32_t tensor) const {
        return std::span(holders_).subspan(first_[tensor], first_[tensor + 1] - first_[tensor]);
    }

private:
    std::vector<std::size_t> first_;
    std::vector<Holder> holders_;
};

}  // namespace refit
