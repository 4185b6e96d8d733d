// The inner loops of xc with vectors of eight lanes; included once per target that has AVX2.
//
// Lanes     A vector holds eight states in the order 0 2 4 6 1 3 5 7: packing two vectors of words
//           leaves them so. Tables that look at a mask of lanes know that order.
// Bytes     Taken and given in ascending order of lanes, for all lanes that need one, then for
// those
//           that need another (rare, and so asked once for all).
// Division  x / f in single precision, truncated, is exact: x < 2^23 and f < 2^14 are exact, and a
//           quotient below 2^9 that is no integer is at least 2^-14 away from the next one, which
//           is more than its rounding. A test goes through all of them.
#include <immintrin.h>

HWY_BEFORE_NAMESPACE();
namespace refit {
namespace HWY_NAMESPACE {

constexpr int kVectors = 4;

/// Which lane of a vector element e is.
constexpr unsigned lane_of(unsigned e) { return e < 4 ? 2 * e : 2 * (e - 4) + 1; }

struct ByteMoves {
    alignas(32) std::uint8_t spread[256][32];  // bytes in memory to the elements of a mask
    alignas(
        8) std::uint8_t collect[256][8];  // bytes of elements not in the mask to the end of eight
};

constexpr ByteMoves make_byte_moves() {
    ByteMoves moves{};
    for (unsigned mask = 0; mask < 256; ++mask) {
        for (unsigned i = 0; i < 32; ++i) moves.spread[mask][i] = 0x80;
        for (unsigned i = 0; i < 8; ++i) moves.collect[0xFF ^ mask][i] = 0x80;
        unsigned set = 0;
        for (unsigned e = 0; e < 8; ++e) set += mask >> e & 1;
        unsigned rank = 0;
        for (unsigned lane = 0; lane < 8; ++lane) {
            const unsigned e = lane % 2 == 0 ? lane / 2 : 4 + lane / 2;
            if ((mask >> e & 1) == 0) continue;
            moves.spread[mask][4 * e] = static_cast<std::uint8_t>(rank);
            moves.collect[0xFF ^ mask][8 - set + rank] = static_cast<std::uint8_t>(e);
            ++rank;
        }
    }
    return moves;
}

constexpr ByteMoves kMoves = make_byte_moves();

HWY_INLINE __m256i all(std::uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
HWY_INLINE __m256i all_bytes(std::uint8_t x) { return _mm256_set1_epi8(static_cast<char>(x)); }
HWY_INLINE __m256i load(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
HWY_INLINE std::uint32_t sign_bits(__m256i v) {
    return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(v)));
}
/// a where the top bit of `top` is clear, else b.
HWY_INLINE __m256i select(__m256i a, __m256i b, __m256i top) {
    return _mm256_castps_si256(
        _mm256_blendv_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), _mm256_castsi256_ps(top)));
}
template <int kControl>
HWY_INLINE __m256i shuffle(__m256i a, __m256i b) {
    return _mm256_castps_si256(
        _mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), kControl));
}

struct States {
    __m256i x[kVectors];
};

HWY_INLINE States load_states(const XcLanes& lanes) {
    const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    States states;
    for (int v = 0; v < kVectors; ++v)
        states.x[v] =
            _mm256_permutevar8x32_epi32(load(&lanes.x[8 * static_cast<unsigned>(v)]), order);
    return states;
}

HWY_INLINE void store_states(const States& states, XcLanes& lanes) {
    const __m256i back = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (int v = 0; v < kVectors; ++v) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(&lanes.x[8 * static_cast<unsigned>(v)]),
                            _mm256_permutevar8x32_epi32(states.x[v], back));
    }
}

/// One byte of the odds of every bucket, in both halves.
HWY_INLINE __m256i byte_table(const XcOdds& odds, unsigned shift) {
    alignas(16) std::uint8_t bytes[kXcBuckets];
    for (std::size_t b = 0; b < kXcBuckets; ++b)
        bytes[b] = static_cast<std::uint8_t>(odds[b] >> shift);
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<__m128i*>(bytes)));
}

/// The odds of words by their exponents.
class Odds {
public:
    Odds(XcContext context, const XcOdds& odds)
        : shift_(_mm_cvtsi32_si128(context.mantissa_bits + 1)),
          window_(all_bytes(context.window)),
          low_(byte_table(odds, 0)),
          high_(byte_table(odds, 8)) {}

    /// Buckets of two times sixteen words, as bytes: eight-byte pieces 0 2 1 3.
    HWY_INLINE __m256i buckets(__m256i a, __m256i b) const {
        return buckets_of(_mm256_packus_epi16(exponents(a), exponents(b)));
    }

    /// Odds of the buckets in the bytes of `bytes`: elements of bytes 0 and 1, then of 2 and 3.
    HWY_INLINE void look_up(__m256i bytes, __m256i& first, __m256i& second) const {
        const __m256i low = _mm256_shuffle_epi8(low_, bytes);
        const __m256i high = _mm256_shuffle_epi8(high_, bytes);
        const __m256i a = _mm256_unpacklo_epi8(low, high);
        const __m256i b = _mm256_unpackhi_epi8(low, high);
        first = shuffle<0x88>(a, b);
        second = shuffle<0xDD>(a, b);
    }

    /// Odds of the 16-bit words of a vector, in 16 bits each.
    HWY_INLINE __m256i of_words(__m256i words) const {
        const __m256i e = exponents(words);
        const __m256i bucket = buckets_of(e);  // the upper byte: exponent 0, bucket 0
        const __m256i low = _mm256_shuffle_epi8(low_, bucket);
        const __m256i high = _mm256_shuffle_epi8(high_, bucket);
        return _mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi16(0xFF)),
                               _mm256_slli_epi16(high, 8));
    }

private:
    HWY_INLINE __m256i exponents(__m256i words) const {
        return _mm256_srl_epi16(_mm256_slli_epi16(words, 1), shift_);
    }
    HWY_INLINE __m256i buckets_of(__m256i bytes) const {
        const __m256i above = _mm256_min_epu8(_mm256_subs_epu8(bytes, window_), all_bytes(15));
        return _mm256_max_epu8(above, _mm256_min_epu8(bytes, all_bytes(1)));
    }

    __m128i shift_;
    __m256i window_;
    __m256i low_;
    __m256i high_;
};

/// The buckets of the 64 words of a vector's eight lanes: `first` holds words 0..3 of each lane in
/// the bytes of its element, `second` words 4..7.
HWY_INLINE void lane_buckets(const Odds& odds,
                             const std::uint16_t* words,
                             __m256i& first,
                             __m256i& second) {
    const __m256i a = odds.buckets(load(words), load(words + 16));
    const __m256i b = odds.buckets(load(words + 32), load(words + 48));
    first = shuffle<0x88>(a, b);
    second = shuffle<0xDD>(a, b);
}

/// The odds of four steps of a vector, kept as pairs of 16 bits.
struct FourOdds {
    __m256i pair[2];

    template <int kStep>
    HWY_INLINE __m256i get() const {
        const __m256i both = pair[kStep / 2];
        if constexpr (kStep % 2 == 0) return _mm256_and_si256(both, all(0xFFFF));
        return _mm256_srli_epi32(both, 16);
    }
};

/// What one vector may read or write at once.
constexpr std::size_t kLoadBytes = 8;

/// Takes one byte for every element whose top bit is set in `need`.
HWY_INLINE __m256i take_bytes(__m256i x, __m256i need, const std::byte*& in) {
    const std::uint32_t mask = sign_bits(need);
    std::int64_t eight = 0;
    std::memcpy(&eight, in, sizeof(eight));
    in += std::popcount(mask);
    const __m256i control =
        _mm256_load_si256(reinterpret_cast<const __m256i*>(kMoves.spread[mask]));
    const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi64x(eight), control);
    return _mm256_or_si256(_mm256_sllv_epi32(x, _mm256_and_si256(need, all(8))), bytes);
}

/// One step of all lanes: sets the bits in `found` to all ones where they are 1.
HWY_INLINE void get_step(States& states,
                         const __m256i (&odds)[kVectors],
                         __m256i (&found)[kVectors],
                         const std::byte*& in) {
    const __m256i least = all(kXcStateMin);
    for (int v = 0; v < kVectors; ++v) {
        const __m256i x = states.x[v];
        const __m256i s = _mm256_and_si256(x, all(kXcOddsOne - 1));
        const __m256i t = _mm256_madd_epi16(_mm256_srli_epi32(x, kXcOddsBits), odds[v]);
        const __m256i one = _mm256_cmpgt_epi32(odds[v], s);
        const __m256i if_zero = _mm256_sub_epi32(_mm256_sub_epi32(x, odds[v]), t);
        found[v] = one;
        states.x[v] = select(if_zero, _mm256_add_epi32(t, s), one);
    }
    __m256i lowest = least;
    for (int v = 0; v < kVectors; ++v) {
        states.x[v] = take_bytes(states.x[v], _mm256_cmpgt_epi32(least, states.x[v]), in);
        lowest = _mm256_min_epi32(lowest, states.x[v]);
    }
    if (HWY_UNLIKELY(sign_bits(_mm256_cmpgt_epi32(least, lowest)) != 0)) {
        for (int v = 0; v < kVectors; ++v)
            states.x[v] = take_bytes(states.x[v], _mm256_cmpgt_epi32(least, states.x[v]), in);
    }
}

template <int kStep>
HWY_INLINE void get_flag_step(States& states,
                              const FourOdds (&four)[kVectors],
                              __m256i& bytes,
                              int bit,
                              const std::byte*& in) {
    __m256i odds[kVectors];
    __m256i found[kVectors];
    for (int v = 0; v < kVectors; ++v) odds[v] = four[v].get<kStep>();
    get_step(states, odds, found, in);
    const __m256i all_found = _mm256_packs_epi16(_mm256_packs_epi32(found[0], found[1]),
                                                 _mm256_packs_epi32(found[2], found[3]));
    const __m256i mask = all_bytes(static_cast<std::uint8_t>(1u << bit));
    bytes = _mm256_or_si256(bytes, _mm256_and_si256(all_found, mask));
}

/// Bytes of the lanes of four vectors, as packing leaves them, in the order of lanes: the low half
/// holds the even ones, the high half the odd ones.
HWY_INLINE void store_lane_bytes(__m256i bytes, std::uint8_t* out) {
    const __m128i even = _mm256_castsi256_si128(bytes);
    const __m128i odd = _mm256_extracti128_si256(bytes, 1);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_unpacklo_epi8(even, odd));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16), _mm_unpackhi_epi8(even, odd));
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
        __m256i buckets[2][kVectors];
        for (int v = 0; v < kVectors; ++v)
            lane_buckets(odds, words + 64 * v, buckets[0][v], buckets[1][v]);
        __m256i bytes = _mm256_setzero_si256();
        for (int half = 0; half < 2; ++half) {
            FourOdds four[kVectors];
            for (int v = 0; v < kVectors; ++v)
                odds.look_up(buckets[half][v], four[v].pair[0], four[v].pair[1]);
            get_flag_step<0>(states, four, bytes, 4 * half, in);
            get_flag_step<1>(states, four, bytes, 4 * half + 1, in);
            get_flag_step<2>(states, four, bytes, 4 * half + 2, in);
            get_flag_step<3>(states, four, bytes, 4 * half + 3, in);
        }
        store_lane_bytes(bytes, bits + group * (kXcGroupWords / 8));
    }
    store_states(states, lanes);
    return group;
}

/// The odds of 32 entries of a list, eight to a vector, in the order of the states.
HWY_INLINE void list_odds(const Odds& odds, const std::uint16_t* base, __m256i (&out)[kVectors]) {
    const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    for (int half = 0; half < 2; ++half) {
        const __m256i words = odds.of_words(load(base + 16 * half));
        const __m256i low = _mm256_cvtepu16_epi32(_mm256_castsi256_si128(words));
        const __m256i high = _mm256_cvtepu16_epi32(_mm256_extracti128_si256(words, 1));
        out[2 * half] = _mm256_permutevar8x32_epi32(low, order);
        out[2 * half + 1] = _mm256_permutevar8x32_epi32(high, order);
    }
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
        __m256i these[kVectors];
        __m256i found[kVectors];
        list_odds(odds, run.base + group * kXcLanes, these);
        get_step(states, these, found, in);
        const __m256i back = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        std::uint32_t decided = 0;
        for (int v = 0; v < kVectors; ++v)
            decided |= sign_bits(_mm256_permutevar8x32_epi32(found[v], back)) << (8 * v);
        bits[group] = decided;
    }
    store_states(states, lanes);
    return group;
}

/// Adds how many of `vectors` times 32 bytes are b, for eight b from `first` on.
HWY_INLINE void count_eight(const __m256i* bytes,
                            std::size_t vectors,
                            unsigned first,
                            std::uint64_t* counts) {
    __m256i total[8];
    for (__m256i& t : total) t = _mm256_setzero_si256();
    for (std::size_t i = 0; i < vectors; ++i) {  // at most 255: the totals are bytes
        for (unsigned b = 0; b < 8; ++b) {
            const auto bucket = all_bytes(static_cast<std::uint8_t>(first + b));
            total[b] = _mm256_sub_epi8(total[b], _mm256_cmpeq_epi8(bytes[i], bucket));
        }
    }
    for (unsigned b = 0; b < 8; ++b) {
        alignas(32) std::uint64_t parts[4];
        _mm256_store_si256(reinterpret_cast<__m256i*>(parts),
                           _mm256_sad_epu8(total[b], _mm256_setzero_si256()));
        counts[first + b] += parts[0] + parts[1] + parts[2] + parts[3];
    }
}

std::size_t count_buckets(const std::uint16_t* base,
                          std::size_t words,
                          XcContext context,
                          XcBucketWords& counts) {
    constexpr std::size_t kVectorsAtOnce = 128;  // of 32 words
    const Odds odds(context, XcOdds{});
    __m256i bytes[kVectorsAtOnce];
    const std::size_t whole = words / 32;
    for (std::size_t first = 0; first < whole; first += kVectorsAtOnce) {
        const std::size_t left = whole - first;
        const std::size_t count = left < kVectorsAtOnce ? left : kVectorsAtOnce;
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint16_t* from = base + (first + i) * 32;
            bytes[i] = odds.buckets(load(from), load(from + 16));
        }
        count_eight(bytes, count, 0, counts.data());
        count_eight(bytes, count, 8, counts.data());
    }
    return whole * 32;
}

void test_bits(const std::uint16_t* values, std::size_t count, Shifts shifts, std::uint32_t* bits) {
    const __m128i left = _mm_cvtsi32_si128(static_cast<int>(shifts.left));
    const __m128i right = _mm_cvtsi32_si128(static_cast<int>(shifts.right));
    const auto clear = [&](const std::uint16_t* from) {  // ones where the bit is 0
        const __m256i shifted = _mm256_srl_epi16(_mm256_sll_epi16(load(from), left), right);
        return _mm256_cmpeq_epi16(shifted, _mm256_setzero_si256());
    };
    std::size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        const __m256i packed = _mm256_packs_epi16(clear(values + i), clear(values + i + 16));
        const __m256i ordered = _mm256_permute4x64_epi64(packed, 0xD8);
        bits[i / 32] = ~static_cast<std::uint32_t>(_mm256_movemask_epi8(ordered));
    }
    if (i == count) return;
    bits[i / 32] = 0;
    for (; i < count; ++i) bits[i / 32] |= std::uint32_t{shifts.test(values[i])} << i % 32;
}

}  // namespace HWY_NAMESPACE
}  // namespace refit
HWY_AFTER_NAMESPACE();
