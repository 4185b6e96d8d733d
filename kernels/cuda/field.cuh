// The weight field: two versions of made-up words, as kernels/weight_field.hpp has them.
//
// Model      one warp per run of a row, eight neighbouring words per lane. The host has computed
//            what the words of a row have in common, once per row: field_row() reads constexpr
//            arrays, which device code cannot, and nvcc says nothing and leaves zeros in their
//            place.
// Traffic    both versions written once; about 60 integer and floating-point operations per word.
// Exact      no product is rounded, so fused multiply-adds give the same bits.
#pragma once

#include <cstdint>

#include "kernels/cuda/field_tables.hpp"
#include "kernels/cuda/words.cuh"
#include "kernels/weight_field.hpp"

namespace refit::kernels {

inline constexpr unsigned kFieldThreads = 128;
inline constexpr unsigned kFieldWarps = kFieldThreads / simt::kWarpLanes;

struct FieldInput {
    const FieldRow* rows;
    const FieldWarp* warps;
    std::uint32_t count;  // of warps
};

struct FieldOutput {
    std::uint16_t* base;
    std::uint16_t* next;
};

inline namespace SIMT_TARGET {

/// Fills a run; word(column) is both versions of a word.
template <class Word>
__device__ __forceinline__ void fill_run(const FieldWarp& run,
                                         const FieldOutput& out,
                                         const Word& word) {
    const unsigned lane = threadIdx.x % simt::kWarpLanes;
    constexpr unsigned kStep = simt::kWarpLanes * kGroupWords;
    for (unsigned start = lane * kGroupWords; start < run.words; start += kStep) {
        Group base{};
        Group next{};
        FieldColumn column = field_column(run.column + start);
        for (unsigned i = 0; i < kGroupWords; ++i, column = right_of(column)) {
            const FieldWords both = word(column);
            base.pairs[i / 2] |= std::uint32_t{both.base} << (i % 2 * 16);
            next.pairs[i / 2] |= std::uint32_t{both.next} << (i % 2 * 16);
        }
        const unsigned held = group_mask(run.words - start);
        store_group(out.base, run.at + start, 1, held, base);
        store_group(out.next, run.at + start, 1, held, next);
    }
}

__global__ void __launch_bounds__(kFieldThreads) fill_field(FieldInput in, FieldOutput out) {
    const unsigned index = blockIdx.x * kFieldWarps + threadIdx.x / simt::kWarpLanes;
    if (index >= in.count) return;
    const FieldWarp run = in.warps[index];
    const FieldRow row = in.rows[run.row];
    if (run.law == FieldLaw::drift) {
        fill_run(run, out, [&](const FieldColumn& c) { return drift_words<false>(row, c); });
    } else if (run.law == FieldLaw::fresh) {
        fill_run(run, out, [&](const FieldColumn& c) { return drift_words<true>(row, c); });
    } else if (run.law == FieldLaw::even) {
        fill_run(run, out, [&](const FieldColumn& c) { return drawn_words<true>(row, c); });
    } else {
        fill_run(run, out, [&](const FieldColumn& c) { return drawn_words<false>(row, c); });
    }
}

}  // namespace SIMT_TARGET
}  // namespace refit::kernels
