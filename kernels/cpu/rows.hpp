// The words of a placement as runs of rows: where each run lies in the tile and in rank memory.
//
// Model    A box row that meets the tile piece is one run: `count` words that step by col_step in
//          the tile and by local_col_stride in memory. Only the first and the last row of a piece
//          can be cut short.
// Limit    local_first may stand for a negative offset (mod 2^64); what counts is that the
//          addresses of the held words are inside the memory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/checks.hpp"
#include "kernels/placement.hpp"

namespace refit {

struct RowRun {
    std::uint64_t row;           // canonical
    std::uint64_t column_index;  // of the first word, counted in held columns
    std::uint64_t count;         // 0: the piece has none of this row's held columns
    std::uint64_t tile;          // index of the first word
    std::uint64_t local;         // likewise
};

inline std::uint64_t steps_up_to(std::uint64_t distance, std::uint64_t step) {
    return step == 1 ? distance : (distance + step - 1) / step;
}

class PlacementRows {
public:
    explicit PlacementRows(const Placement& p) : p_(p) {
        check_placement(p);
        if (p.tile_words == 0 || p.col_count == 0) return;
        const std::uint64_t row_low = p.tensor_first / p.columns;
        const std::uint64_t row_end = (p.tensor_first + p.tile_words - 1) / p.columns + 1;
        begin_ = std::min(index_from(row_low), p.row_count);
        end_ = std::min(index_from(row_end), p.row_count);
    }

    // Box rows that meet the piece: indices [begin, end).
    std::uint64_t begin() const { return begin_; }
    std::uint64_t end() const { return end_; }

    RowRun run(std::uint64_t index) const {
        const std::uint64_t row = p_.row_first + index * p_.row_step;
        const std::uint64_t row_start = row * p_.columns;
        const std::uint64_t piece_end = p_.tensor_first + p_.tile_words;
        const std::uint64_t low = p_.tensor_first > row_start ? p_.tensor_first - row_start : 0;
        const std::uint64_t high = std::min(piece_end - row_start, p_.columns);
        const std::uint64_t first = column_from(low);
        const std::uint64_t last = std::min(column_from(high), p_.col_count);
        RowRun run{};
        run.row = row;
        run.column_index = first;
        run.count = last > first ? last - first : 0;
        run.tile =
            p_.tile_first + (row_start + p_.col_first + first * p_.col_step) - p_.tensor_first;
        run.local = p_.local_first + index * p_.local_row_stride + first * p_.local_col_stride;
        return run;
    }

private:
    /// The first held row, by index, that is not above `row`; likewise for columns.
    std::uint64_t index_from(std::uint64_t row) const {
        return row > p_.row_first ? steps_up_to(row - p_.row_first, p_.row_step) : 0;
    }
    std::uint64_t column_from(std::uint64_t column) const {
        return column > p_.col_first ? steps_up_to(column - p_.col_first, p_.col_step) : 0;
    }

    const Placement& p_;
    std::uint64_t begin_ = 0;
    std::uint64_t end_ = 0;
};

/// The same words as one long row when whole rows lie behind one another in both places: a copy is
/// then one run, and a staged word needs no division. Rows lose their numbers, so not for digests.
inline Placement flattened(const Placement& p) {
    const bool whole_rows = p.col_first == 0 && p.col_count == p.columns && p.col_step == 1;
    const bool adjacent = p.row_step == 1 && p.local_col_stride == 1 &&
                          (p.local_row_stride == p.columns || p.row_count == 1);
    if (!whole_rows || !adjacent) return p;
    Placement flat = p;
    flat.columns = std::uint64_t{1} << 63;
    flat.col_first = p.row_first * p.columns;
    flat.col_count = p.row_count * p.columns;
    flat.row_first = 0;
    flat.row_count = 1;
    return flat;
}

}  // namespace refit
