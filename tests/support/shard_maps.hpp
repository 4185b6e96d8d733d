// Random shard maps, and the plain walk over words that every box proof is compared with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/rng.hpp"
#include "engine/coords/shard_map.hpp"

namespace refit {

inline constexpr std::uint64_t kNobody = ~std::uint64_t{0};

struct Walk {
    std::vector<std::vector<std::uint64_t>> local;  // per rank and local word: the canonical word
    std::vector<std::uint64_t> copies;              // per canonical word
    std::vector<std::pair<std::uint32_t, std::uint64_t>> shared;  // rank, local word with 2 owners

    bool disjoint() const { return shared.empty(); }
    std::uint64_t copies_min() const { return copies.empty() ? 0 : std::ranges::min(copies); }
    std::uint64_t copies_max() const { return copies.empty() ? 0 : std::ranges::max(copies); }
};

inline Walk walk_words(const Catalog& catalog, std::span<const RankMap> ranks) {
    Walk walk;
    walk.copies.resize(catalog.words().count);
    for (std::uint32_t r = 0; r < ranks.size(); ++r) {
        std::vector<std::uint64_t>& local =
            walk.local.emplace_back(ranks[r].local_words, std::uint64_t{kNobody});
        for (const Box& b : ranks[r].boxes) {
            const Tensor& tensor = catalog.tensor(b.tensor);
            for (std::uint64_t i = 0; i < b.row_count; ++i) {
                for (std::uint64_t j = 0; j < b.col_count; ++j) {
                    const std::uint64_t row = b.row_first + i * b.row_step;
                    const std::uint64_t column = b.col_first + j * b.col_step;
                    const std::uint64_t word = tensor.first_word + row * tensor.columns + column;
                    const std::uint64_t at =
                        b.local_first + i * b.local_row_stride + j * b.local_col_stride;
                    if (local.at(at) != kNobody) walk.shared.emplace_back(r, at);
                    local.at(at) = word;
                    ++walk.copies.at(word);
                }
            }
        }
    }
    return walk;
}

/// "tensor 'name', row r, column c" of a canonical word.
inline std::string describe_word(const Catalog& catalog, std::uint64_t word) {
    for (const Tensor& t : catalog.tensors()) {
        if (word < t.first_word || word - t.first_word >= t.words) continue;
        const std::uint64_t at = word - t.first_word;
        return "tensor " + quoted_name(t.name) + ", row " + std::to_string(at / t.columns) +
               ", column " + std::to_string(at % t.columns);
    }
    return "no word";
}

/// Maps that hold every word: blocks and strides on both axes, copies, and local memory that is
/// compact, transposed, padded or interleaved.
class RandomMap {
public:
    RandomMap(const Catalog& catalog, std::uint32_t ranks, std::uint64_t seed)
        : catalog_(catalog), rng_(seed, 0x6D6170), ranks_(ranks), lanes_(ranks) {}

    std::vector<RankMap> make() {
        for (std::uint32_t id = 0; id < catalog_.tensors().size(); ++id) {
            const Tensor& t = catalog_.tensor(id);
            if (t.words == 0) continue;
            const std::vector<Progression> rows = cut(t.rows), columns = cut(t.columns);
            const bool copied = rng_.chance(200'000);
            for (const Progression& r : rows)
                for (const Progression& c : columns) hold(id, r, c, copied);
        }
        return ranks_;
    }

private:
    /// One axis in one, two blocks, or two to four strides.
    std::vector<Progression> cut(std::uint64_t extent) {
        if (extent == 1 || rng_.chance(300'000)) return {{0, extent, 1}};
        if (rng_.chance(400'000)) {
            const std::uint64_t at = 1 + rng_.below(extent - 1);
            return {{0, at, 1}, {at, extent - at, 1}};
        }
        std::vector<Progression> strides;
        const std::uint64_t step = 2 + rng_.below(3);
        for (std::uint64_t first = 0; first < std::min(step, extent); ++first)
            strides.push_back({first, (extent - first - 1) / step + 1, step});
        return strides;
    }

    void hold(std::uint32_t id, const Progression& rows, const Progression& columns, bool copied) {
        const std::uint64_t owner = rng_.below(ranks_.size());
        for (std::uint32_t r = 0; r < ranks_.size(); ++r)
            if (copied || r == owner || rng_.chance(100'000)) place(r, id, rows, columns);
    }

    void place(std::uint32_t rank,
               std::uint32_t id,
               const Progression& rows,
               const Progression& columns) {
        RankMap& map = ranks_[rank];
        Box box{id, rows.first, rows.count, rows.step, columns.first, columns.count, columns.step};
        std::optional<std::pair<std::uint64_t, std::uint64_t>>& lane = lanes_[rank];
        const std::uint64_t style = rng_.below(4);
        if (style == 3 && lane && lane->second >= box.words()) {  // odd words between another's
            box.local_first = lane->first + 1;
            box.local_col_stride = 2;
            box.local_row_stride = 2 * box.col_count;
            lane.reset();
        } else {
            box.local_first = map.local_words;
            box.local_row_stride = box.col_count;
            std::uint64_t used = box.words();
            if (style == 1) {
                box.local_row_stride = 1;
                box.local_col_stride = box.row_count;
            } else if (style == 2) {
                box.local_row_stride = box.col_count + 3;
                used = box.row_count * box.local_row_stride;
            } else if (style == 3) {
                box.local_col_stride = 2;
                box.local_row_stride = 2 * box.col_count;
                used = 2 * box.words();
                lane = {box.local_first, box.words()};
            }
            map.local_words += used;
        }
        map.boxes.push_back(box);
    }

    const Catalog& catalog_;
    Rng rng_;
    std::vector<RankMap> ranks_;
    std::vector<std::optional<std::pair<std::uint64_t, std::uint64_t>>> lanes_;
};

}  // namespace refit
