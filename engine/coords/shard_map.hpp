// ShardMap: which canonical words each rank holds, and where, as affine boxes fixed for a run.
//
// Model    A box takes rows row_first + i * row_step and columns col_first + j * col_step of one
//          canonical tensor to local_first + i * local_row_stride + j * local_col_stride.
//          A rank is a list of boxes over `local_words` of memory; words no box covers are
//          padding and stay untouched.
// Exact    prove() shows that no two boxes of a rank share a local word and that every canonical
//          word is held, and counts how often. A trainer map must hold each word exactly once.
// Limit    1..65,536 ranks, each with < 2^48 local words.
// Errors   invalid_input from make(): an empty box, one outside its tensor or memory, a zero step
//          or (over more than one row or column) a zero stride. unsupported from prove() and
//          compose() where boxes interleave in more ways than the exact check is ready to try.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/coords/catalog.hpp"
#include "engine/coords/grid.hpp"
#include "engine/coords/progression.hpp"

namespace refit {

struct Box {
    std::uint32_t tensor = 0;
    std::uint64_t row_first = 0;
    std::uint64_t row_count = 0;
    std::uint64_t row_step = 1;
    std::uint64_t col_first = 0;
    std::uint64_t col_count = 0;
    std::uint64_t col_step = 1;
    std::uint64_t local_first = 0;
    std::uint64_t local_row_stride = 0;
    std::uint64_t local_col_stride = 1;

    std::uint64_t words() const { return row_count * col_count; }
    Progression rows() const { return {row_first, row_count, row_step}; }
    Progression columns() const { return {col_first, col_count, col_step}; }
    friend bool operator==(const Box&, const Box&) = default;
};

/// The part of `box` with these rows and columns, which are subsets of the box's own.
Box restrict_box(const Box& box, const Progression& rows, const Progression& columns);

struct RankMap {
    std::vector<Box> boxes;  // make() sorts them by tensor, then row_first, then col_first
    std::uint64_t local_words = 0;
};

/// How often the canonical words are held. Copies are counted by word.
struct Coverage {
    std::uint64_t canonical_words = 0;
    std::uint64_t held_words = 0;     // over all ranks, copies counted
    std::uint64_t padding_words = 0;  // local words no box covers
    std::uint64_t boxes = 0;
    std::uint64_t copies_min = 0;  // over canonical words
    std::uint64_t copies_max = 0;
};

/// An affine transfer: the words two ranks have in common, as one box on each side.
struct Transfer {
    std::uint32_t source_rank;
    std::uint32_t target_rank;
    Box source;  // same canonical rows and columns ...
    Box target;  // ... at two local places
};

class ShardMap {
public:
    static Result<ShardMap> make(const Catalog& catalog,
                                 std::string layout,
                                 std::vector<RankMap> ranks);

    const std::string& layout() const { return layout_; }
    std::span<const RankMap> ranks() const { return ranks_; }

    /// The tile's words that `rank` holds, ready for a Device; empty if it holds none. Each box
    /// is cut to its piece: every word a placement names lies in the tile.
    std::vector<Placement> placements(const Catalog& catalog,
                                      const Tile& tile,
                                      std::uint32_t rank) const;

    /// Everything `rank` holds, ready for Device::digest.
    std::vector<Placement> all_placements(const Catalog& catalog, std::uint32_t rank) const;

    /// Proves disjoint local words and full coverage; the error names the first word that is
    /// missing, or a local word with two owners. Exact arithmetic on boxes, not a walk over words.
    Result<Coverage> prove(const Catalog& catalog) const;

private:
    std::string layout_;
    std::vector<RankMap> ranks_;
};

/// The affine transfers that fill every word of every target rank from one source rank each
/// (the lowest that holds it). Error if a target word has no source or two words share a place.
Result<std::vector<Transfer>> compose(const Catalog& catalog,
                                      const ShardMap& source,
                                      const ShardMap& target);

}  // namespace refit
