#include "kernels/cpu/gemm_simd.hpp"

#include "kernels/check.hpp"

// Every level is compiled, the portable one too when the compiler flags would make it superfluous.
#define HWY_COMPILE_ALL_ATTAINABLE  // NOLINT(readability-identifier-naming)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm_simd.cpp"  // NOLINT(readability-identifier-naming)
#include <hwy/foreach_target.h>
// foreach_target.h comes first by rule.
#include <hwy/highway.h>

#include "kernels/cpu/dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace refit {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

// As in simd.cpp: one lane is no vector, the plain loop takes its place.
GemmOps gemm_ops() { return {}; }

#else

namespace hn = hwy::HWY_NAMESPACE;

// At most sixteen lanes, where a level would have longer vectors.
using FloatTag = hn::CappedTag<float, kGemmTileColumnsMax / 2>;
using FloatVec = hn::Vec<FloatTag>;

// Two vectors of B and one of A beside the sums: 15 of 16 registers, 27 of 32.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
constexpr std::size_t kRows = 12;
#else
constexpr std::size_t kRows = 6;
#endif
static_assert(kRows <= kGemmTileRowsMax);

HWY_INLINE FloatVec widen(const std::uint16_t* words) {
    const FloatTag d;
    const hn::RebindToUnsigned<FloatTag> bits;
    const hn::Rebind<std::uint16_t, FloatTag> narrow;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(bits, hn::LoadU(narrow, words))));
}

void pack_columns(
    const std::uint16_t* b, std::size_t stride, std::size_t k, std::size_t count, float* out) {
    const FloatTag d;
    const std::size_t lanes = hn::Lanes(d);
    const std::size_t columns = 2 * lanes;
    if (count == columns) {
        for (std::size_t p = 0; p < k; ++p, b += stride, out += columns) {
            hn::StoreU(widen(b), d, out);
            hn::StoreU(widen(b + lanes), d, out + lanes);
        }
        return;
    }
    for (std::size_t p = 0; p < k; ++p, b += stride, out += columns) {
        std::uint16_t row[kGemmTileColumnsMax] = {};
        for (std::size_t j = 0; j < count; ++j) row[j] = b[j];
        hn::StoreU(widen(row), d, out);
        hn::StoreU(widen(row + lanes), d, out + lanes);
    }
}

/// The sums of a tile, by rows, two vectors each. A plain struct of members that the compiler
/// keeps in registers once every loop over it is unrolled.
struct Sums {
    FloatVec left[kRows];
    FloatVec right[kRows];
};

HWY_INLINE void add_products(std::size_t k, const float* a, const float* b, Sums& sums) {
    const FloatTag d;
    const std::size_t lanes = hn::Lanes(d);
    for (std::size_t p = 0; p < k; ++p, a += kRows, b += 2 * lanes) {
        const FloatVec left = hn::LoadU(d, b);
        const FloatVec right = hn::LoadU(d, b + lanes);
#pragma GCC unroll 12
        for (std::size_t i = 0; i < kRows; ++i) {
            const FloatVec row = hn::Set(d, a[i]);
            sums.left[i] = hn::MulAdd(row, left, sums.left[i]);
            sums.right[i] = hn::MulAdd(row, right, sums.right[i]);
        }
    }
}

template <bool kAdd>
void tile_of(std::size_t k, const float* a, const float* b, float* c, std::size_t stride) {
    const FloatTag d;
    const std::size_t lanes = hn::Lanes(d);
    Sums sums;
#pragma GCC unroll 12
    for (std::size_t i = 0; i < kRows; ++i) sums.left[i] = sums.right[i] = hn::Zero(d);
    add_products(k, a, b, sums);
#pragma GCC unroll 12
    for (std::size_t i = 0; i < kRows; ++i, c += stride) {
        if constexpr (kAdd) {
            sums.left[i] = hn::Add(sums.left[i], hn::LoadU(d, c));
            sums.right[i] = hn::Add(sums.right[i], hn::LoadU(d, c + lanes));
        }
        hn::StoreU(sums.left[i], d, c);
        hn::StoreU(sums.right[i], d, c + lanes);
    }
}

std::uint64_t multiply_adds(std::uint64_t rounds) {
    const FloatTag d;
    const FloatVec factor = hn::Set(d, 0.5F);
    const FloatVec term = hn::Set(d, 1.0F);
    Sums sums;
#pragma GCC unroll 12
    for (std::size_t i = 0; i < kRows; ++i) sums.left[i] = sums.right[i] = hn::Zero(d);
    for (std::uint64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
        for (std::size_t i = 0; i < kRows; ++i) {
            sums.left[i] = hn::MulAdd(sums.left[i], factor, term);
            sums.right[i] = hn::MulAdd(sums.right[i], factor, term);
        }
    }
    FloatVec all = hn::Zero(d);
#pragma GCC unroll 12
    for (std::size_t i = 0; i < kRows; ++i)
        all = hn::Add(all, hn::Add(sums.left[i], sums.right[i]));
    // Looks at the sums, or the compiler would leave the loop out.
    REFIT_KERNEL_CHECK(hn::GetLane(hn::SumOfLanes(d, all)) >= 0);
    return rounds * 2 * 2 * kRows * hn::Lanes(d);
}

GemmOps gemm_ops() {
    return {kRows,          2 * hn::Lanes(FloatTag()),
            &pack_columns,  &tile_of<false>,
            &tile_of<true>, &multiply_adds};
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace refit
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace refit {

namespace {

HWY_EXPORT(gemm_ops);

}  // namespace

std::vector<GemmLevel> gemm_levels() {
    std::vector<GemmLevel> levels;
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
        if (target == HWY_SCALAR) continue;
        levels.push_back(
            {hwy::TargetName(target), HWY_DISPATCH_TABLE(gemm_ops)[dispatch_entry(target)]()});
    }
    return levels;
}

}  // namespace refit

#endif
