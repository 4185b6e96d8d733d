// Digests what one placement holds, in one memory or in two of one layout, part after part.
//
// Model    The piece is cut into parts that stay in the second cache level, where the caller may
//          have brought a part. In a part, a block of columns is taken through all rows before the
//          next one, so that its keys stay in the first. Keys are computed once, those of
//          very wide rows window by window.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/cpu/checks.hpp"
#include "kernels/cpu/column_keys.hpp"
#include "kernels/cpu/rows.hpp"
#include "kernels/cpu/simd.hpp"
#include "kernels/digest_key.hpp"

namespace refit {

class DigestWalk {
public:
    /// What is read: one memory, or two of equal size.
    struct Reading {
        std::span<const std::uint16_t> base;
        std::span<const std::uint16_t> next;  // maybe empty
    };

    DigestWalk(const SimdOps& ops, const Reading& reading, const Placement& p, std::uint64_t salt)
        : ops_(ops),
          reading_(reading),
          p_(p),
          row_prefix_(digest_key_prefix(salt, p.tensor, DigestAxis::row)),
          column_prefix_(digest_key_prefix(salt, p.tensor, DigestAxis::column)),
          window_columns_(p.tile_words > p.columns ? kWindowColumns : kLoneRowColumns),
          keys_(std::min(p.col_count, window_columns_)) {
        check_placement(p);
    }

    /// Parts go through the piece in tile order; the next one ends before tile word part_end().
    bool done() const { return added_ == p_.tile_words; }
    std::uint64_t part_end() const {
        return p_.tile_first + added_ + std::min(kPartWords, p_.tile_words - added_);
    }
    void add_part();

    const TileDigests& digests() const { return digests_; }

private:
    static constexpr std::uint64_t kPartWords = std::uint64_t{16} << 10;
    // Ten bytes a key: 5 MiB at most, and little for keys that no second row will use.
    static constexpr std::uint64_t kWindowColumns = std::uint64_t{512} << 10;
    static constexpr std::uint64_t kLoneRowColumns = std::uint64_t{16} << 10;
    static constexpr std::uint64_t kBlockColumns = std::uint64_t{2} << 10;
    static_assert(kBlockColumns % kGroupColumns == 0);
    static_assert(kLoneRowColumns % kBlockColumns == 0 && kWindowColumns % kBlockColumns == 0);

    struct Columns {
        std::uint64_t first;
        std::uint64_t last;
    };

    void fill_window(std::uint64_t first);
    void add_block(const PlacementRows& rows, Columns columns);
    void add_run(const RowRun& run, Columns columns);
    void add_stepped(std::uint64_t row_key, const KeyRun& keys, std::uint64_t local);

    const SimdOps& ops_;
    Reading reading_;
    const Placement& p_;
    std::uint64_t row_prefix_;
    std::uint64_t column_prefix_;
    std::uint64_t window_columns_;
    ColumnKeys keys_;
    std::uint64_t added_ = 0;         // words of the piece
    std::uint64_t window_first_ = 0;  // held columns
    bool window_filled_ = false;
    TileDigests digests_;
};

inline void DigestWalk::add_part() {
    Placement part = p_;
    part.tensor_first += added_;
    part.tile_first += added_;
    part.tile_words = part_end() - part.tile_first;
    added_ += part.tile_words;
    const PlacementRows rows(part);
    if (rows.begin() == rows.end()) return;
    // Of a single row, only a part of the columns may be there.
    const bool one_row = rows.end() - rows.begin() == 1;
    const RowRun run = rows.run(rows.begin());
    const std::uint64_t begin = one_row ? run.column_index : 0;
    const std::uint64_t end = one_row ? run.column_index + run.count : p_.col_count;
    for (std::uint64_t at = begin; at < end;) {
        const std::uint64_t block_end = std::min(at - at % kBlockColumns + kBlockColumns, end);
        fill_window(at - at % window_columns_);
        add_block(rows, {at, block_end});
        at = block_end;
    }
}

inline void DigestWalk::fill_window(std::uint64_t first) {
    if (window_filled_ && window_first_ == first) return;
    window_filled_ = true;
    window_first_ = first;
    const std::uint64_t columns = std::min(p_.col_count - first, window_columns_);
    ops_.fill_keys({column_prefix_, p_.col_first + first * p_.col_step, p_.col_step,
                    (columns + kGroupColumns - 1) / kGroupColumns},
                   keys_);
}

inline void DigestWalk::add_block(const PlacementRows& rows, Columns columns) {
    for (std::uint64_t i = rows.begin(); i < rows.end(); ++i) {
        const RowRun run = rows.run(i);
        const std::uint64_t first = std::max(columns.first, run.column_index);
        const std::uint64_t last = std::min(columns.last, run.column_index + run.count);
        if (first < last) add_run(run, {first, last});
    }
}

inline void DigestWalk::add_run(const RowRun& run, Columns columns) {
    const std::uint64_t count = columns.last - columns.first;
    const std::uint64_t step = p_.local_col_stride;
    const std::uint64_t local = run.local + (columns.first - run.column_index) * step;
    const auto& [base, next] = reading_;
    REFIT_KERNEL_CHECK(addresses_inside(local, count, step, base.size()));
    const KeyRun keys{keys_, columns.first - window_first_, count};
    const std::uint64_t row_key = digest_key_at(row_prefix_, run.row);
    if (step != 1) {
        add_stepped(row_key, keys, local);
    } else if (next.empty()) {
        digests_.base += row_key * ops_.dot(keys, &base[local], kPartWords);
    } else {
        // What lies a part ahead is on its way to the cache meanwhile.
        const TileDigests dots = ops_.dot_pair(keys, &base[local], &next[local], kPartWords);
        digests_.base += row_key * dots.base;
        digests_.next += row_key * dots.next;
    }
}

/// Words that do not lie side by side are put so first.
inline void DigestWalk::add_stepped(std::uint64_t row_key,
                                    const KeyRun& keys,
                                    std::uint64_t local) {
    const auto dot_of = [&](std::span<const std::uint16_t> memory) {
        std::uint16_t words[kBlockColumns];
        for (std::uint64_t k = 0; k < keys.count; ++k)
            words[k] = memory[local + k * p_.local_col_stride];
        return ops_.dot(keys, words, 0);
    };
    digests_.base += row_key * dot_of(reading_.base);
    if (!reading_.next.empty()) digests_.next += row_key * dot_of(reading_.next);
}

}  // namespace refit
