// The inner loops of xc, compiled once per instruction set. Where there is no vector code the plain
// ops stand in. FORMAT.md 3.1 is what they compute.
#include <bit>
#include <cstring>

#include "kernels/cpu/xc_ops.hpp"

// Every level is compiled, the portable one too when the compiler flags would make it superfluous.
#define HWY_COMPILE_ALL_ATTAINABLE  // NOLINT(readability-identifier-naming)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/xc_simd.cpp"  // NOLINT(readability-identifier-naming)
#include <hwy/foreach_target.h>
// foreach_target.h comes first by rule.
#include <hwy/highway.h>

#include "kernels/cpu/dispatch.hpp"

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
#define REFIT_XC_VECTORS 1
#include "kernels/cpu/xc_avx512.inl"
#elif HWY_TARGET == HWY_AVX2
#define REFIT_XC_VECTORS 1
#include "kernels/cpu/xc_avx2.inl"
#include "kernels/cpu/xc_avx2_put.inl"
#else
#define REFIT_XC_VECTORS 0
#endif

HWY_BEFORE_NAMESPACE();
namespace refit {
namespace HWY_NAMESPACE {

#if REFIT_XC_VECTORS

std::size_t set_bits(const std::uint8_t* bits, std::size_t bytes, std::uint16_t* positions) {
    constexpr unsigned kAtOnce = 4;
    static_assert(kAtOnce <= kXcPositionSlack);
    constexpr std::uint64_t kTopBit = std::uint64_t{1} << 63;
    std::uint16_t* out = positions;
    for (std::size_t at = 0; at < bytes; at += 8) {
        std::uint64_t left = 0;
        std::memcpy(&left, bits + at, sizeof(left));
        const int count = std::popcount(left);
        // Without asking, which is quicker as long as few are set.
        for (unsigned k = 0; k < kAtOnce; ++k, left &= left - 1)
            out[k] = static_cast<std::uint16_t>(
                8 * at + static_cast<unsigned>(std::countr_zero(left | kTopBit)));
        for (unsigned k = kAtOnce; left != 0; ++k, left &= left - 1)
            out[k] =
                static_cast<std::uint16_t>(8 * at + static_cast<unsigned>(std::countr_zero(left)));
        out += count;
    }
    return static_cast<std::size_t>(out - positions);
}

XcOps xc_ops() {
    return {&set_bits, &test_bits, &count_buckets, &put_flags, &get_flags, &put_list, &get_list};
}
#else
XcOps xc_ops() { return xc_plain_ops(); }
#endif

}  // namespace HWY_NAMESPACE
}  // namespace refit
HWY_AFTER_NAMESPACE();
#undef REFIT_XC_VECTORS

#if HWY_ONCE

namespace refit {

namespace {

HWY_EXPORT(xc_ops);

std::size_t plain_set_bits(const std::uint8_t* bits, std::size_t bytes, std::uint16_t* positions) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < 8 * bytes; ++i)
        if ((bits[i / 8] >> i % 8 & 1u) != 0) positions[count++] = static_cast<std::uint16_t>(i);
    return count;
}

void plain_test_bits(const std::uint16_t* values,
                     std::size_t count,
                     Shifts shifts,
                     std::uint32_t* bits) {
    for (std::size_t i = 0; i < count; ++i) {
        if (i % 32 == 0) bits[i / 32] = 0;
        bits[i / 32] |= std::uint32_t{shifts.test(values[i])} << i % 32;
    }
}

}  // namespace

XcOps xc_plain_ops() {
    XcOps ops;
    ops.set_bits = &plain_set_bits;
    ops.test_bits = &plain_test_bits;
    ops.count_buckets = [](const std::uint16_t*, std::size_t, XcContext,
                           XcBucketWords&) -> std::size_t { return 0; };
    ops.put_flags = [](const XcRun&, const std::uint8_t*, XcLanes&, std::byte*&) -> std::size_t {
        return 0;
    };
    ops.get_flags = [](const XcRun&, std::uint8_t*, XcLanes&, const std::byte*&,
                       const std::byte*) -> std::size_t { return 0; };
    ops.put_list = [](const XcRun&, const std::uint32_t*, XcLanes&, std::byte*&) -> std::size_t {
        return 0;
    };
    ops.get_list = [](const XcRun&, std::uint32_t*, XcLanes&, const std::byte*&,
                      const std::byte*) -> std::size_t { return 0; };
    return ops;
}

XcOps xc_ops_of_target(std::int64_t target) {
    return HWY_DISPATCH_TABLE(xc_ops)[dispatch_entry(target)]();
}

}  // namespace refit

#endif
