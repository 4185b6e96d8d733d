// The encoding loops of xc with vectors of eight lanes; included behind xc_avx2.inl, whose lanes,
// bytes and division these are.
HWY_BEFORE_NAMESPACE();
namespace refit {
namespace HWY_NAMESPACE {

/// What lanes decide, as an encoder wants it. With the share f of what is decided, an element holds
/// 2^14 - f in its low half, and in its high half the same for a 0, or 0 for a 1.
HWY_INLINE __m256i share_of(__m256i decided) {
    return _mm256_sub_epi32(all(kXcOddsOne), _mm256_and_si256(decided, all(0xFFFF)));
}

/// Gives the lowest byte of every element whose top bit is clear in `keep`, in front of `out`.
HWY_INLINE __m256i give_bytes(__m256i x, __m256i keep, std::byte*& out) {
    const std::uint32_t kept = sign_bits(keep);
    const __m256i low = _mm256_shuffle_epi8(
        x, _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,  //
                            -1, -1, -1, -1, 0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1));
    const __m128i eight =
        _mm_or_si128(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    const __m128i control = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kMoves.collect[kept]));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out - kLoadBytes),
                     _mm_shuffle_epi8(eight, control));
    out += std::popcount(kept) - 8;
    return _mm256_srlv_epi32(x, _mm256_andnot_si256(keep, all(8)));
}

/// Encodes one step of all lanes.
HWY_INLINE void put_step(States& states, const __m256i (&decided)[kVectors], std::byte*& out) {
    constexpr int kRise = kXcStateBits - kXcOddsBits + 8;
    __m256i share[kVectors];
    __m256i smallest = all(kXcOddsOne);
    for (int v = 0; v < kVectors; ++v) {
        share[v] = share_of(decided[v]);
        smallest = _mm256_min_epi32(smallest, share[v]);
    }
    // Two bytes leave a lane only where x / 2^16 may reach twice the share: below 2^7 / 2.
    if (HWY_UNLIKELY(sign_bits(_mm256_cmpgt_epi32(all(64), smallest)) != 0)) {
        for (int v = kVectors - 1; v >= 0; --v) {
            const __m256i limit = _mm256_slli_epi32(share[v], kRise + 8);
            states.x[v] = give_bytes(states.x[v], _mm256_cmpgt_epi32(limit, states.x[v]), out);
        }
    }
    for (int v = kVectors - 1; v >= 0; --v) {
        const __m256i limit = _mm256_slli_epi32(share[v], kRise);
        const __m256i x = give_bytes(states.x[v], _mm256_cmpgt_epi32(limit, states.x[v]), out);
        const __m256i quotient =
            _mm256_cvttps_epi32(_mm256_div_ps(_mm256_cvtepi32_ps(x), _mm256_cvtepi32_ps(share[v])));
        // quotient * low half + 1 * high half
        const __m256i pair = _mm256_or_si256(quotient, all(0x10000));
        states.x[v] = _mm256_add_epi32(x, _mm256_madd_epi16(pair, decided[v]));
    }
}

/// The decisions of words by their buckets.
class Decisions {
public:
    explicit Decisions(const XcOdds& odds) {
        XcOdds rest;
        for (std::size_t b = 0; b < kXcBuckets; ++b)
            rest[b] = static_cast<std::uint16_t>(kXcOddsOne - odds[b]);
        for (unsigned half = 0; half < 2; ++half) {
            odds_[half] = byte_table(odds, 8 * half);
            rest_[half] = byte_table(rest, 8 * half);
        }
    }

    /// Four steps of a vector, from bytes of buckets and from bytes that are all ones for a 1, in
    /// the same order: of the elements of either half of the vector, step after step.
    HWY_INLINE void look_up(__m256i buckets, __m256i ones, __m256i (&steps)[4]) const {
        // An index with its top bit set finds 0.
        const __m256i if_zero = _mm256_or_si256(buckets, ones);
        const __m256i if_one = _mm256_or_si256(buckets, _mm256_xor_si256(ones, all(~0u)));
        const __m256i low0 = _mm256_shuffle_epi8(odds_[0], if_zero);
        const __m256i low1 = _mm256_shuffle_epi8(odds_[1], if_zero);
        const __m256i high0 = _mm256_or_si256(low0, _mm256_shuffle_epi8(rest_[0], if_one));
        const __m256i high1 = _mm256_or_si256(low1, _mm256_shuffle_epi8(rest_[1], if_one));
        const __m256i start01 = _mm256_unpacklo_epi8(low0, low1);
        const __m256i start23 = _mm256_unpackhi_epi8(low0, low1);
        const __m256i rest01 = _mm256_unpacklo_epi8(high0, high1);
        const __m256i rest23 = _mm256_unpackhi_epi8(high0, high1);
        steps[0] = _mm256_unpacklo_epi16(rest01, start01);
        steps[1] = _mm256_unpackhi_epi16(rest01, start01);
        steps[2] = _mm256_unpacklo_epi16(rest23, start23);
        steps[3] = _mm256_unpackhi_epi16(rest23, start23);
    }

private:
    __m256i odds_[2];  // bytes of the odds, low ones first
    __m256i rest_[2];  // likewise of 2^14 - odds
};

/// In each half of a vector, byte k of element e to byte e of element k.
HWY_INLINE __m256i transposed(__m256i v) {
    return _mm256_shuffle_epi8(
        v, _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15,  //
                            0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
}

std::size_t put_flags(const XcRun& run, const std::uint8_t* bits, XcLanes& lanes, std::byte*& out) {
    const Odds odds(run.context, run.odds);
    const Decisions decisions(run.odds);
    // The flags of even lanes, then of odd ones, four times each: for four steps.
    const __m256i spread = _mm256_setr_epi8(0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6,  //
                                            1, 3, 5, 7, 1, 3, 5, 7, 1, 3, 5, 7, 1, 3, 5, 7);
    const __m256i low_bits = _mm256_set1_epi64x(0x02020202'01010101);
    const __m256i bit_of[2] = {
        _mm256_blend_epi32(low_bits, _mm256_slli_epi16(low_bits, 2), 0xCC),
        _mm256_blend_epi32(_mm256_slli_epi16(low_bits, 4), _mm256_slli_epi16(low_bits, 6), 0xCC)};
    States states = load_states(lanes);
    for (std::size_t group = run.groups; group-- > 0;) {
        const std::uint16_t* words = run.base + group * kXcGroupWords;
        fetch_group_before(words);
        __m256i buckets[2][kVectors];
        __m256i flags[kVectors];
        for (int v = 0; v < kVectors; ++v) {
            lane_buckets(odds, words + 64 * v, buckets[0][v], buckets[1][v]);
            std::int64_t eight = 0;
            std::memcpy(&eight, bits + group * (kXcGroupWords / 8) + 8 * v, sizeof(eight));
            flags[v] = _mm256_shuffle_epi8(_mm256_set1_epi64x(eight), spread);
        }
        for (int half = 1; half >= 0; --half) {
            __m256i steps[kVectors][4];
            for (int v = 0; v < kVectors; ++v) {
                const __m256i ones =
                    _mm256_cmpeq_epi8(_mm256_and_si256(flags[v], bit_of[half]), bit_of[half]);
                decisions.look_up(transposed(buckets[half][v]), ones, steps[v]);
            }
            for (int step = 3; step >= 0; --step) {
                const __m256i decided[kVectors] = {steps[0][step], steps[1][step], steps[2][step],
                                                   steps[3][step]};
                put_step(states, decided, out);
            }
        }
    }
    store_states(states, lanes);
    return run.groups;
}

std::size_t put_list(const XcRun& run, const std::uint32_t* bits, XcLanes& lanes, std::byte*& out) {
    const Odds odds(run.context, run.odds);
    const __m256i lane = _mm256_setr_epi32(31, 29, 27, 25, 30, 28, 26, 24);  // its bit to the top
    States states = load_states(lanes);
    for (std::size_t group = run.groups; group-- > 0;) {
        __m256i these[kVectors];
        __m256i decided[kVectors];
        list_odds(odds, run.base + group * kXcLanes, these);
        for (int v = 0; v < kVectors; ++v) {
            const __m256i one = _mm256_sllv_epi32(all(bits[group] >> (8 * v)), lane);
            decided[v] = select(_mm256_or_si256(these[v], _mm256_slli_epi32(these[v], 16)),
                                _mm256_sub_epi32(all(kXcOddsOne), these[v]), one);
        }
        put_step(states, decided, out);
    }
    store_states(states, lanes);
    return run.groups;
}

}  // namespace HWY_NAMESPACE
}  // namespace refit
HWY_AFTER_NAMESPACE();
