#include "kernels/cpu/simd.hpp"

#include <bit>

#include "kernels/changes.hpp"

// Every level is compiled, the portable one too when the compiler flags would make it superfluous.
#define HWY_COMPILE_ALL_ATTAINABLE  // NOLINT(readability-identifier-naming)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd.cpp"  // NOLINT(readability-identifier-naming)
#include <hwy/foreach_target.h>
// foreach_target.h comes first by rule.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace refit {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

// Stands in for EMU128 where Highway withdraws that (gcc before 12.3 miscompiles it). One lane is
// no vector: the level is not offered, and the plain reference device takes its place.
SimdOps simd_ops() { return {}; }

#else

namespace hn = hwy::HWY_NAMESPACE;

using WordTag = hn::ScalableTag<std::uint16_t>;

std::size_t equal_prefix(const std::uint16_t* a, const std::uint16_t* b, std::size_t n) {
    const WordTag d;
    const std::size_t lanes = hn::Lanes(d);
    const std::size_t block = 8 * lanes;
    std::size_t i = 0;
    for (; i + block <= n; i += block) {
        auto differing = hn::Zero(d);
        for (std::size_t k = i; k < i + block; k += lanes) {
            const auto bits = hn::Xor(hn::LoadU(d, a + k), hn::LoadU(d, b + k));
            differing = hn::Or(differing, bits);
        }
        if (!hn::AllTrue(d, hn::Eq(differing, hn::Zero(d)))) return i;
    }
    for (; i + lanes <= n; i += lanes)
        if (!hn::AllTrue(d, hn::Eq(hn::LoadU(d, a + i), hn::LoadU(d, b + i)))) return i;
    while (i < n && a[i] == b[i]) ++i;
    return i;
}

/// Bit k says whether word k differs, k < 64.
HWY_INLINE std::uint64_t differing_bits(const std::uint16_t* a, const std::uint16_t* b) {
    const WordTag d;
    std::uint64_t bits = 0;
#if HWY_TARGET == HWY_AVX2
    // The library thins out a byte mask with pext here, which some processors do in microcode.
    for (std::size_t k = 0; k < 64; k += 32) {
        const auto low = hn::Eq(hn::LoadU(d, a + k), hn::LoadU(d, b + k));
        const auto high = hn::Eq(hn::LoadU(d, a + k + 16), hn::LoadU(d, b + k + 16));
        const __m256i lanes = _mm256_packs_epi16(low.raw, high.raw);
        const __m256i words = _mm256_permute4x64_epi64(lanes, 0xD8);  // undoes pack's interleaving
        const auto differ = ~static_cast<std::uint32_t>(_mm256_movemask_epi8(words));
        bits |= std::uint64_t{differ} << k;
    }
#else
    static_assert(hn::MaxLanes(WordTag()) >= 8, "a vector fills whole bytes");
    static_assert(std::endian::native == std::endian::little, "bytes are stored in bit order");
    for (std::size_t k = 0; k < 64; k += hn::Lanes(d)) {
        std::uint64_t part = 0;
        const auto differ = hn::Ne(hn::LoadU(d, a + k), hn::LoadU(d, b + k));
        hn::StoreMaskBits(d, differ, reinterpret_cast<std::uint8_t*>(&part));
        bits |= part << k;
    }
#endif
    return bits;
}

/// The lowest set bit, which is cleared; 63 when there is none.
HWY_INLINE std::size_t take_lowest(std::uint64_t& bits) {
    constexpr std::uint64_t kTopBit = std::uint64_t{1} << 63;
    const std::size_t lowest = hwy::Num0BitsBelowLS1Bit_Nonzero64(bits | kTopBit);
    bits &= bits - 1;
    return lowest;
}

/// Writes where the bits of one group of 64 words are set. Few groups hold more than four, so four
/// are written without asking.
HWY_INLINE void write_positions(std::uint64_t bits, std::size_t first, std::uint16_t* out) {
    static_assert(kPositionSlack == 4);
    out[0] = static_cast<std::uint16_t>(first + take_lowest(bits));
    out[1] = static_cast<std::uint16_t>(first + take_lowest(bits));
    out[2] = static_cast<std::uint16_t>(first + take_lowest(bits));
    out[3] = static_cast<std::uint16_t>(first + take_lowest(bits));
    for (out += 4; bits != 0; ++out) *out = static_cast<std::uint16_t>(first + take_lowest(bits));
}

std::size_t changed_positions(const std::uint16_t* base,
                              const std::uint16_t* next,
                              std::size_t n,
                              std::uint16_t* positions) {
    std::uint64_t bits[kSegmentWords / 64];
    const std::size_t whole = n / 64;
    std::size_t groups = whole;
    std::size_t count = 0;
    for (std::size_t g = 0; g < whole; ++g) {
        bits[g] = differing_bits(base + g * 64, next + g * 64);
        count += hwy::PopCount(bits[g]);
    }
    if (whole * 64 < n) {
        bits[groups] = 0;
        for (std::size_t i = whole * 64; i < n; ++i)
            bits[groups] |= std::uint64_t{base[i] != next[i]} << (i % 64);
        count += hwy::PopCount(bits[groups++]);
    }
    if (count > kSparseMax) return count;

    for (std::size_t g = 0; g < groups; ++g) {
        write_positions(bits[g], g * 64, positions);
        positions += hwy::PopCount(bits[g]);
    }
    return count;
}

std::uint64_t dot(const std::uint32_t* low,
                  const std::uint32_t* high,
                  const std::uint16_t* words,
                  std::size_t n) {
    // A word times a 32-bit half of its key fits 48 bits; the upper halves' sum counts 2^32 each.
    const hn::ScalableTag<std::uint32_t> d;
    const hn::Rebind<std::uint16_t, decltype(d)> narrow;
    const hn::RepartitionToWide<decltype(d)> wide;
    const std::size_t lanes = hn::Lanes(d);
    auto sum_low = hn::Zero(wide);
    auto sum_high = hn::Zero(wide);
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        const auto word = hn::PromoteTo(d, hn::LoadU(narrow, words + i));
        const auto key_low = hn::LoadU(d, low + i);
        const auto key_high = hn::LoadU(d, high + i);
        const auto odd_word = hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, word)));
        const auto odd_low = hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, key_low)));
        const auto odd_high = hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, key_high)));
        sum_low = hn::Add(sum_low, hn::MulEven(word, key_low));
        sum_high = hn::Add(sum_high, hn::MulEven(word, key_high));
        sum_low = hn::Add(sum_low, hn::MulEven(odd_word, odd_low));
        sum_high = hn::Add(sum_high, hn::MulEven(odd_word, odd_high));
    }
    const auto sum = hn::Add(sum_low, hn::ShiftLeft<32>(sum_high));
    std::uint64_t total = hn::GetLane(hn::SumOfLanes(wide, sum));
    for (; i < n; ++i) total += (low[i] + (std::uint64_t{high[i]} << 32)) * words[i];
    return total;
}

SimdOps simd_ops() { return {&equal_prefix, &changed_positions, &dot}; }

#endif

}  // namespace HWY_NAMESPACE
}  // namespace refit
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace refit {

namespace {

HWY_EXPORT(simd_ops);

}  // namespace

std::vector<SimdLevel> simd_levels() {
    std::vector<SimdLevel> levels;
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
        if (target == HWY_SCALAR) continue;
        // The library's own chosen target is one per process; a device needs its own.
        hwy::ChosenTarget chosen;
        chosen.Update(target);
        constexpr bool kOneTarget = (HWY_TARGETS & (HWY_TARGETS - 1)) == 0;
        const std::size_t entry = kOneTarget ? 0 : chosen.GetIndex();
        levels.push_back({hwy::TargetName(target), HWY_DISPATCH_TABLE(simd_ops)[entry]()});
    }
    return levels;
}

}  // namespace refit

#endif
