#include "kernels/cuda/plan.hpp"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <numeric>

#include "kernels/check.hpp"
#include "kernels/cpu/rows.hpp"
#include "kernels/cuda/boxes.cuh"
#include "kernels/cuda/compare.cuh"
#include "kernels/cuda/diff.cuh"
#include "kernels/cuda/scan.cuh"
#include "kernels/cuda/staged.cuh"

namespace refit::kernels {
namespace {

constexpr std::uint64_t kBatchMax = (std::uint64_t{1} << kStoredBits) - 1;
constexpr unsigned kBlockRowsMin = 64;
constexpr unsigned kRowsPerThread = 8;

std::uint64_t parts_of(std::uint64_t total, std::uint64_t part) {
    return (total + part - 1) / part;
}

std::uint32_t narrow(std::uint64_t value) {
    REFIT_KERNEL_CHECK(value <= kBatchMax);
    return static_cast<std::uint32_t>(value);
}

simt::LaunchShape shape_of(const char* kernel, std::uint64_t blocks, unsigned threads) {
    return {kernel, {narrow(blocks), 1, 1}, {threads, 1, 1}, 0};
}

/// Rows between the second and the last but one are whole and evenly spaced: their addresses lie
/// between those of the rows looked at here.
void check_addresses(const Placement& p,
                     const PlacementRows& rows,
                     const TileSpan& tile,
                     std::uint64_t memory_words) {
    const std::uint64_t begin = rows.begin();
    const std::uint64_t end = rows.end();
    for (const std::uint64_t index : {begin, begin + 1, end - 2, end - 1}) {
        if (index < begin || index >= end) continue;
        const RowRun run = rows.run(index);
        REFIT_KERNEL_CHECK(
            addresses_inside(run.local, run.count, p.local_col_stride, memory_words));
        REFIT_KERNEL_CHECK(addresses_inside(run.tile, run.count, p.col_step, tile.words));
    }
}

Box box_of(const Placement& p, const TileSpan& tile, std::uint32_t tile_number) {
    Box box{};
    box.placement = p;
    box.columns = make_divisor(p.columns);
    box.row_step = make_divisor(p.row_step);
    box.col_step = make_divisor(p.col_step);
    const PlacementRows rows(p);
    box.rows_begin = rows.begin();
    box.rows_end = rows.end();
    box.tile_at = tile.first;
    box.tile = tile_number;
    const std::uint64_t groups = parts_of(p.col_count, kGroupWords);
    box.lanes_wide = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(kBoxThreads, std::bit_ceil(std::max<std::uint64_t>(groups, 1))));
    box.column_parts = narrow(parts_of(groups, box.lanes_wide));
    box.block_rows =
        std::clamp(kBoxThreads / box.lanes_wide * kRowsPerThread, kBlockRowsMin, kBoxRowsMax);
    return box;
}

std::uint64_t blocks_of(const Box& box) {
    return parts_of(box.rows_end - box.rows_begin, box.block_rows) * box.column_parts;
}

/// Indices first + k * step, k < count, of two boxes: can they have one in common?
bool axes_meet(const std::uint64_t (&a)[3], const std::uint64_t (&b)[3]) {
    const std::uint64_t a_end = a[0] + (a[1] - 1) * a[2] + 1;
    const std::uint64_t b_end = b[0] + (b[1] - 1) * b[2] + 1;
    if (a[0] >= b_end || b[0] >= a_end) return false;
    const std::uint64_t apart = a[0] > b[0] ? a[0] - b[0] : b[0] - a[0];
    return apart % std::gcd(a[2], b[2]) == 0;
}

/// May say yes where the answer is no: that costs a launch.
bool may_share_words(const Box& one, const Box& other) {
    const Placement& a = one.placement;
    const Placement& b = other.placement;
    if (one.tile != other.tile) return false;
    if (a.tile_first >= b.tile_first + b.tile_words || b.tile_first >= a.tile_first + a.tile_words)
        return false;
    const bool same_frame =
        a.columns == b.columns && a.tensor_first - a.tile_first == b.tensor_first - b.tile_first;
    if (!same_frame) return true;
    return axes_meet({a.row_first, a.row_count, a.row_step},
                     {b.row_first, b.row_count, b.row_step}) &&
           axes_meet({a.col_first, a.col_count, a.col_step},
                     {b.col_first, b.col_count, b.col_step});
}

/// Boxes [first, end) as one launch.
BoxRange range_of(const std::vector<Box>& boxes, std::size_t first, std::size_t end) {
    if (first == end) return {};
    const Box& last = boxes[end - 1];
    const std::uint64_t blocks = last.first_block + blocks_of(last) - boxes[first].first_block;
    return {narrow(first), narrow(end - first), narrow(blocks)};
}

std::vector<BoxRange> waves_of(const std::vector<Box>& boxes) {
    std::vector<BoxRange> waves;
    std::size_t first = 0;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        bool shares = false;
        // Boxes of one tile are neighbours.
        for (std::size_t k = i; k-- > first && boxes[k].tile == boxes[i].tile && !shares;)
            shares = may_share_words(boxes[k], boxes[i]);
        if (!shares) continue;
        waves.push_back(range_of(boxes, first, i));
        first = i;
    }
    if (first < boxes.size()) waves.push_back(range_of(boxes, first, boxes.size()));
    return waves;
}

}  // namespace

std::vector<SegmentSpan> plan_segments(std::span<const TileSpan> tiles) {
    std::vector<SegmentSpan> spans;
    std::uint64_t words = 0;
    for (std::size_t tile = 0; tile < tiles.size(); ++tile) {
        words += tiles[tile].words;
        REFIT_KERNEL_CHECK(words <= kBatchMax && tiles[tile].words <= kBatchMax);
        for (std::uint64_t start = 0; start < tiles[tile].words; start += kSegmentWords) {
            const std::uint64_t left = tiles[tile].words - start;
            spans.push_back(
                {tiles[tile].first + start,
                 static_cast<std::uint32_t>(std::min<std::uint64_t>(left, kSegmentWords)),
                 narrow(tile), narrow(start / kSegmentWords)});
        }
    }
    return spans;
}

std::vector<std::uint32_t> plan_masks(std::span<const TileMasks> tiles) {
    std::vector<std::uint32_t> starts{0};
    for (const TileMasks& tile : tiles) {
        REFIT_KERNEL_CHECK(tile.index.size() == tile.mask.size());
        for (std::size_t k = 0; k < tile.index.size(); ++k) {
            REFIT_KERNEL_CHECK(tile.index[k] < tile.tile.words && tile.mask[k] != 0);
            REFIT_KERNEL_CHECK(k == 0 || tile.index[k - 1] < tile.index[k]);
        }
        starts.push_back(narrow(starts.back() + tile.index.size()));
    }
    return starts;
}

BoxPlan plan_boxes(std::span<const TilePlacements> tiles, std::uint64_t memory_words) {
    BoxPlan plan;
    std::uint64_t blocks = 0;
    for (std::size_t t = 0; t < tiles.size(); ++t) {
        const std::size_t first = plan.boxes.size();
        for (const Placement& p : tiles[t].placements) {
            Box box = box_of(p, tiles[t].tile, narrow(t));
            if (box.rows_begin >= box.rows_end || p.col_count == 0) continue;
            check_addresses(p, PlacementRows(p), tiles[t].tile, memory_words);
            box.first_block = blocks;
            blocks += blocks_of(box);
            plan.boxes.push_back(box);
        }
        plan.tiles.push_back({narrow(first), narrow(plan.boxes.size() - first)});
    }
    plan.all = range_of(plan.boxes, 0, plan.boxes.size());
    plan.waves = waves_of(plan.boxes);
    return plan;
}

simt::LaunchShape mark_shape(std::uint32_t segments) {
    return shape_of("diff_mark", parts_of(segments, kDiffWarps), kDiffThreads);
}

simt::LaunchShape scan_shape(std::uint32_t segments) {
    simt::LaunchShape shape = shape_of("scan_staged", scan_parts(segments), kScanThreads);
    shape.shared_bytes = sizeof(ScanShared);
    return shape;
}

simt::LaunchShape scan_counts_shape(std::uint32_t count) {
    simt::LaunchShape shape = scan_shape(count);
    shape.kernel = "scan_counts";
    return shape;
}

simt::LaunchShape scan_clear_shape(std::uint32_t count) {
    return shape_of("scan_clear", parts_of(scan_parts(count), kScanThreads), kScanThreads);
}

simt::LaunchShape emit_shape(std::uint32_t segments) {
    return shape_of("diff_emit", parts_of(segments, kDiffWarps), kDiffThreads);
}

simt::LaunchShape stage_count_shape(std::uint32_t segments) {
    return shape_of("stage_count", parts_of(segments, kDiffThreads), kDiffThreads);
}

simt::LaunchShape stage_emit_shape(std::uint32_t segments) {
    return shape_of("stage_emit", parts_of(segments, kDiffWarps), kDiffThreads);
}

simt::LaunchShape staged_shape(const char* kernel, std::uint32_t segments) {
    return shape_of(kernel, parts_of(segments, kStagedWarps), kStagedThreads);
}

simt::LaunchShape box_shape(const char* kernel, const BoxRange& boxes) {
    return shape_of(kernel, boxes.blocks, kBoxThreads);
}

simt::LaunchShape digest_shape(const BoxRange& boxes) {
    simt::LaunchShape shape = box_shape("digest_boxes", boxes);
    shape.shared_bytes = sizeof(DigestShared);
    return shape;
}

simt::LaunchShape compare_shape(std::uint64_t words, std::uint32_t blocks_max) {
    const std::uint64_t blocks = parts_of(words, kCompareThreads * kGroupWords);
    return shape_of("compare_words", std::min<std::uint64_t>(blocks, blocks_max), kCompareThreads);
}

}  // namespace refit::kernels
