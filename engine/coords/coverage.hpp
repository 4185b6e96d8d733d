// Coverage: how many copies of every word of a tensor a set of boxes holds, without a walk over
// words.
//
// Method   The boxes' edges cut rows and columns into intervals; steps split each interval into
//          residue classes. Within one class of rows and one of columns all words have the same
//          number of copies, so a two-dimensional difference array counts them cell by cell.
// Errors   unsupported: more than kCoverageWorkMax cells times residues.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/coords/holders.hpp"

namespace refit {

inline constexpr std::uint64_t kCoverageWorkMax = std::uint64_t{1} << 25;

struct Copies {
    std::uint64_t min = 0;
    std::uint64_t max = 0;
    std::uint64_t first_min = 0;  // the first word, in canonical order, held `min` times
};

/// Counts over all words of a tensor that has some. Reuses its memory from call to call.
class CopyCounter {
public:
    Result<Copies> count(const Tensor& tensor, std::span<const Holder> holders);

private:
    /// One axis of a tensor, cut where a box begins or ends.
    struct Axis {
        std::vector<std::uint64_t> cuts;  // ascending, from 0 to the extent
        std::uint64_t modulus = 1;        // of all steps

        void start(std::uint64_t extent);
        void add(const Progression& progression);
        void finish();
        std::size_t intervals() const { return cuts.size() - 1; }
        std::size_t interval_at(std::uint64_t cut) const;
        std::optional<std::uint64_t> first_in(std::size_t interval, std::uint64_t residue) const;
    };

    void fill(std::span<const Holder> holders, std::uint64_t row_rest, std::uint64_t col_rest);
    void scan(const Tensor& tensor, std::uint64_t row_rest, std::uint64_t col_rest, Copies& copies);

    Axis rows_;
    Axis columns_;
    std::vector<std::int64_t> counts_;  // (row intervals + 1) x (column intervals + 1)
};

}  // namespace refit
