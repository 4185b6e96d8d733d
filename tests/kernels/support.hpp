// What the kernel tests share: seeded words and steps, every dispatch level, random shardings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/changes.hpp"
#include "kernels/device.hpp"
#include "kernels/placement.hpp"

namespace refit {

using WordVector = std::vector<std::uint16_t>;

/// SplitMix64. Ours, because std:: distributions may differ between standard libraries.
struct TestRng {
    std::uint64_t state;

    std::uint64_t next() {
        std::uint64_t z = (state += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
    std::uint64_t below(std::uint64_t limit) { return next() % limit; }
    std::uint16_t word() { return static_cast<std::uint16_t>(next()); }
    std::uint16_t mask() { return static_cast<std::uint16_t>(1 + below(0xFFFF)); }
};

inline WordVector random_words(TestRng& rng, std::size_t n) {
    WordVector words(n);
    for (std::uint16_t& word : words) word = rng.word();
    return words;
}

/// `base` with each word changed with probability per_mille / 1000.
inline WordVector random_next(TestRng& rng, const WordVector& base, std::uint64_t per_mille) {
    WordVector next = base;
    for (std::uint16_t& word : next)
        if (rng.below(1000) < per_mille) word = static_cast<std::uint16_t>(word ^ rng.mask());
    return next;
}

template <class T>
void shuffle(TestRng& rng, std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[rng.below(i)]);
}

/// One single-threaded device per dispatch level; the plain reference is the last.
inline std::vector<std::unique_ptr<Device>> every_device() {
    std::vector<std::unique_ptr<Device>> devices;
    for (const std::string& level : cpu_device_levels())
        devices.push_back(make_cpu_device(1, level));
    return devices;
}

/// What diff() must give, written from changes.hpp alone.
inline Changes expected_changes(const WordVector& base, const WordVector& next) {
    Changes changes;
    for (std::size_t start = 0; start < base.size(); start += 4096) {
        const std::size_t n = std::min<std::size_t>(4096, base.size() - start);
        WordVector positions;
        for (std::size_t k = 0; k < n; ++k)
            if (base[start + k] != next[start + k])
                positions.push_back(static_cast<std::uint16_t>(k));
        if (positions.empty()) continue;
        const bool dense = positions.size() > 2048;
        const std::size_t stored = dense ? n : positions.size();
        changes.segments.push_back({static_cast<std::uint32_t>(start / 4096),
                                    static_cast<std::uint16_t>(positions.size()),
                                    static_cast<std::uint16_t>(stored), dense});
        for (std::size_t k = 0; k < stored; ++k)
            changes.words.push_back(next[start + (dense ? k : positions[k])]);
        if (!dense)
            changes.positions.insert(changes.positions.end(), positions.begin(), positions.end());
    }
    return changes;
}

/// The placement of a tile that is one whole tensor, held as it is.
inline Placement whole_tensor(std::uint64_t rows, std::uint64_t columns) {
    Placement p;
    p.tile_words = rows * columns;
    p.columns = columns;
    p.row_count = rows;
    p.col_count = columns;
    p.local_row_stride = columns;
    return p;
}

/// Some indices first + k * step.
struct Axis {
    std::uint64_t first;
    std::uint64_t count;
    std::uint64_t step;
};

/// Cuts [0, length) into disjoint axes that together hold every index once.
inline std::vector<Axis> random_cut(TestRng& rng, std::uint64_t length) {
    std::vector<Axis> axes;
    for (std::uint64_t start = 0; start < length;) {
        const std::uint64_t part = 1 + rng.below(length - start);
        const std::uint64_t step = rng.below(2) == 0 ? 1 : 1 + rng.below(std::min(part, 4ul));
        for (std::uint64_t k = 0; k < step; ++k)
            axes.push_back({start + k, (part - k + step - 1) / step, step});
        start += part;
    }
    return axes;
}

/// A tensor with a tile that is one piece of it, sharded into disjoint boxes of one memory.
struct Sharding {
    std::uint64_t tile_words = 0;   // more than the piece: the rest is another tensor's
    std::uint64_t local_words = 0;  // more than the boxes: the rest is padding
    std::vector<Placement> placements;
};

struct Piece {
    std::uint64_t tile_first = 0;
    std::uint64_t tensor_first = 0;
    std::uint64_t words = 0;
};

inline Placement random_box(TestRng& rng, const Axis& rows, const Axis& cols, std::uint64_t& end) {
    Placement p;
    p.row_first = rows.first;
    p.row_count = rows.count;
    p.row_step = rows.step;
    p.col_first = cols.first;
    p.col_count = cols.count;
    p.col_step = cols.step;
    const std::uint64_t stride = rng.below(2) == 0 ? 1 : 1 + rng.below(3);
    const std::uint64_t slack = rng.below(2) == 0 ? 0 : rng.below(5);
    if (rng.below(4) == 0) {  // transposed in memory
        p.local_row_stride = stride;
        p.local_col_stride = rows.count * stride + slack;
    } else {
        p.local_row_stride = cols.count * stride + slack;
        p.local_col_stride = stride;
    }
    p.local_first = end + rng.below(4);
    end = p.local_first + (rows.count - 1) * p.local_row_stride +
          (cols.count - 1) * p.local_col_stride + 1;
    return p;
}

/// Every word of the piece is held exactly once.
inline Sharding random_sharding(TestRng& rng,
                                std::uint64_t rows,
                                std::uint64_t columns,
                                const Piece& piece) {
    Sharding sharding;
    for (const Axis& row_axis : random_cut(rng, rows)) {
        for (const Axis& col_axis : random_cut(rng, columns)) {
            Placement p = random_box(rng, row_axis, col_axis, sharding.local_words);
            p.tile_first = piece.tile_first;
            p.tile_words = piece.words;
            p.tensor_first = piece.tensor_first;
            p.columns = columns;
            p.tensor = 7;
            sharding.placements.push_back(p);
        }
    }
    shuffle(rng, sharding.placements);
    sharding.tile_words = piece.tile_first + piece.words + rng.below(9);
    sharding.local_words += rng.below(9);
    return sharding;
}

/// Now and then the whole tensor, else a run that may start and end in mid-row.
inline Piece random_piece(TestRng& rng, std::uint64_t words) {
    if (rng.below(4) == 0) return {rng.below(9), 0, words};
    const std::uint64_t first = rng.below(words);
    return {rng.below(9), first, 1 + rng.below(words - first)};
}

/// A seeded case of moderate size: tensors from one word to a few segments, tall and wide.
inline Sharding random_case(TestRng& rng) {
    const std::uint64_t shape = rng.below(4);
    const std::uint64_t rows = 1 + rng.below(shape == 0 ? 2 : shape == 1 ? 600 : 40);
    const std::uint64_t columns = 1 + rng.below(shape == 0 ? 9000 : shape == 1 ? 7 : 300);
    return random_sharding(rng, rows, columns, random_piece(rng, rows * columns));
}

}  // namespace refit
