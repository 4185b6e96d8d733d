#include "kernels/cuda/compact.hpp"

#include <cstring>

#include "kernels/check.hpp"
#include "kernels/cpu/rows.hpp"

namespace refit::kernels {
namespace {

constexpr std::uint64_t kBoxAlignment = 8;  // kernels read eight words at a time

/// `rows` rows from `index` on, all with the words of `run`, the first of them.
void add_box(CompactPlan& plan,
             const Placement& p,
             std::uint64_t index,
             const RowRun& run,
             std::uint64_t rows) {
    const std::uint64_t at = (plan.words + kBoxAlignment - 1) / kBoxAlignment * kBoxAlignment;
    plan.words = at + rows * run.count;
    plan.boxes.push_back({run.local, p.local_row_stride, p.local_col_stride, rows, run.count, at});
    Placement& packed = plan.placements.emplace_back(p);
    packed.row_first = p.row_first + index * p.row_step;
    packed.row_count = rows;
    packed.col_first = p.col_first + run.column_index * p.col_step;
    packed.col_count = run.count;
    packed.local_first = at;
    packed.local_row_stride = run.count;
    packed.local_col_stride = 1;
}

void add_placement(CompactPlan& plan, const Placement& p, std::uint64_t memory_words) {
    const PlacementRows rows(p);
    const auto whole = [&](std::uint64_t index) { return rows.run(index).count == p.col_count; };
    for (std::uint64_t index = rows.begin(); index < rows.end();) {
        const RowRun run = rows.run(index);
        std::uint64_t count = 1;
        // Whatever follows a whole row is whole too, but perhaps the last.
        if (whole(index) && index + 1 < rows.end())
            count = rows.end() - index - (whole(rows.end() - 1) ? 0 : 1);
        for (const std::uint64_t row : {index, index + count - 1}) {
            REFIT_KERNEL_CHECK(
                addresses_inside(rows.run(row).local, run.count, p.local_col_stride, memory_words));
        }
        if (run.count > 0) add_box(plan, p, index, run, count);
        index += count;
    }
}

/// Calls copy(local, at, words) for runs that are dense on both sides.
template <class Copy>
void for_each_run(const PackedBox& box, const Copy& copy) {
    if (box.col_stride != 1) {
        for (std::uint64_t i = 0; i < box.rows; ++i) {
            for (std::uint64_t j = 0; j < box.columns; ++j)
                copy(box.local + i * box.row_stride + j * box.col_stride,
                     box.at + i * box.columns + j, 1);
        }
    } else if (box.row_stride == box.columns || box.rows == 1) {
        copy(box.local, box.at, box.rows * box.columns);
    } else {
        for (std::uint64_t i = 0; i < box.rows; ++i)
            copy(box.local + i * box.row_stride, box.at + i * box.columns, box.columns);
    }
}

std::size_t bytes_of(std::uint64_t words) { return words * sizeof(std::uint16_t); }

}  // namespace

CompactPlan plan_compact(std::span<const Placement> placements, std::uint64_t memory_words) {
    CompactPlan plan;
    for (const Placement& p : placements) add_placement(plan, p, memory_words);
    return plan;
}

void pack(const CompactPlan& plan,
          std::span<const std::uint16_t> weights,
          std::span<std::uint16_t> packed) {
    REFIT_KERNEL_CHECK(packed.size() == plan.words);
    for (const PackedBox& box : plan.boxes) {
        for_each_run(box, [&](std::uint64_t local, std::uint64_t at, std::uint64_t words) {
            std::memcpy(packed.data() + at, weights.data() + local, bytes_of(words));
        });
    }
}

void unpack(const CompactPlan& plan,
            std::span<const std::uint16_t> packed,
            std::span<std::uint16_t> weights) {
    REFIT_KERNEL_CHECK(packed.size() == plan.words);
    for (const PackedBox& box : plan.boxes) {
        for_each_run(box, [&](std::uint64_t local, std::uint64_t at, std::uint64_t words) {
            std::memcpy(weights.data() + local, packed.data() + at, bytes_of(words));
        });
    }
}

}  // namespace refit::kernels
