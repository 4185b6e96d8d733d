#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kernels/cpu/change_walk.hpp"
#include "kernels/cpu/checks.hpp"
#include "kernels/cpu/cpu_device.hpp"
#include "kernels/cpu/diff_walk.hpp"
#include "kernels/cpu/digest_walk.hpp"
#include "kernels/cpu/prefetch.hpp"
#include "kernels/cpu/rows.hpp"
#include "kernels/digest_key.hpp"

namespace refit {

namespace {

constexpr std::uint64_t kTileWordsLimit = std::uint64_t{1} << 32;  // segments are 32-bit numbers

/// What both directions of a copy between tile and rank memory walk over.
template <class CopyRun>
void for_each_run(const Placement& placement,
                  std::uint64_t tile_words,
                  std::uint64_t local_words,
                  const CopyRun& copy_run) {
    const Placement p = flattened(placement);
    const PlacementRows rows(p);
    for (std::uint64_t i = rows.begin(); i < rows.end(); ++i) {
        const RowRun run = rows.run(i);
        if (run.count == 0) continue;
        REFIT_KERNEL_CHECK(addresses_inside(run.tile, run.count, p.col_step, tile_words));
        REFIT_KERNEL_CHECK(addresses_inside(run.local, run.count, p.local_col_stride, local_words));
        copy_run(p, run);
    }
}

void copy_words(std::uint16_t* out,
                std::uint64_t out_step,
                const std::uint16_t* in,
                std::uint64_t in_step,
                std::uint64_t count) {
    if (out_step == 1 && in_step == 1) {
        std::memcpy(out, in, count * sizeof(std::uint16_t));
        return;
    }
    for (std::uint64_t k = 0; k < count; ++k) out[k * out_step] = in[k * in_step];
}

void scatter_placement(std::span<const std::uint16_t> tile,
                       const Placement& placement,
                       std::span<std::uint16_t> weights) {
    for_each_run(placement, tile.size(), weights.size(), [&](const Placement& p, const RowRun& r) {
        copy_words(&weights[r.local], p.local_col_stride, &tile[r.tile], p.col_step, r.count);
    });
}

/// The placement of the tile words [first, first + count) alone, tile indices counted from first.
Placement clipped(const Placement& p, std::uint64_t first, std::uint64_t count) {
    Placement part = p;
    part.tensor_first += first - p.tile_first;
    part.tile_words = count;
    part.tile_first = 0;
    return part;
}

void overwrite_placement(std::span<std::uint16_t> weights,
                         const Changes& changes,
                         const ChangeStarts& starts,
                         const Placement& placement) {
    const Placement p = flattened(placement);
    const TileRange range = tile_range(p);
    if (range.first == range.last) return;
    PlacementCursor cursor(p, range);
    for_each_slice(changes, starts, range, [&](const SegmentSlice& slice) {
        if (slice.dense) {
            const std::uint64_t count = slice.words.size();
            if (count > 0)
                scatter_placement(slice.words, clipped(p, slice.dense_at, count), weights);
            return;
        }
        for (std::size_t k = 0; k < slice.positions.size(); ++k) {
            if (!cursor.find(slice.tile + slice.positions[k])) continue;
            REFIT_KERNEL_CHECK(cursor.local() < weights.size());
            weights[cursor.local()] = slice.words[k];
        }
    });
}

/// Sum of R * C * (next - base) over the staged words of one placement, a row at a time.
class DigestChange {
public:
    DigestChange(std::span<const std::uint16_t> base, const Placement& p, std::uint64_t salt)
        : base_(base),
          row_prefix_(digest_key_prefix(salt, p.tensor, DigestAxis::row)),
          column_prefix_(digest_key_prefix(salt, p.tensor, DigestAxis::column)),
          range_(tile_range(p)),
          cursor_(p, range_) {
        REFIT_KERNEL_CHECK(range_.last <= base.size());
    }

    std::uint64_t over(const Changes& changes, const ChangeStarts& starts) {
        for_each_slice(changes, starts, range_, [&](const SegmentSlice& slice) {
            for (std::size_t k = 0; k < slice.words.size(); ++k)
                add(slice.dense ? slice.dense_at + k : slice.tile + slice.positions[k],
                    slice.words[k]);
        });
        return total_ + row_sum_ * row_key_;
    }

private:
    void add(std::uint64_t tile, std::uint16_t word) {
        fetch_ahead(&base_[tile]);
        const std::uint64_t difference = std::uint64_t{word} - base_[tile];
        if (difference == 0 || !cursor_.find(tile)) return;
        if (row_key_ == 0 || cursor_.row() != row_) {
            total_ += row_sum_ * row_key_;
            row_sum_ = 0;
            row_ = cursor_.row();
            row_key_ = digest_key_at(row_prefix_, row_);
        }
        row_sum_ += digest_key_at(column_prefix_, cursor_.column()) * difference;
    }

    std::span<const std::uint16_t> base_;
    std::uint64_t row_prefix_;
    std::uint64_t column_prefix_;
    TileRange range_;
    PlacementCursor cursor_;
    std::uint64_t row_ = 0;
    std::uint64_t row_key_ = 0;  // keys are odd: 0 means no row yet
    std::uint64_t row_sum_ = 0;
    std::uint64_t total_ = 0;
};

class VectorDevice final : public PooledDevice {
public:
    VectorDevice(unsigned threads, const SimdLevel& level)
        : PooledDevice(threads, level.name, level.xc), ops_(level.ops) {}

    void diff(std::span<const std::uint16_t> base,
              std::span<const std::uint16_t> next,
              Changes& out) override;
    void stage(std::span<const std::uint16_t> base,
               std::span<const std::uint32_t> index,
               std::span<const std::uint16_t> mask,
               Changes& out) override;
    void overwrite(std::span<std::uint16_t> weights,
                   const Changes& changes,
                   std::span<const Placement> placements) override;
    void gather(std::span<const std::uint16_t> weights,
                std::span<const Placement> placements,
                std::span<std::uint16_t> tile) override;
    void scatter(std::span<const std::uint16_t> tile,
                 std::span<const Placement> placements,
                 std::span<std::uint16_t> weights) override;
    std::uint64_t digest(std::span<const std::uint16_t> weights,
                         std::span<const Placement> placements,
                         std::uint64_t salt) override;
    TileDigests diff_and_digest(std::span<const std::uint16_t> base,
                                std::span<const std::uint16_t> next,
                                std::span<const Placement> placements,
                                std::uint64_t salt,
                                Changes& out) override;
    std::uint64_t digest_change(std::span<const std::uint16_t> base,
                                const Changes& changes,
                                std::span<const Placement> placements,
                                std::uint64_t salt) override;

private:
    SimdOps ops_;
};

void VectorDevice::diff(std::span<const std::uint16_t> base,
                        std::span<const std::uint16_t> next,
                        Changes& out) {
    DiffWalk(ops_, base, next, out).compare_up_to(base.size());
}

void VectorDevice::stage(std::span<const std::uint16_t> base,
                         std::span<const std::uint32_t> index,
                         std::span<const std::uint16_t> mask,
                         Changes& out) {
    REFIT_KERNEL_CHECK(index.size() == mask.size() && base.size() <= kTileWordsLimit);
    out.clear();
    for (std::size_t k = 0; k < index.size(); ++k) {
        REFIT_KERNEL_CHECK(index[k] < base.size() && mask[k] != 0);
        REFIT_KERNEL_CHECK(k == 0 || index[k - 1] < index[k]);
    }
    for (std::size_t first = 0; first < index.size();) {
        const std::uint32_t segment = index[first] / kSegmentWords;
        std::size_t last = first + 1;
        while (last < index.size() && index[last] / kSegmentWords == segment) ++last;
        const std::size_t count = last - first;
        const bool dense = count > kSparseMax;
        const std::uint64_t start = std::uint64_t{segment} * kSegmentWords;
        const std::size_t n = std::min<std::size_t>(kSegmentWords, base.size() - start);
        out.segments.push_back({segment, static_cast<std::uint16_t>(count),
                                static_cast<std::uint16_t>(dense ? n : count), dense});
        const std::size_t at = out.words.size();
        if (dense) {
            const std::uint16_t* words = &base[start];
            out.words.insert(out.words.end(), words, words + n);
            for (std::size_t k = first; k < last; ++k)
                out.words[at + index[k] % kSegmentWords] ^= mask[k];
        } else {
            const std::size_t position = out.positions.size();
            out.positions.resize(position + count);
            out.words.resize(at + count);
            for (std::size_t k = 0; k < count; ++k) {
                const std::uint32_t i = index[first + k];
                out.positions[position + k] = static_cast<std::uint16_t>(i % kSegmentWords);
                out.words[at + k] = static_cast<std::uint16_t>(base[i] ^ mask[first + k]);
            }
        }
        first = last;
    }
}

void VectorDevice::overwrite(std::span<std::uint16_t> weights,
                             const Changes& changes,
                             std::span<const Placement> placements) {
    const ChangeStarts starts(changes);
    for (const Placement& p : placements) overwrite_placement(weights, changes, starts, p);
}

void VectorDevice::gather(std::span<const std::uint16_t> weights,
                          std::span<const Placement> placements,
                          std::span<std::uint16_t> tile) {
    const auto copy = [&](const Placement& p, const RowRun& r) {
        copy_words(&tile[r.tile], p.col_step, &weights[r.local], p.local_col_stride, r.count);
    };
    for (const Placement& p : placements) for_each_run(p, tile.size(), weights.size(), copy);
}

void VectorDevice::scatter(std::span<const std::uint16_t> tile,
                           std::span<const Placement> placements,
                           std::span<std::uint16_t> weights) {
    for (const Placement& p : placements) scatter_placement(tile, p, weights);
}

std::uint64_t VectorDevice::digest(std::span<const std::uint16_t> weights,
                                   std::span<const Placement> placements,
                                   std::uint64_t salt) {
    std::uint64_t digest = 0;
    for (const Placement& p : placements) {
        DigestWalk walk(ops_, {weights, {}}, p, salt);
        while (!walk.done()) walk.add_part();
        digest += walk.digests().base;
    }
    return digest;
}

TileDigests VectorDevice::diff_and_digest(std::span<const std::uint16_t> base,
                                          std::span<const std::uint16_t> next,
                                          std::span<const Placement> placements,
                                          std::uint64_t salt,
                                          Changes& out) {
    DiffWalk diff(ops_, base, next, out);
    TileDigests digests;
    for (const Placement& p : placements) {
        DigestWalk walk(ops_, {base, next}, p, salt);
        while (!walk.done()) {
            diff.compare_up_to(walk.part_end());
            walk.add_part();
        }
        digests.base += walk.digests().base;
        digests.next += walk.digests().next;
    }
    diff.compare_up_to(base.size());
    return digests;
}

std::uint64_t VectorDevice::digest_change(std::span<const std::uint16_t> base,
                                          const Changes& changes,
                                          std::span<const Placement> placements,
                                          std::uint64_t salt) {
    const ChangeStarts starts(changes);
    std::uint64_t change = 0;
    for (const Placement& p : placements)
        change += DigestChange(base, p, salt).over(changes, starts);
    return change;
}

}  // namespace

std::unique_ptr<Device> make_vector_device(unsigned threads, const SimdLevel& level) {
    return std::make_unique<VectorDevice>(threads, level);
}

}  // namespace refit
