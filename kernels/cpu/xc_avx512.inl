// The inner loops of xc with vectors of sixteen lanes; included once per target that has AVX-512.
//
// Lanes     A vector holds sixteen states, in order.
// Bytes     Taken and given in ascending order of lanes, for all lanes that need one, then for
// those
//           that need another (rare, and so asked once for all).
// Division  as in xc_avx2.inl: exact.
#include <immintrin.h>

HWY_BEFORE_NAMESPACE();
namespace refit {
namespace HWY_NAMESPACE {

constexpr int kVectors = 2;
constexpr unsigned kVectorLanes = 16;

HWY_INLINE __m512i all(std::uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
HWY_INLINE __m512i load(const void* from) { return _mm512_loadu_si512(from); }

struct States {
    __m512i x[kVectors];
};

HWY_INLINE States load_states(const XcLanes& lanes) {
    return {{load(lanes.x.data()), load(lanes.x.data() + kVectorLanes)}};
}

HWY_INLINE void store_states(const States& states, XcLanes& lanes) {
    for (unsigned v = 0; v < kVectors; ++v)
        _mm512_storeu_si512(lanes.x.data() + v * kVectorLanes, states.x[v]);
}

/// The odds of words by their exponents.
class Odds {
public:
    Odds(XcContext context, const XcOdds& odds)
        : shift_(_mm_cvtsi32_si128(context.mantissa_bits + 1)),
          window_(_mm512_set1_epi16(context.window)),
          odds_(_mm512_castsi256_si512(
              _mm256_loadu_si256(reinterpret_cast<const __m256i*>(odds.data())))) {}

    /// Buckets of 32 words, in 16 bits each.
    HWY_INLINE __m512i buckets(__m512i words) const {
        const __m512i e = _mm512_srl_epi16(_mm512_slli_epi16(words, 1), shift_);
        const __m512i above =
            _mm512_min_epu16(_mm512_subs_epu16(e, window_), _mm512_set1_epi16(15));
        return _mm512_max_epu16(above, _mm512_min_epu16(e, _mm512_set1_epi16(1)));
    }

    HWY_INLINE __m512i of_words(__m512i words) const {
        return _mm512_permutexvar_epi16(buckets(words), odds_);
    }

private:
    __m128i shift_;
    __m512i window_;
    __m512i odds_;
};

/// The odds of the 128 words of a vector's sixteen lanes: pair[k] holds those of words 2k and
/// 2k + 1 of each lane.
struct LaneOdds {
    __m512i pair[4];

    LaneOdds(const Odds& odds, const std::uint16_t* words) {
        // Four lanes of four pairs each; to pairs 0 and 1, and 2 and 3, of eight lanes.
        const __m512i low =
            _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
        const __m512i high =
            _mm512_setr_epi32(2, 6, 10, 14, 18, 22, 26, 30, 3, 7, 11, 15, 19, 23, 27, 31);
        __m512i four[4];
        for (unsigned i = 0; i < 4; ++i) four[i] = odds.of_words(load(words + 32 * i));
        const __m512i a01 = _mm512_permutex2var_epi32(four[0], low, four[1]);
        const __m512i a23 = _mm512_permutex2var_epi32(four[0], high, four[1]);
        const __m512i b01 = _mm512_permutex2var_epi32(four[2], low, four[3]);
        const __m512i b23 = _mm512_permutex2var_epi32(four[2], high, four[3]);
        pair[0] = _mm512_shuffle_i64x2(a01, b01, 0x44);
        pair[1] = _mm512_shuffle_i64x2(a01, b01, 0xEE);
        pair[2] = _mm512_shuffle_i64x2(a23, b23, 0x44);
        pair[3] = _mm512_shuffle_i64x2(a23, b23, 0xEE);
    }

    template <int kStep>
    HWY_INLINE __m512i get() const {
        if constexpr (kStep % 2 == 0) return _mm512_and_si512(pair[kStep / 2], all(0xFFFF));
        return _mm512_srli_epi32(pair[kStep / 2], 16);
    }
};

/// Takes one byte for every lane below the least state.
HWY_INLINE __m512i take_bytes(__m512i x, const std::byte*& in) {
    const __mmask16 need = _mm512_cmplt_epu32_mask(x, all(kXcStateMin));
    const __m512i bytes =
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in)));
    in += std::popcount(static_cast<unsigned>(need));
    return _mm512_or_si512(_mm512_mask_slli_epi32(x, need, x, 8),
                           _mm512_maskz_expand_epi32(need, bytes));
}

/// One step of all lanes; `ones` gets a bit per lane.
HWY_INLINE void get_step(States& states,
                         const __m512i (&odds)[kVectors],
                         __mmask16 (&ones)[kVectors],
                         const std::byte*& in) {
    for (int v = 0; v < kVectors; ++v) {
        const __m512i x = states.x[v];
        const __m512i s = _mm512_and_si512(x, all(kXcOddsOne - 1));
        const __m512i t = _mm512_madd_epi16(_mm512_srli_epi32(x, kXcOddsBits), odds[v]);
        const __m512i if_zero = _mm512_sub_epi32(_mm512_sub_epi32(x, odds[v]), t);
        ones[v] = _mm512_cmplt_epu32_mask(s, odds[v]);
        states.x[v] = _mm512_mask_add_epi32(if_zero, ones[v], t, s);
    }
    for (int v = 0; v < kVectors; ++v) states.x[v] = take_bytes(states.x[v], in);
    const __m512i lowest = _mm512_min_epu32(states.x[0], states.x[1]);
    if (HWY_UNLIKELY(_mm512_cmplt_epu32_mask(lowest, all(kXcStateMin)) != 0))
        for (int v = 0; v < kVectors; ++v) states.x[v] = take_bytes(states.x[v], in);
}

/// Gives the lowest byte of every lane in `need`, in front of `out`.
HWY_INLINE __m512i give_bytes(__m512i x, __mmask16 need, std::byte*& out) {
    const int count = std::popcount(static_cast<unsigned>(need));
    out -= count;
    const __m128i bytes = _mm512_cvtepi32_epi8(_mm512_maskz_compress_epi32(need, x));
    _mm_mask_storeu_epi8(out, static_cast<__mmask16>((1u << count) - 1), bytes);
    return _mm512_mask_srli_epi32(x, need, x, 8);
}

/// Encodes one step of all lanes.
HWY_INLINE void put_step(States& states,
                         const __m512i (&odds)[kVectors],
                         const __mmask16 (&ones)[kVectors],
                         std::byte*& out) {
    constexpr int kRise = kXcStateBits - kXcOddsBits + 8;
    __m512i share[kVectors];
    __mmask16 twice[kVectors];
    for (int v = 0; v < kVectors; ++v) {
        share[v] =
            _mm512_mask_mov_epi32(_mm512_sub_epi32(all(kXcOddsOne), odds[v]), ones[v], odds[v]);
        twice[v] = _mm512_cmpge_epu32_mask(states.x[v], _mm512_slli_epi32(share[v], kRise + 8));
    }
    if (HWY_UNLIKELY((twice[0] | twice[1]) != 0))
        for (int v = kVectors - 1; v >= 0; --v)
            states.x[v] = give_bytes(states.x[v], twice[v], out);
    for (int v = kVectors - 1; v >= 0; --v) {
        const __mmask16 need =
            _mm512_cmpge_epu32_mask(states.x[v], _mm512_slli_epi32(share[v], kRise));
        const __m512i x = give_bytes(states.x[v], need, out);
        const __m512i quotient =
            _mm512_cvttps_epi32(_mm512_div_ps(_mm512_cvtepi32_ps(x), _mm512_cvtepi32_ps(share[v])));
        const __m512i rest = _mm512_sub_epi32(all(kXcOddsOne), share[v]);
        const __m512i start = _mm512_mask_mov_epi32(odds[v], ones[v], _mm512_setzero_si512());
        states.x[v] =
            _mm512_add_epi32(_mm512_add_epi32(x, start), _mm512_madd_epi16(quotient, rest));
    }
}

template <int kStep>
HWY_INLINE void get_flag_step(States& states,
                              const LaneOdds (&lane_odds)[kVectors],
                              __m512i (&bytes)[kVectors],
                              const std::byte*& in) {
    const __m512i odds[kVectors] = {lane_odds[0].get<kStep>(), lane_odds[1].get<kStep>()};
    __mmask16 ones[kVectors];
    get_step(states, odds, ones, in);
    for (int v = 0; v < kVectors; ++v)
        bytes[v] = _mm512_mask_or_epi32(bytes[v], ones[v], bytes[v], all(1u << kStep));
}

std::size_t get_flags(const XcRun& run,
                      std::uint8_t* bits,
                      XcLanes& lanes,
                      const std::byte*& in,
                      const std::byte* end) {
    const Odds odds(run.context, run.odds);
    States states = load_states(lanes);
    std::size_t group = 0;
    for (; group < run.groups; ++group) {
        if (in > end) break;
        const std::uint16_t* words = run.base + group * kXcGroupWords;
        const LaneOdds lane_odds[kVectors] = {{odds, words}, {odds, words + kXcGroupWords / 2}};
        __m512i bytes[kVectors] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
        get_flag_step<0>(states, lane_odds, bytes, in);
        get_flag_step<1>(states, lane_odds, bytes, in);
        get_flag_step<2>(states, lane_odds, bytes, in);
        get_flag_step<3>(states, lane_odds, bytes, in);
        get_flag_step<4>(states, lane_odds, bytes, in);
        get_flag_step<5>(states, lane_odds, bytes, in);
        get_flag_step<6>(states, lane_odds, bytes, in);
        get_flag_step<7>(states, lane_odds, bytes, in);
        std::uint8_t* const to = bits + group * (kXcGroupWords / 8);
        for (unsigned v = 0; v < kVectors; ++v)
            _mm_storeu_si128(reinterpret_cast<__m128i*>(to + v * kVectorLanes),
                             _mm512_cvtepi32_epi8(bytes[v]));
    }
    store_states(states, lanes);
    return group;
}

template <int kStep>
HWY_INLINE void put_flag_step(States& states,
                              const LaneOdds (&lane_odds)[kVectors],
                              const __m512i (&bytes)[kVectors],
                              std::byte*& out) {
    const __m512i odds[kVectors] = {lane_odds[0].get<kStep>(), lane_odds[1].get<kStep>()};
    const __mmask16 ones[kVectors] = {_mm512_test_epi32_mask(bytes[0], all(1u << kStep)),
                                      _mm512_test_epi32_mask(bytes[1], all(1u << kStep))};
    put_step(states, odds, ones, out);
}

std::size_t put_flags(const XcRun& run, const std::uint8_t* bits, XcLanes& lanes, std::byte*& out) {
    const Odds odds(run.context, run.odds);
    States states = load_states(lanes);
    for (std::size_t group = run.groups; group-- > 0;) {
        const std::uint16_t* words = run.base + group * kXcGroupWords;
        fetch_group_before(words);
        const LaneOdds lane_odds[kVectors] = {{odds, words}, {odds, words + kXcGroupWords / 2}};
        __m512i bytes[kVectors];
        for (unsigned v = 0; v < kVectors; ++v) {
            const std::uint8_t* from = bits + group * (kXcGroupWords / 8) + v * kVectorLanes;
            bytes[v] =
                _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
        }
        put_flag_step<7>(states, lane_odds, bytes, out);
        put_flag_step<6>(states, lane_odds, bytes, out);
        put_flag_step<5>(states, lane_odds, bytes, out);
        put_flag_step<4>(states, lane_odds, bytes, out);
        put_flag_step<3>(states, lane_odds, bytes, out);
        put_flag_step<2>(states, lane_odds, bytes, out);
        put_flag_step<1>(states, lane_odds, bytes, out);
        put_flag_step<0>(states, lane_odds, bytes, out);
    }
    store_states(states, lanes);
    return run.groups;
}

/// The odds of 32 entries of a list.
HWY_INLINE void list_odds(const Odds& odds, const std::uint16_t* base, __m512i (&out)[kVectors]) {
    const __m512i words = odds.of_words(load(base));
    out[0] = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(words));
    out[1] = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(words, 1));
}

std::size_t put_list(const XcRun& run, const std::uint32_t* bits, XcLanes& lanes, std::byte*& out) {
    const Odds odds(run.context, run.odds);
    States states = load_states(lanes);
    for (std::size_t group = run.groups; group-- > 0;) {
        __m512i these[kVectors];
        list_odds(odds, run.base + group * kXcLanes, these);
        const __mmask16 ones[kVectors] = {static_cast<__mmask16>(bits[group]),
                                          static_cast<__mmask16>(bits[group] >> kVectorLanes)};
        put_step(states, these, ones, out);
    }
    store_states(states, lanes);
    return run.groups;
}

std::size_t get_list(const XcRun& run,
                     std::uint32_t* bits,
                     XcLanes& lanes,
                     const std::byte*& in,
                     const std::byte* end) {
    const Odds odds(run.context, run.odds);
    States states = load_states(lanes);
    std::size_t group = 0;
    for (; group < run.groups; ++group) {
        if (in > end) break;
        __m512i these[kVectors];
        __mmask16 ones[kVectors];
        list_odds(odds, run.base + group * kXcLanes, these);
        get_step(states, these, ones, in);
        bits[group] = static_cast<std::uint32_t>(ones[0]) | static_cast<std::uint32_t>(ones[1])
                                                                << kVectorLanes;
    }
    store_states(states, lanes);
    return group;
}

std::size_t count_buckets(const std::uint16_t* base,
                          std::size_t words,
                          XcContext context,
                          XcBucketWords& counts) {
    const Odds odds(context, XcOdds{});
    std::size_t i = 0;
    for (; i + 32 <= words; i += 32) {
        const __m512i buckets = odds.buckets(load(base + i));
        for (unsigned b = 0; b < kXcBuckets; ++b) {
            const auto same = static_cast<std::uint32_t>(
                _mm512_cmpeq_epi16_mask(buckets, _mm512_set1_epi16(static_cast<short>(b))));
            counts[b] += static_cast<std::uint64_t>(std::popcount(same));
        }
    }
    return i;
}

void test_bits(const std::uint16_t* values, std::size_t count, Shifts shifts, std::uint32_t* bits) {
    const __m128i left = _mm_cvtsi32_si128(static_cast<int>(shifts.left));
    const __m128i right = _mm_cvtsi32_si128(static_cast<int>(shifts.right));
    std::size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        const __m512i shifted = _mm512_srl_epi16(_mm512_sll_epi16(load(values + i), left), right);
        bits[i / 32] = _mm512_test_epi16_mask(shifted, shifted);
    }
    if (i == count) return;
    bits[i / 32] = 0;
    for (; i < count; ++i) bits[i / 32] |= std::uint32_t{shifts.test(values[i])} << i % 32;
}

}  // namespace HWY_NAMESPACE
}  // namespace refit
HWY_AFTER_NAMESPACE();
