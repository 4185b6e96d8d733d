#include "kernels/cuda/field_plan.hpp"

#include <algorithm>

#include "kernels/check.hpp"
#include "kernels/cuda/field.cuh"

namespace refit::kernels {
namespace {

constexpr std::uint64_t kCountMax = (std::uint64_t{1} << 31) - 1;

/// Words of one row of the tensor, from word `word` of it on.
void add_runs(FieldPlan& plan, const FieldPiece& piece, std::uint64_t word, std::uint64_t words) {
    const std::uint64_t row = word / piece.tensor.columns;
    const std::uint64_t column = word % piece.tensor.columns;
    REFIT_KERNEL_CHECK(plan.rows.size() < kCountMax);
    for (std::uint64_t start = 0; start < words; start += kFieldRunWords) {
        FieldWarp run{};
        run.at = piece.at + (word - piece.first) + start;
        run.row = static_cast<std::uint32_t>(plan.rows.size());
        run.column = static_cast<std::uint32_t>(column + start);
        run.words =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(kFieldRunWords, words - start));
        run.law = piece.tensor.law;
        plan.warps.push_back(run);
    }
    REFIT_KERNEL_CHECK(plan.warps.size() <= kCountMax);
    plan.rows.push_back(field_row(piece.tensor, row, piece.span));
}

}  // namespace

FieldPlan plan_field(std::span<const FieldPiece> pieces) {
    FieldPlan plan;
    for (const FieldPiece& piece : pieces) {
        const std::uint64_t columns = piece.tensor.columns;
        REFIT_KERNEL_CHECK(columns < std::uint64_t{1} << 32 && (columns > 0 || piece.words == 0));
        REFIT_KERNEL_CHECK(piece.span.version % kEpochVersions + piece.span.steps <=
                           kEpochVersions);
        const std::uint64_t end = piece.first + piece.words;
        for (std::uint64_t word = piece.first; word < end;) {
            const std::uint64_t words = std::min(columns - word % columns, end - word);
            add_runs(plan, piece, word, words);
            word += words;
        }
    }
    return plan;
}

simt::LaunchShape field_shape(std::uint32_t warps) {
    const std::uint32_t blocks = warps / kFieldWarps + (warps % kFieldWarps != 0 ? 1 : 0);
    return {"fill_field", {blocks, 1, 1}, {kFieldThreads, 1, 1}, 0};
}

}  // namespace refit::kernels
