// The reference device. Every operation visits every word, as the contract in device.hpp reads;
// the vector device must give the same bits.
#include <algorithm>
#include <vector>

#include "kernels/cpu/checks.hpp"
#include "kernels/cpu/cpu_device.hpp"
#include "kernels/digest_key.hpp"

namespace refit {

namespace {

struct Held {
    std::uint64_t row;
    std::uint64_t column;
    std::uint64_t tile;
    std::uint64_t local;
};

/// Calls visit(Held) for every word of the tile piece that the rank holds.
template <class Visit>
void for_each_held(const Placement& p, const Visit& visit) {
    check_placement(p);
    for (std::uint64_t i = 0; i < p.row_count; ++i) {
        for (std::uint64_t j = 0; j < p.col_count; ++j) {
            const std::uint64_t row = p.row_first + i * p.row_step;
            const std::uint64_t column = p.col_first + j * p.col_step;
            const std::uint64_t canonical = row * p.columns + column;
            if (canonical < p.tensor_first || canonical >= p.tensor_first + p.tile_words) continue;
            visit(Held{row, column, p.tile_first + (canonical - p.tensor_first),
                       p.local_first + i * p.local_row_stride + j * p.local_col_stride});
        }
    }
}

std::uint64_t word_key(const Placement& p, const Held& held, std::uint64_t salt) {
    return digest_key(salt, p.tensor, DigestAxis::row, held.row) *
           digest_key(salt, p.tensor, DigestAxis::column, held.column);
}

/// A staging list as one entry per tile word.
struct StagedTile {
    std::vector<bool> stored;
    std::vector<std::uint16_t> words;

    explicit StagedTile(const Changes& changes) {
        check_changes(changes);
        std::size_t position = 0;
        std::size_t word = 0;
        for (const SegmentChanges& s : changes.segments) {
            const std::uint64_t start = std::uint64_t{s.segment} * kSegmentWords;
            stored.resize(start + kSegmentWords);
            words.resize(start + kSegmentWords);
            for (std::size_t k = 0; k < s.stored; ++k) {
                const std::size_t at = s.dense ? k : changes.positions[position++];
                stored[start + at] = true;
                words[start + at] = changes.words[word++];
            }
        }
    }

    bool has(std::uint64_t tile) const { return tile < stored.size() && stored[tile]; }
};

class PlainDevice final : public PooledDevice {
public:
    explicit PlainDevice(unsigned threads) : PooledDevice(threads, "scalar", xc_plain_ops()) {}

    void diff(std::span<const std::uint16_t> base,
              std::span<const std::uint16_t> next,
              Changes& out) override {
        REFIT_KERNEL_CHECK(base.size() == next.size());
        out.clear();
        for (std::uint64_t start = 0; start < base.size(); start += kSegmentWords) {
            const std::uint64_t end = std::min<std::uint64_t>(start + kSegmentWords, base.size());
            std::vector<std::uint64_t> differing;
            for (std::uint64_t i = start; i < end; ++i)
                if (base[i] != next[i]) differing.push_back(i);
            if (differing.empty()) continue;
            const bool dense = differing.size() > kSparseMax;
            const std::uint64_t stored = dense ? end - start : differing.size();
            out.segments.push_back({static_cast<std::uint32_t>(start / kSegmentWords),
                                    static_cast<std::uint16_t>(differing.size()),
                                    static_cast<std::uint16_t>(stored), dense});
            if (dense) {
                for (std::uint64_t i = start; i < end; ++i) out.words.push_back(next[i]);
                continue;
            }
            for (const std::uint64_t i : differing) {
                out.positions.push_back(static_cast<std::uint16_t>(i - start));
                out.words.push_back(next[i]);
            }
        }
    }

    void stage(std::span<const std::uint16_t> base,
               std::span<const std::uint32_t> index,
               std::span<const std::uint16_t> mask,
               Changes& out) override {
        REFIT_KERNEL_CHECK(index.size() == mask.size());
        std::vector<std::uint16_t> next(base.begin(), base.end());
        for (std::size_t k = 0; k < index.size(); ++k) {
            REFIT_KERNEL_CHECK(index[k] < base.size() && mask[k] != 0);
            REFIT_KERNEL_CHECK(k == 0 || index[k - 1] < index[k]);
            next[index[k]] = static_cast<std::uint16_t>(next[index[k]] ^ mask[k]);
        }
        diff(base, next, out);
    }

    void overwrite(std::span<std::uint16_t> weights,
                   const Changes& changes,
                   std::span<const Placement> placements) override {
        const StagedTile staged(changes);
        for (const Placement& p : placements) {
            for_each_held(p, [&](const Held& held) {
                if (!staged.has(held.tile)) return;
                REFIT_KERNEL_CHECK(held.local < weights.size());
                weights[held.local] = staged.words[held.tile];
            });
        }
    }

    void gather(std::span<const std::uint16_t> weights,
                std::span<const Placement> placements,
                std::span<std::uint16_t> tile) override {
        for (const Placement& p : placements) {
            for_each_held(p, [&](const Held& held) {
                REFIT_KERNEL_CHECK(held.local < weights.size() && held.tile < tile.size());
                tile[held.tile] = weights[held.local];
            });
        }
    }

    void scatter(std::span<const std::uint16_t> tile,
                 std::span<const Placement> placements,
                 std::span<std::uint16_t> weights) override {
        for (const Placement& p : placements) {
            for_each_held(p, [&](const Held& held) {
                REFIT_KERNEL_CHECK(held.local < weights.size() && held.tile < tile.size());
                weights[held.local] = tile[held.tile];
            });
        }
    }

    std::uint64_t digest(std::span<const std::uint16_t> weights,
                         std::span<const Placement> placements,
                         std::uint64_t salt) override {
        std::uint64_t digest = 0;
        for (const Placement& p : placements) {
            for_each_held(p, [&](const Held& held) {
                REFIT_KERNEL_CHECK(held.local < weights.size());
                digest += word_key(p, held, salt) * weights[held.local];
            });
        }
        return digest;
    }

    TileDigests diff_and_digest(std::span<const std::uint16_t> base,
                                std::span<const std::uint16_t> next,
                                std::span<const Placement> placements,
                                std::uint64_t salt,
                                Changes& out) override {
        diff(base, next, out);
        return {digest(base, placements, salt), digest(next, placements, salt)};
    }

    std::uint64_t digest_change(std::span<const std::uint16_t> base,
                                const Changes& changes,
                                std::span<const Placement> placements,
                                std::uint64_t salt) override {
        const StagedTile staged(changes);
        std::uint64_t change = 0;
        for (const Placement& p : placements) {
            for_each_held(p, [&](const Held& held) {
                if (!staged.has(held.tile)) return;
                REFIT_KERNEL_CHECK(held.tile < base.size());
                const std::uint64_t next = staged.words[held.tile];
                change += word_key(p, held, salt) * (next - base[held.tile]);
            });
        }
        return change;
    }
};

}  // namespace

std::unique_ptr<Device> make_plain_device(unsigned threads) {
    return std::make_unique<PlainDevice>(threads);
}

}  // namespace refit
