// The weight field: any word of any version of a made-up model as a function of its address.
//
// Model     word(v) = BF16(w + d(v)), rounded to the nearest, as a trainer casts its masters.
//   w         sum of three uniform integers and a finer one, times a scale: near Gaussian, flat
//             around zero, so each exponent step down halves the share of weights.
//   d, drift  a * C(v) + b * S(v) + c * F(v): a, b near Gaussian integers of the word, (C, S) a
//             chord of a closed orbit of one turn an epoch, c and F a faster motion of five. One
//             step moves the master by u: |u| is half normal, the place in the rounding cell is
//             uniform, so p(change | exponent e) = E min(1, |u| / 2^(e-7)); the direction is a
//             fair coin that turns slowly. Rows and columns scale u by an activity of their own,
//             and rows start anywhere on the orbit.
//   fresh     w is a BF16 word, as masters are when training starts from a published model; d is
//             the place on the orbit itself, which no epoch changes, and an offset of the word that
//             stays: together 33 times the mean |u|. Words whose d never reaches half a cell do
//             not change.
//   draw      the other law: no d; a word changes with a given chance, whatever its exponent, and
//             moves by one step of its own in monotone order: +-1, or to any other word.
// Versions  epochs of 64. d is 0 at every 64th version, where new draws of a, b take over, so
//           versions go on for ever and none needs an earlier one; of fresh, version 64 is 0 again.
//           O(1) per word.
// Exact     integers, and single IEEE + and * of which no product is ever rounded (each is an
//           integer below 2^24 times a power of two), so fused or not gives the same bits; no
//           order, no lane and no compiler can matter.
// Shapes    a tensor is rows x columns, its last dimension the columns. Columns are below 2^32.
// Source    notes/traces.md: the law and |u|; persistence, growth over steps and turning measured
//           on the shared traces (tests/workloads/realism_test.cpp).
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace refit {

inline constexpr std::uint32_t kEpochVersions = 64;

enum class FieldLaw : std::uint8_t {
    still,   // no word changes
    drift,   // the law of a trainer with finer masters
    spread,  // each word on its own with one chance
    even,    // the same number of words, give or take two, in each aligned segment of 4096
    fresh,   // drift of masters that began as BF16 words
};

/// What the words of one tensor have in common.
struct FieldTensor {
    std::uint64_t key = 0;  // of the seed and the tensor
    std::uint64_t columns = 0;
    std::uint32_t sigma = 8;          // 1..15; the standard deviation is sigma * 2^sigma_exponent
    std::int32_t sigma_exponent = 0;  // -60..60
    bool around_one = false;          // norms: the mean is 1
    FieldLaw law = FieldLaw::still;
    // drift and fresh
    std::int32_t activity = 0;        // log2 of the mean of |u|, in 1/64, up to a constant
    std::uint32_t row_spread = 0;     // standard deviation of ln(activity of a row), in 1/64
    std::uint32_t column_levels = 1;  // 1, 2, 4 or 8: columns have activity 16, 15, .. of 16
    std::uint32_t steps = 1;          // of the orbit, from one version to the next; below 64
    // spread and even, in units of 2^-32, up to 2^32
    std::uint64_t chance = 0;
    std::uint64_t hot_chance = 0;  // of one row in each ten
    bool any_word = false;         // steps to any other word, not by +-1
};

/// From which version to which: version / 64 is one epoch for both, its end included.
struct FieldSpan {
    std::uint64_t version = 0;
    std::uint32_t steps = 1;
};

struct FieldWords {
    std::uint16_t base;
    std::uint16_t next;
};

/// One version of the orbits of a row.
struct FieldOrbit {
    float slow_cos;
    float slow_sin;
    float fast;
    float bias;
};

/// How many changes a word has behind it: all of them `whole`, some one more.
struct FieldCount {
    std::uint32_t whole;
    std::uint32_t low;
};

/// What the words of one row of one pair of versions have in common.
struct FieldRow {
    std::uint32_t counter;
    std::uint32_t flip;
    std::uint32_t epoch;
    float fine_scale;
    float coarse_scale;
    float centre;
    float offset_scale;
    std::uint32_t column_key;
    std::uint32_t column_mask;
    FieldOrbit from;
    FieldOrbit to;
    FieldCount base;
    FieldCount next;
    std::uint32_t first_word;  // of the row in its tensor, mod 2^32
    std::uint32_t even_key;
    std::uint32_t any_word;  // all bits, or none
};

/// 2896 * 2^(i / 64): what the radius of an orbit may be, so that every sum stays below 2^24.
inline constexpr std::int32_t kFieldRadius[] = {
    2896, 2928, 2959, 2992, 3024, 3057, 3090, 3124, 3158, 3192, 3227, 3262, 3298, 3334, 3370, 3407,
    3444, 3481, 3519, 3558, 3596, 3636, 3675, 3715, 3756, 3797, 3838, 3880, 3922, 3965, 4008, 4051,
    4096, 4140, 4185, 4231, 4277, 4323, 4371, 4418, 4466, 4515, 4564, 4614, 4664, 4715, 4766, 4818,
    4870, 4924, 4977, 5031, 5086, 5141, 5197, 5254, 5311, 5369, 5428, 5487, 5546, 5607, 5668, 5730};

/// Sixteen equally likely values of a standard normal, in 1/64 of an octave: 64 * z / ln 2.
inline constexpr std::int32_t kFieldNormal[] = {-172, -122, -93, -72, -53, -37, -22, -7,
                                                7,    22,   37,  53,  72,  93,  122, 172};

/// 2^14 * cos(i * 2 pi / 64), the first quarter.
inline constexpr std::int32_t kFieldCosine[] = {16384, 16305, 16069, 15679, 15137, 14449,
                                                13623, 12665, 11585, 10394, 9102,  7723,
                                                6270,  4756,  3196,  1606,  0};

/// In radii of the orbit: the deviation of what a fresh word has moved for good.
inline constexpr std::int32_t kFieldOffset = 23;

namespace field {

constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

constexpr std::int32_t cosine(std::uint32_t turn) {
    const std::uint32_t t = turn % 64;
    const std::uint32_t half = t > 32 ? 64 - t : t;
    return half > 16 ? -kFieldCosine[32 - half] : kFieldCosine[half];
}

constexpr float power_of_two(std::int32_t exponent) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

constexpr float exact(std::int32_t value) { return static_cast<float>(value); }

/// radius / 2^14 * (difference of two cosines), to the nearest.
constexpr std::int32_t chord(std::int32_t radius, std::int32_t difference) {
    return (radius * (difference / 2) + (1 << 12)) >> 13;
}

constexpr std::int32_t orbit_radius(std::int32_t level) {
    return kFieldRadius[static_cast<std::uint32_t>(level) % 64];
}

constexpr float orbit_scale(std::int32_t level) {
    return power_of_two((level >> 6) - 15);  // 4 bits are the column's
}

/// The orbit at `time` as seen from its start, or from its centre. `phase` is where on the orbit
/// the row starts.
constexpr FieldOrbit orbit(std::int32_t level,
                           std::uint32_t phase,
                           std::uint32_t time,
                           bool from_centre = false) {
    const std::int32_t radius = orbit_radius(level);
    // Twice 1/35 of the radius: a tenth of the variance of u is the fast orbit's, and the centre of
    // the word's number, 63/2, gives an integer.
    const auto along = [&](std::uint32_t turns, std::uint32_t quarter) {
        const std::int32_t start = from_centre ? 0 : cosine(turns * phase + quarter);
        return cosine(turns * (phase + time) + quarter) - start;
    };
    const std::int32_t slow_cos = chord(radius, along(1, 0));
    const std::int32_t slow_sin = chord(radius, along(1, 48));
    const std::int32_t half_fast = chord(radius / 35, along(5, 0));
    const std::int32_t bias = 30 * (slow_cos + slow_sin) + 63 * half_fast;
    const float scale = orbit_scale(level);
    return {exact(slow_cos) * scale, exact(slow_sin) * scale, exact(2 * half_fast) * scale,
            exact(-bias) * scale};
}

/// Changes that lie behind a version: it walks 32 steps away and back again.
constexpr FieldCount count(std::uint64_t chance, std::uint32_t time) {
    const std::uint64_t away = time <= kEpochVersions / 2 ? time : kEpochVersions - time;
    const std::uint64_t total = chance * away;
    return {static_cast<std::uint32_t>(total >> 32), static_cast<std::uint32_t>(total)};
}

/// The rows of each ten, or sixteen, take turns in an order of their own.
constexpr std::int32_t row_level(const FieldTensor& tensor, std::uint64_t row) {
    const std::uint64_t order = mix(tensor.key ^ mix(row / 16 + 0x526F77u));
    const std::uint64_t place = (row * (2 * (order >> 8) + 1) + order) % 16;
    const auto spread = static_cast<std::int32_t>(tensor.row_spread);
    return tensor.activity + ((kFieldNormal[place] * spread + 32) >> 6);
}

constexpr bool is_hot(const FieldTensor& tensor, std::uint64_t row) {
    return row % 10 == mix(tensor.key ^ mix(row / 10 + 0x486F74u)) % 10;
}

}  // namespace field

/// The constants of one row. `span` must not cross the end of an epoch.
constexpr FieldRow field_row(const FieldTensor& tensor, std::uint64_t row, FieldSpan span) {
    const std::uint64_t key = field::mix(tensor.key + (row + 1) * 0x9E3779B97F4A7C15u);
    const std::uint64_t epoch = span.version / kEpochVersions;
    const auto time = static_cast<std::uint32_t>(span.version % kEpochVersions);
    const std::uint64_t drawn = field::mix(key + (epoch + 1) * 0xD1B54A32D192ED03u);
    FieldRow r{};
    r.counter = static_cast<std::uint32_t>(key);
    r.flip = static_cast<std::uint32_t>(key >> 32);
    r.epoch = static_cast<std::uint32_t>(drawn >> 32);
    const float unit = field::power_of_two(tensor.sigma_exponent - 27);  // sigma is 2^27 units
    r.fine_scale = static_cast<float>(tensor.sigma) * unit;
    r.coarse_scale = r.fine_scale * static_cast<float>(1 << 20);
    r.centre = tensor.around_one ? 1.0F : 0.0F;
    r.any_word = tensor.any_word ? ~0u : 0u;
    r.first_word = static_cast<std::uint32_t>(row * tensor.columns);
    r.even_key = static_cast<std::uint32_t>(
        field::mix(tensor.key ^ (epoch + 1) * 0xD1B54A32D192ED03u ^ (row * tensor.columns >> 32)));
    r.column_key = static_cast<std::uint32_t>(field::mix(tensor.key + 0x436F6Cu));
    r.column_mask = tensor.column_levels - 1;
    if (tensor.law == FieldLaw::drift) {
        const std::int32_t level = field::row_level(tensor, row);
        const auto phase = static_cast<std::uint32_t>(drawn % 64);
        r.from = field::orbit(level, phase, time * tensor.steps);
        r.to = field::orbit(level, phase, (time + span.steps) * tensor.steps);
    } else if (tensor.law == FieldLaw::fresh) {
        const std::int32_t level = field::row_level(tensor, row);
        const auto phase = static_cast<std::uint32_t>(key >> 58);
        r.epoch = static_cast<std::uint32_t>(field::mix(key) >> 32);
        r.from = field::orbit(level, phase, time * tensor.steps, true);
        r.to = field::orbit(level, phase, (time + span.steps) * tensor.steps, true);
        // The sum of three bytes has a deviation of 128.
        const std::int32_t offset = field::orbit_radius(level) * kFieldOffset >> 7;
        r.offset_scale = field::exact(offset) * field::orbit_scale(level);
    } else if (tensor.law != FieldLaw::still) {
        const bool hot = tensor.hot_chance != tensor.chance && field::is_hot(tensor, row);
        const std::uint64_t chance = hot ? tensor.hot_chance : tensor.chance;
        r.base = field::count(chance, time);
        r.next = field::count(chance, time + span.steps);
    }
    return r;
}

/// A column and a multiple of it: a loop over columns adds where it would multiply.
struct FieldColumn {
    std::uint32_t index;
    std::uint32_t counter;
};

inline constexpr std::uint32_t kFieldCounterStep = 0x9E3779B9u;

constexpr FieldColumn field_column(std::uint32_t index) {
    return {index, index * kFieldCounterStep};
}

constexpr FieldColumn right_of(const FieldColumn& column) {
    return {column.index + 1, column.counter + kFieldCounterStep};
}

namespace field {

/// Three numbers of one word; the last differs from epoch to epoch, and the upper half of `more`.
struct Random {
    std::uint32_t weight;
    std::uint32_t more;
    std::uint32_t epoch;
};

constexpr std::uint32_t mix_half(std::uint32_t x, std::uint32_t factor) {
    x *= factor;
    return x ^ (x >> 16);
}

constexpr Random random_of(const FieldRow& row, const FieldColumn& column) {
    std::uint32_t x = row.counter + column.counter;
    x = mix_half(x ^ (x >> 16), 0x7FEB352Du) ^ row.flip;
    x = mix_half(x, 0x846CA68Bu);
    const std::uint32_t more = mix_half(x, 0xB5297A4Du);
    return {x, more, mix_half(more ^ row.epoch, 0x68E31DA5u)};
}

constexpr std::int32_t bits(std::uint32_t x, std::uint32_t first, std::uint32_t count) {
    return static_cast<std::int32_t>(x >> first & ((1u << count) - 1));
}

constexpr float weight(const FieldRow& row, const Random& random) {
    const std::int32_t coarse =
        bits(random.weight, 24, 8) + bits(random.more, 0, 8) + bits(random.more, 8, 8) - 383;
    const std::int32_t fine = bits(random.weight, 0, 20);
    return exact(coarse) * row.coarse_scale + exact(fine) * row.fine_scale + row.centre;
}

/// How far a fresh word has moved for good: the sum of three bytes about its centre.
constexpr std::int32_t offset(const Random& random) {
    const std::uint32_t x = mix_half(random.weight + random.more, 0x9E3779B1u);
    return bits(x, 8, 8) + bits(x, 16, 8) + bits(x, 24, 8) - 383;
}

/// To the nearest BF16, ties away from zero.
constexpr std::uint32_t rounded(float value) {
    return (std::bit_cast<std::uint32_t>(value) + 0x8000u) >> 16;
}

/// Orders BF16 patterns as numbers, and back: its own inverse.
constexpr std::uint32_t monotone(std::uint32_t word) {
    return word ^ ((0u - (word >> 15)) & 0x7FFFu);
}

/// A place in 0..4095 for each word of a segment, every place once; its upper bits, rest random.
[[gnu::always_inline]] constexpr std::uint32_t even_place(const FieldRow& row,
                                                          std::uint32_t column,
                                                          std::uint32_t rest) {
    const std::uint32_t word = row.first_word + column;
    std::uint32_t key = mix_half((word >> 12) ^ row.even_key, 0x7FEB352Du);
    key = mix_half(key, 0x846CA68Bu);
    std::uint32_t x = ((word ^ key) & 0xFFFu) * (key >> 11 | 1u) & 0xFFFu;
    x = (x ^ (x >> 6)) * (key >> 3 | 1u) & 0xFFFu;
    x ^= x >> 7;
    return x << 20 | rest >> 12;
}

}  // namespace field

/// One word of a row whose law is drift, or fresh.
template <bool kFresh>
[[gnu::always_inline]] constexpr FieldWords drift_words(const FieldRow& row,
                                                        const FieldColumn& column) {
    const field::Random random = field::random_of(row, column);
    float weight = field::weight(row, random);
    float offset = 0;
    if constexpr (kFresh) {
        weight = std::bit_cast<float>(field::rounded(weight) << 16);
        offset = field::exact(field::offset(random)) * row.offset_scale;
    }
    // Eight digits of 4 bits: four summed in the low byte, four in the third.
    const std::uint32_t pairs = (random.epoch & 0x0F0F0F0Fu) + (random.epoch >> 4 & 0x0F0F0F0Fu);
    const std::uint32_t fours = pairs + (pairs >> 8);
    const float a = field::exact(field::bits(fours, 0, 6));
    const float b = field::exact(field::bits(fours, 16, 6));
    const float c = field::exact(field::bits(random.more ^ row.epoch, 26, 6));
    const std::uint32_t less = (row.column_key + column.counter) >> 29 & row.column_mask;
    const float activity = field::exact(16 - static_cast<std::int32_t>(less));
    const auto at = [&](const FieldOrbit& orbit) {
        float drift = a * orbit.slow_cos + b * orbit.slow_sin + c * orbit.fast + orbit.bias;
        if constexpr (kFresh) drift += offset;
        return static_cast<std::uint16_t>(field::rounded(weight + drift * activity));
    };
    return {at(row.from), at(row.to)};
}

/// One word of a row of any other law. `kEven`: the law is even.
template <bool kEven>
[[gnu::always_inline]] constexpr FieldWords drawn_words(const FieldRow& row,
                                                        const FieldColumn& column) {
    const field::Random random = field::random_of(row, column);
    const std::uint32_t start = field::monotone(field::rounded(field::weight(row, random)));
    const std::uint32_t drawn = (random.more ^ row.epoch) >> 16;
    const std::uint32_t any = 1 + (drawn * 65535u >> 16);
    const std::uint32_t near = 1u - 2u * (drawn >> 15);
    const std::uint32_t step = near ^ ((near ^ any) & row.any_word);
    std::uint32_t place = random.epoch;
    if constexpr (kEven) place = field::even_place(row, column.index, random.epoch);
    const auto at = [&](const FieldCount& count) {
        // The carry out of place + low, without a comparison.
        const std::uint32_t sum = place + count.low;
        const std::uint32_t carry = ((place & count.low) | ((place | count.low) & ~sum)) >> 31;
        const std::uint32_t changes = count.whole + carry;
        const std::uint32_t moved = (start + changes * step) & 0xFFFFu;
        return static_cast<std::uint16_t>(field::monotone(moved));
    };
    return {at(row.base), at(row.next)};
}

/// A run of words of one row.
struct FieldRun {
    std::uint64_t row;
    std::uint32_t column;
};

/// Fills both versions of a run within one row; the spans have equal lengths.
using FillField = void (*)(const FieldTensor& tensor,
                           FieldRun run,
                           FieldSpan span,
                           std::span<std::uint16_t> base,
                           std::span<std::uint16_t> next);

struct FieldLevel {
    std::string name;  // "AVX2", "SSE2", ...
    FillField fill;
};

/// What this machine can run of what was compiled, best first. All give the same words.
std::vector<FieldLevel> field_levels();

}  // namespace refit
