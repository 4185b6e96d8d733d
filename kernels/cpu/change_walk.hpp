// Walks the staged words that a placement holds, in tile order, in O(changed).
//
// Model    A segment's positions and words start at ChangeStarts; a placement meets the tile range
//          [first, last), so only segments in that range are looked at. A row number costs one
//          division per row entered, a held column one compare (a division if columns step).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/changes.hpp"
#include "kernels/cpu/checks.hpp"
#include "kernels/cpu/rows.hpp"

namespace refit {

/// Where each segment's entries begin. The constructor checks the list.
class ChangeStarts {
public:
    explicit ChangeStarts(const Changes& changes);

    std::uint64_t position(std::size_t k) const { return starts_[k].position; }
    std::uint64_t word(std::size_t k) const { return starts_[k].word; }

private:
    struct Start {
        std::uint64_t position;
        std::uint64_t word;
    };
    std::vector<Start> starts_;
};

inline ChangeStarts::ChangeStarts(const Changes& changes) {
    check_changes(changes);
    starts_.reserve(changes.segments.size());
    Start next{0, 0};
    for (const SegmentChanges& s : changes.segments) {
        starts_.push_back(next);
        next.position += s.dense ? 0 : s.stored;
        next.word += s.stored;
    }
}

/// The part of the tile that can hold words of the placement: [first, last), maybe empty.
struct TileRange {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
};

inline TileRange tile_range(const Placement& p) {
    const PlacementRows rows(p);
    if (rows.begin() == rows.end()) return {};
    const std::uint64_t first_row = p.row_first + rows.begin() * p.row_step;
    const std::uint64_t last_row = p.row_first + (rows.end() - 1) * p.row_step;
    const std::uint64_t held = (p.col_count - 1) * p.col_step + 1;
    const std::uint64_t low = std::max(p.tensor_first, first_row * p.columns + p.col_first);
    const std::uint64_t high =
        std::min(p.tensor_first + p.tile_words, last_row * p.columns + p.col_first + held);
    if (low >= high) return {};
    return {p.tile_first + (low - p.tensor_first), p.tile_first + (high - p.tensor_first)};
}

/// Finds the held words of a placement; quick when asked in ascending order.
class PlacementCursor {
public:
    PlacementCursor(const Placement& p, const TileRange& range) : p_(p) {
        enter_row_of(canonical(range.first));
    }

    /// False when the placement does not hold the tile word; else row(), column(), local() are its.
    bool find(std::uint64_t tile) {
        const std::uint64_t word = canonical(tile);
        if (word - row_start_ >= p_.columns) enter_row_of(word);
        if (!row_held_) return false;
        column_ = word - row_start_;
        // A column before the box wraps round, and no step brings it back below col_count.
        std::uint64_t index = column_ - p_.col_first;
        if (p_.col_step != 1) {
            if (index % p_.col_step != 0) return false;
            index /= p_.col_step;
        }
        local_ = row_local_ + index * p_.local_col_stride;
        return index < p_.col_count;
    }

    std::uint64_t row() const { return row_; }
    std::uint64_t column() const { return column_; }
    std::uint64_t local() const { return local_; }

private:
    std::uint64_t canonical(std::uint64_t tile) const {
        return tile - p_.tile_first + p_.tensor_first;
    }

    void enter_row_of(std::uint64_t word) {
        row_ = word / p_.columns;
        row_start_ = row_ * p_.columns;
        const std::uint64_t distance = row_ - p_.row_first;
        const std::uint64_t index = distance / p_.row_step;
        row_held_ = row_ >= p_.row_first && distance % p_.row_step == 0 && index < p_.row_count;
        row_local_ = p_.local_first + index * p_.local_row_stride;
    }

    const Placement& p_;
    std::uint64_t row_ = 0;
    std::uint64_t row_start_ = 0;
    std::uint64_t row_local_ = 0;
    std::uint64_t column_ = 0;
    std::uint64_t local_ = 0;
    bool row_held_ = false;
};

/// The stored words of one segment that lie in a tile range.
struct SegmentSlice {
    std::uint64_t tile;                        // index of the segment's first word
    std::span<const std::uint16_t> positions;  // empty when dense
    std::span<const std::uint16_t> words;      // one per position; dense: contiguous from dense_at
    std::uint64_t dense_at;                    // tile index of words[0]
    bool dense;
};

inline SegmentSlice slice_of(const Changes& changes,
                             const ChangeStarts& starts,
                             std::size_t k,
                             const TileRange& range) {
    const SegmentChanges& s = changes.segments[k];
    const std::uint64_t tile = std::uint64_t{s.segment} * kSegmentWords;
    const std::uint64_t low = range.first > tile ? range.first - tile : 0;
    const std::uint64_t high = std::min<std::uint64_t>(range.last - tile, kSegmentWords);
    const auto words = std::span(changes.words).subspan(starts.word(k), s.stored);
    if (s.dense) {
        const std::uint64_t end = std::min<std::uint64_t>(high, s.stored);
        const std::uint64_t begin = std::min(low, end);
        return {tile, {}, words.subspan(begin, end - begin), tile + begin, true};
    }
    const auto positions = std::span(changes.positions).subspan(starts.position(k), s.stored);
    const auto begin = std::lower_bound(positions.begin(), positions.end(), low);
    const auto end = std::lower_bound(begin, positions.end(), high);
    const auto skipped = static_cast<std::size_t>(begin - positions.begin());
    const auto count = static_cast<std::size_t>(end - begin);
    return {tile, positions.subspan(skipped, count), words.subspan(skipped, count), tile, false};
}

/// Calls visit(SegmentSlice) for every changed segment that meets the range.
template <class Visit>
void for_each_slice(const Changes& changes,
                    const ChangeStarts& starts,
                    const TileRange& range,
                    const Visit& visit) {
    const auto before = [](const SegmentChanges& s, std::uint64_t segment) {
        return s.segment < segment;
    };
    const auto first = std::lower_bound(changes.segments.begin(), changes.segments.end(),
                                        range.first / kSegmentWords, before);
    auto k = static_cast<std::size_t>(first - changes.segments.begin());
    for (; k < changes.segments.size(); ++k) {
        if (std::uint64_t{changes.segments[k].segment} * kSegmentWords >= range.last) return;
        visit(slice_of(changes, starts, k, range));
    }
}

}  // namespace refit
