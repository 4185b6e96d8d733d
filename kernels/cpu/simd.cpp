#include "kernels/cpu/simd.hpp"

#include <bit>
#include <cstring>

#include "kernels/changes.hpp"
#include "kernels/digest_key.hpp"

// Every level is compiled, the portable one too when the compiler flags would make it superfluous.
#define HWY_COMPILE_ALL_ATTAINABLE  // NOLINT(readability-identifier-naming)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd.cpp"  // NOLINT(readability-identifier-naming)
#include <hwy/foreach_target.h>
// foreach_target.h comes first by rule.
#include <hwy/highway.h>

#include "kernels/cpu/dispatch.hpp"

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

/// Writes where the bits of the 64 words from `first` on are set. kAtOnce are written without
/// asking, which is quicker as long as few groups hold more.
template <std::size_t kAtOnce>
HWY_INLINE void write_positions(std::uint64_t bits, std::size_t first, std::uint16_t* out) {
    static_assert(kAtOnce <= kPositionSlack);
    for (std::size_t k = 0; k < kAtOnce; ++k)
        out[k] = static_cast<std::uint16_t>(first + take_lowest(bits));
    for (out += kAtOnce; bits != 0; ++out)
        *out = static_cast<std::uint16_t>(first + take_lowest(bits));
}

/// Bit k of the words from `first` on that do not fill a group.
HWY_INLINE std::uint64_t last_bits(const std::uint16_t* base,
                                   const std::uint16_t* next,
                                   std::size_t first,
                                   std::size_t n) {
    std::uint64_t bits = 0;
    for (std::size_t i = first; i < n; ++i)
        bits |= std::uint64_t{base[i] != next[i]} << (i - first);
    return bits;
}

/// changed_positions() of a segment in which much changes: counts first.
std::size_t many_positions(const std::uint16_t* base,
                           const std::uint16_t* next,
                           std::size_t n,
                           std::uint16_t* positions) {
    std::uint64_t bits[kSegmentWords / 64 + 1];
    const std::size_t whole = n / 64;
    bits[whole] = last_bits(base, next, whole * 64, n);
    std::size_t count = hwy::PopCount(bits[whole]);
    for (std::size_t g = 0; g < whole; ++g) {
        bits[g] = differing_bits(base + g * 64, next + g * 64);
        count += hwy::PopCount(bits[g]);
    }
    if (count > kSparseMax) return count;
    for (std::size_t g = 0; g <= whole; ++g) {
        write_positions<8>(bits[g], g * 64, positions);
        positions += hwy::PopCount(bits[g]);
    }
    return count;
}

/// Appends the positions of the groups that begin at `first` up to `last` to `count` ones. False
/// when a group holds many, so that `positions` cannot overflow.
template <std::size_t kAtOnce>
HWY_INLINE bool few_positions(const std::uint16_t* base,
                              const std::uint16_t* next,
                              std::size_t first,
                              std::size_t last,
                              std::uint16_t* positions,
                              std::size_t& count) {
    constexpr std::size_t kMany = 12;  // of 64
    static_assert(kSegmentWords / 64 * kMany <= kSparseMax);
    std::size_t found = count;
    for (std::size_t i = first; i < last; i += 64) {
        const std::uint64_t bits = differing_bits(base + i, next + i);
        const std::size_t more = hwy::PopCount(bits);
        if (more > kMany) return false;
        write_positions<kAtOnce>(bits, i, positions + found);
        found += more;
    }
    count = found;
    return true;
}

std::size_t changed_positions(const std::uint16_t* base,
                              const std::uint16_t* next,
                              std::size_t n,
                              std::uint16_t* positions) {
    // An eighth of the segment tells how many positions of a group to write without asking: each
    // question that is answered the other way costs as much as comparing the group.
    const std::size_t whole = n / 64 * 64;
    const std::size_t sample = whole < kSegmentWords / 8 ? whole : kSegmentWords / 8;
    std::size_t count = 0;
    bool few = few_positions<4>(base, next, 0, sample, positions, count);
    if (few && count * 64 <= sample)
        few = few_positions<2>(base, next, sample, whole, positions, count);
    else if (few && count * 20 <= sample)
        few = few_positions<4>(base, next, sample, whole, positions, count);
    else
        few = false;
    if (!few) return many_positions(base, next, n, positions);
    if (whole == n) return count;
    const std::uint64_t bits = last_bits(base, next, whole, n);
    write_positions<4>(bits, whole, positions + count);
    return count + hwy::PopCount(bits);
}

/// A key plus this has every digit as a plain unsigned field, 2^(bits - 1) too large.
constexpr std::uint64_t digit_bias() {
    std::uint64_t bias = 0;
    for (std::size_t d = 0; d < kKeyDigits; ++d)
        bias += std::uint64_t{1} << (kDigitShift[d] + kDigitBits[d] - 1);
    return bias;
}

using SignedTag = hn::RebindToSigned<WordTag>;
using SumTag = hn::RepartitionToWide<WordTag>;
using WideTag = hn::RepartitionToWide<SumTag>;
using SignedVec = hn::Vec<SignedTag>;
using SumVec = hn::Vec<SumTag>;
using WideVec = hn::Vec<WideTag>;

HWY_INLINE WideVec multiply(WideVec a, std::uint64_t factor) {
    const auto halves = [](WideVec v) HWY_ATTR { return hn::BitCast(SumTag(), v); };
    const auto low = halves(hn::Set(WideTag(), factor));
    const auto high = halves(hn::Set(WideTag(), factor >> 32));
    const auto cross =
        hn::Add(hn::MulEven(halves(a), high), hn::MulEven(halves(hn::ShiftRight<32>(a)), low));
    return hn::Add(hn::MulEven(halves(a), low), hn::ShiftLeft<32>(cross));
}

/// digest_key_at() of one index a lane.
HWY_INLINE WideVec keys_at(WideVec prefix, WideVec index) {
    auto z = multiply(hn::Xor(prefix, index), kDigestFactors[0]);
    z = multiply(hn::Xor(z, hn::ShiftRight<31>(z)), kDigestFactors[1]);
    return hn::Or(hn::Xor(z, hn::ShiftRight<30>(z)), hn::Set(WideTag(), 1));
}

/// The digits of one vector of columns, from their biased keys.
HWY_INLINE void store_digits(const std::uint64_t* biased, KeyGroup& group, std::size_t k) {
    static_assert(kDigitBits[0] == 11 && kDigitBits[1] == 11 && kDigitBits[2] == 10);
    const WordTag d;
    hn::Vec<WordTag> q0;  // bits 0..15 of the keys, and so on
    hn::Vec<WordTag> q1;
    hn::Vec<WordTag> q2;
    hn::Vec<WordTag> q3;
    hn::LoadInterleaved4(d, reinterpret_cast<const std::uint16_t*>(biased), q0, q1, q2, q3);
    const auto mask = hn::Set(d, 0x7FF);
    const auto middle = hn::Or(hn::ShiftRight<11>(q0), hn::ShiftLeft<5>(q1));
    const auto store = [&](std::size_t digit, hn::Vec<WordTag> field) HWY_ATTR {
        const auto half = hn::Set(d, static_cast<std::uint16_t>(1u << (kDigitBits[digit] - 1)));
        const hn::RebindToSigned<WordTag> to;
        hn::Store(hn::BitCast(to, hn::Sub(field, half)), to, group.digit[digit] + k);
    };
    store(0, hn::And(q0, mask));
    store(1, hn::And(middle, mask));
    store(2, hn::ShiftRight<6>(q1));
    store(3, q2);
    store(4, q3);
}

void fill_keys(const KeyRange& range, ColumnKeys& keys) {
    const WideTag d;
    const std::size_t lanes = hn::Lanes(d);
    const auto prefix = hn::Set(d, range.prefix);
    const auto bias = hn::Set(d, digit_bias());
    const auto step = hn::Set(d, range.step * lanes);
    auto index = hn::Add(hn::Set(d, range.first), multiply(hn::Iota(d, 0), range.step));
    std::uint64_t sum = 0;
    for (std::size_t g = 0; g < range.groups; ++g) {
        alignas(64) std::uint64_t biased[kGroupColumns];
        auto group_sum = hn::Zero(d);
        for (std::size_t k = 0; k < kGroupColumns; k += lanes) {
            const auto key = keys_at(prefix, index);
            group_sum = hn::Add(group_sum, key);
            hn::Store(hn::Add(key, bias), d, biased + k);
            index = hn::Add(index, step);
        }
        for (std::size_t k = 0; k < kGroupColumns; k += hn::Lanes(WordTag()))
            store_digits(biased + k, keys.groups[g], k);
        keys.sums[g] = sum;
        sum += hn::GetLane(hn::SumOfLanes(d, group_sum));
    }
    keys.sums[range.groups] = sum;
}

/// Sums of two adjacent products each, mod 2^32.
HWY_INLINE SumVec multiply_add(SignedVec a, SignedVec b) {
    const hn::RebindToSigned<SumTag> d;
    auto odd = hn::Zero(d);
    const auto even = hn::ReorderWidenMulAccumulate(d, a, b, hn::Zero(d), odd);
    return hn::Add(hn::BitCast(SumTag(), even), hn::BitCast(SumTag(), odd));
}

/// The running sum of key * word over groups of columns, where words are taken as signed numbers:
/// word - 2^15. The caller makes up for that.
class GroupSum {
public:
    // Spelled out: a constructor that the compiler makes would be of no level.
    HWY_INLINE GroupSum()
        : total_(hn::Zero(WideTag())),
          low0_(hn::Zero(SumTag())),
          low1_(hn::Zero(SumTag())),
          low2_(hn::Zero(SumTag())),
          high0_(hn::Zero(SumTag())),
          high1_(hn::Zero(SumTag())) {}

    HWY_INLINE void start_strip() {
        low0_ = low1_ = low2_ = hn::Set(SumTag(), kBias);
        ++strips_;
    }

    HWY_INLINE void add_low(const KeyGroup& keys, std::size_t k, const std::uint16_t* words) {
        const SignedVec word = load_signed(words + k);
        low0_ = hn::Add(low0_, multiply_add(word, hn::Load(SignedTag(), keys.digit[0] + k)));
        low1_ = hn::Add(low1_, multiply_add(word, hn::Load(SignedTag(), keys.digit[1] + k)));
        low2_ = hn::Add(low2_, multiply_add(word, hn::Load(SignedTag(), keys.digit[2] + k)));
    }

    HWY_INLINE void add_high(const KeyGroup& keys, std::size_t k, const std::uint16_t* words) {
        const SignedVec word = load_signed(words + k);
        high0_ = hn::Add(high0_, multiply_add(word, hn::Load(SignedTag(), keys.digit[3] + k)));
        high1_ = hn::Add(high1_, multiply_add(word, hn::Load(SignedTag(), keys.digit[4] + k)));
    }

    /// At the latest kStripSteps vectors after start_strip().
    HWY_INLINE void finish_strip() {
        total_ = hn::Add(total_, widened(low0_));
        total_ = hn::Add(total_, hn::ShiftLeft<kDigitShift[1]>(widened(low1_)));
        total_ = hn::Add(total_, hn::ShiftLeft<kDigitShift[2]>(widened(low2_)));
    }

    HWY_INLINE std::uint64_t sum() const {
        const auto high = hn::Add(hn::ShiftLeft<kDigitShift[3]>(widened(high0_)),
                                  hn::ShiftLeft<kDigitShift[4]>(widened(high1_)));
        const std::uint64_t all = hn::GetLane(hn::SumOfLanes(WideTag(), hn::Add(total_, high)));
        constexpr std::uint64_t kPerLane =
            kBias * ((std::uint64_t{1} << kDigitShift[0]) + (std::uint64_t{1} << kDigitShift[1]) +
                     (std::uint64_t{1} << kDigitShift[2]));
        return all - strips_ * hn::Lanes(SumTag()) * kPerLane;
    }

    // A pair sum lies in (-2^26, 2^26], 32 of them in (-2^31, 2^31]: with the bias in [0, 2^32).
    static constexpr std::size_t kStripSteps = 32;

private:
    static constexpr std::uint32_t kBias = 0x7FFFFFFF;

    static HWY_INLINE SignedVec load_signed(const std::uint16_t* words) {
        const WordTag d;
        return hn::BitCast(SignedTag(), hn::Xor(hn::LoadU(d, words), hn::Set(d, 0x8000)));
    }

    static HWY_INLINE WideVec widened(SumVec sums) {
        const WideVec pairs = hn::BitCast(WideTag(), sums);
        const auto even = hn::And(pairs, hn::Set(WideTag(), 0xFFFFFFFF));
        return hn::Add(even, hn::ShiftRight<32>(pairs));
    }

    WideVec total_;
    SumVec low0_;
    SumVec low1_;
    SumVec low2_;
    SumVec high0_;
    SumVec high1_;
    std::uint64_t strips_ = 0;
};

/// Fetches one line into the cache; the address may be anything.
HWY_INLINE void fetch(const std::uint16_t* words, std::size_t ahead) {
    const auto address = reinterpret_cast<std::uintptr_t>(words) + ahead * sizeof(*words);
    __builtin_prefetch(reinterpret_cast<const void*>(address), 0, 2);
}

/// Two rows of words under the same columns, and their sums. Of one row alone, `next` is unused.
struct RowPair {
    const std::uint16_t* base;
    const std::uint16_t* next;
    std::size_t ahead;
    GroupSum base_sum;
    GroupSum next_sum;

    HWY_INLINE RowPair(const std::uint16_t* base_words,
                       const std::uint16_t* next_words,
                       std::size_t words_ahead)
        : base(base_words), next(next_words), ahead(words_ahead) {}
};

template <bool kPair>
HWY_INLINE void add_groups(const KeyGroup* keys, std::size_t groups, RowPair& rows) {
    constexpr std::size_t kLanes = hn::MaxLanes(WordTag());
    constexpr std::size_t kStripGroups = GroupSum::kStripSteps * kLanes / kGroupColumns;
    // Copies, so that they stay in registers.
    GroupSum base_sum = rows.base_sum;
    GroupSum next_sum = rows.next_sum;
    const std::uint16_t* base = rows.base;
    const std::uint16_t* next = rows.next;
    while (groups > 0) {
        const std::size_t strip = groups < kStripGroups ? groups : kStripGroups;
        base_sum.start_strip();
        next_sum.start_strip();
        for (std::size_t g = 0; g < strip; ++g) {
            fetch(base + g * kGroupColumns, rows.ahead);
            if constexpr (kPair) fetch(next + g * kGroupColumns, rows.ahead);
            for (std::size_t k = 0; k < kGroupColumns; k += kLanes) {
                base_sum.add_low(keys[g], k, base + g * kGroupColumns);
                if constexpr (kPair) next_sum.add_low(keys[g], k, next + g * kGroupColumns);
            }
        }
        // A second loop, because all sums of two rows are more than there are registers.
        for (std::size_t g = 0; g < strip; ++g) {
            for (std::size_t k = 0; k < kGroupColumns; k += kLanes) {
                base_sum.add_high(keys[g], k, base + g * kGroupColumns);
                if constexpr (kPair) next_sum.add_high(keys[g], k, next + g * kGroupColumns);
            }
        }
        keys += strip;
        base += strip * kGroupColumns;
        if constexpr (kPair) next += strip * kGroupColumns;
        base_sum.finish_strip();
        if constexpr (kPair) next_sum.finish_strip();
        groups -= strip;
    }
    rows.base_sum = base_sum;
    rows.next_sum = next_sum;
    rows.base = base;
    rows.next = next;
}

/// Words that fill no whole group, from its column `first` on: zeros take the others' place.
template <bool kPair>
HWY_INLINE void add_part(const KeyGroup* keys,
                         std::size_t first,
                         std::size_t count,
                         RowPair& rows) {
    std::uint16_t base[kGroupColumns] = {};
    std::uint16_t next[kGroupColumns] = {};
    std::memcpy(base + first, rows.base, count * sizeof(std::uint16_t));
    if constexpr (kPair) std::memcpy(next + first, rows.next, count * sizeof(std::uint16_t));
    RowPair part(base, next, 0);
    part.base_sum = rows.base_sum;
    part.next_sum = rows.next_sum;
    add_groups<kPair>(keys, 1, part);
    rows.base_sum = part.base_sum;
    rows.next_sum = part.next_sum;
    rows.base += count;
    if constexpr (kPair) rows.next += count;
}

template <bool kPair>
HWY_INLINE TileDigests dot_rows(const KeyRun& run, RowPair rows) {
    const std::size_t first_group = run.first / kGroupColumns;
    std::size_t group = first_group;
    std::size_t left = run.count;
    const KeyGroup* keys = run.keys.groups.get();
    if (const std::size_t skipped = run.first % kGroupColumns; skipped != 0) {
        const std::size_t count = left < kGroupColumns - skipped ? left : kGroupColumns - skipped;
        add_part<kPair>(keys + group++, skipped, count, rows);
        left -= count;
    }
    add_groups<kPair>(keys + group, left / kGroupColumns, rows);
    group += left / kGroupColumns;
    left %= kGroupColumns;
    if (left != 0) add_part<kPair>(keys + group++, 0, left, rows);

    const std::uint64_t key_sum = run.keys.sums[group] - run.keys.sums[first_group];
    TileDigests dots;
    dots.base = rows.base_sum.sum() + (key_sum << 15);
    if constexpr (kPair) dots.next = rows.next_sum.sum() + (key_sum << 15);
    return dots;
}

std::uint64_t dot(const KeyRun& run, const std::uint16_t* words, std::size_t ahead) {
    return dot_rows<false>(run, RowPair(words, nullptr, ahead)).base;
}

TileDigests dot_pair(const KeyRun& run,
                     const std::uint16_t* base,
                     const std::uint16_t* next,
                     std::size_t ahead) {
    return dot_rows<true>(run, RowPair(base, next, ahead));
}

SimdOps simd_ops() { return {&equal_prefix, &changed_positions, &fill_keys, &dot, &dot_pair}; }

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
        levels.push_back({hwy::TargetName(target),
                          HWY_DISPATCH_TABLE(simd_ops)[dispatch_entry(target)](),
                          xc_ops_of_target(target)});
    }
    return levels;
}

}  // namespace refit

#endif
