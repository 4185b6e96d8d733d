// What must hold for the weight field: a word depends on its address, seed and version alone, the
// same bits at every dispatch level and with or without fused arithmetic, and versions that follow
// one another.
#include "kernels/weight_field.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <random>

namespace refit {
namespace {

using WordVector = std::vector<std::uint16_t>;

struct Versions {
    WordVector base;
    WordVector next;
};

FieldTensor tensor_of(FieldLaw law, std::uint64_t columns = 1000) {
    FieldTensor tensor;
    tensor.key = 0x5EED;
    tensor.columns = columns;
    tensor.sigma = 11;
    tensor.sigma_exponent = -8;
    tensor.law = law;
    tensor.activity = -17 * 64;
    tensor.row_spread = 20;
    tensor.column_levels = 8;
    tensor.chance = std::uint64_t{1} << 28;
    tensor.hot_chance = tensor.chance * 9;
    return tensor;
}

std::vector<FieldTensor> every_kind() {
    std::vector<FieldTensor> tensors;
    for (const FieldLaw law :
         {FieldLaw::still, FieldLaw::drift, FieldLaw::spread, FieldLaw::even, FieldLaw::fresh}) {
        tensors.push_back(tensor_of(law));
        tensors.back().any_word = law == FieldLaw::even;
        tensors.push_back(tensors.back());
        tensors.back().around_one = true;
        tensors.back().any_word = law == FieldLaw::spread;
    }
    return tensors;
}

Versions fill(const FieldTensor& tensor,
              FieldRun run,
              std::size_t count,
              FieldSpan span,
              const FieldLevel& level = field_levels().front()) {
    Versions versions{WordVector(count), WordVector(count)};
    level.fill(tensor, run, span, versions.base, versions.next);
    return versions;
}

std::size_t changed(const Versions& versions) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < versions.base.size(); ++i)
        count += versions.base[i] != versions.next[i] ? 1 : 0;
    return count;
}

int place_of(std::uint16_t word) {
    const int magnitude = word & 0x7FFF;
    return (word & 0x8000) != 0 ? -magnitude - 1 : magnitude;
}

TEST(WeightField, EveryLevelGivesTheSameWords) {
    const std::vector<FieldLevel> levels = field_levels();
    ASSERT_FALSE(levels.empty());
    for (const FieldTensor& tensor : every_kind()) {
        for (const std::size_t count : {0u, 1u, 7u, 31u, 33u, 990u}) {
            const FieldRun run{12'345, 10};
            const Versions expected = fill(tensor, run, count, {70, 3}, levels.back());
            for (const FieldLevel& level : levels) {
                const Versions versions = fill(tensor, run, count, {70, 3}, level);
                EXPECT_EQ(versions.base, expected.base) << level.name << " " << count;
                EXPECT_EQ(versions.next, expected.next) << level.name << " " << count;
            }
        }
    }
}

TEST(WeightField, AWordDoesNotDependOnWhatElseIsAsked) {
    for (const FieldTensor& tensor : every_kind()) {
        const Versions row = fill(tensor, {77, 0}, 1000, {9, 1});
        for (std::uint32_t column = 1000; column-- > 0;) {
            const Versions word = fill(tensor, {77, column}, 1, {9, 1});
            ASSERT_EQ(word.base[0], row.base[column]) << column;
            ASSERT_EQ(word.next[0], row.next[column]) << column;
        }
    }
}

TEST(WeightField, VersionsFollowOneAnother) {
    for (const FieldTensor& tensor : every_kind()) {
        const WordVector first = fill(tensor, {5, 0}, 1000, {0, 1}).base;
        WordVector last = first;
        for (std::uint64_t version = 0; version < 3 * kEpochVersions; ++version) {
            const Versions step = fill(tensor, {5, 0}, 1000, {version, 1});
            ASSERT_EQ(step.base, last) << version;
            if (version % kEpochVersions == 0) {
                EXPECT_EQ(step.base, first) << version;
            }
            const auto left = static_cast<std::uint32_t>(kEpochVersions - version % kEpochVersions);
            for (const std::uint32_t steps : {1u, 16u, 64u}) {
                if (steps > left) continue;
                EXPECT_EQ(fill(tensor, {5, 0}, 1000, {version, steps}).next,
                          fill(tensor, {5, 0}, 1000, {version + steps - 1, 1}).next)
                    << version << " + " << steps;
            }
            last = step.next;
        }
    }
}

TEST(WeightField, EpochsDifferInWhatChanges) {
    for (const FieldTensor& tensor : every_kind()) {
        if (tensor.law == FieldLaw::still || tensor.around_one) continue;
        const Versions one = fill(tensor, {5, 0}, 1000, {0, 8});
        const Versions other = fill(tensor, {5, 0}, 1000, {kEpochVersions, 8});
        EXPECT_EQ(one.base, other.base);
        EXPECT_EQ(one.next == other.next, tensor.law == FieldLaw::fresh);  // its orbit is for good
    }
}

TEST(WeightField, KeysAndRowsAreOtherWords) {
    FieldTensor tensor = tensor_of(FieldLaw::drift);
    const WordVector row = fill(tensor, {5, 0}, 1000, {}).base;
    const auto equal_words = [&](const WordVector& other) {
        int equal = 0;
        for (std::size_t i = 0; i < row.size(); ++i) equal += row[i] == other[i] ? 1 : 0;
        return equal;
    };
    EXPECT_LT(equal_words(fill(tensor, {6, 0}, 1000, {}).base), 20);
    EXPECT_LT(equal_words(fill(tensor, {5 + (std::uint64_t{1} << 32), 0}, 1000, {}).base), 20);
    tensor.key += std::uint64_t{1} << 40;
    EXPECT_LT(equal_words(fill(tensor, {5, 0}, 1000, {}).base), 20);
}

TEST(WeightField, GoldenWords) {
    std::map<FieldLaw, std::uint64_t> hashes;
    for (const FieldTensor& tensor : every_kind()) {
        for (const FieldSpan span : {FieldSpan{0, 1}, FieldSpan{63, 1}, FieldSpan{130, 20}}) {
            const Versions versions = fill(tensor, {31, 17}, 900, span);
            for (const WordVector* words : {&versions.base, &versions.next})
                for (const std::uint16_t word : *words)
                    hashes[tensor.law] = field::mix(hashes[tensor.law] + word + 1);
        }
    }
    const std::map<FieldLaw, std::uint64_t> expected{{FieldLaw::still, 0x83B801053987898Cu},
                                                     {FieldLaw::drift, 0x0DC127494025E6B1u},
                                                     {FieldLaw::spread, 0x1228E84B86070B1Bu},
                                                     {FieldLaw::even, 0x36A3CDF2B0382452u},
                                                     {FieldLaw::fresh, 0x94247F51888D6269u}};
    EXPECT_EQ(hashes, expected);
}

/// The sums of drift_words() with every product fused into the sum behind it.
std::uint16_t fused_word(const FieldTensor& tensor,
                         const FieldRow& row,
                         const FieldOrbit& orbit,
                         const FieldColumn& column) {
    const field::Random random = field::random_of(row, column);
    float digits[2] = {0, 0};
    for (int k = 0; k < 8; ++k) {
        const int byte = k / 2;
        digits[byte / 2] += static_cast<float>(random.epoch >> (4 * k) & 15u);
    }
    const auto fast = static_cast<float>((random.more ^ row.epoch) >> 26);
    const auto coarse = static_cast<float>(static_cast<int>(random.weight >> 24) +
                                           static_cast<int>(random.more & 255u) +
                                           static_cast<int>(random.more >> 8 & 255u) - 383);
    const auto fine = static_cast<float>(random.weight & 0xFFFFFu);
    float weight =
        std::fma(coarse, row.coarse_scale, std::fma(fine, row.fine_scale, 0.0F)) + row.centre;
    float drift = std::fma(fast, orbit.fast, orbit.bias);
    if (tensor.law == FieldLaw::fresh) {
        const std::uint32_t bits = std::bit_cast<std::uint32_t>(weight) + 0x8000u;
        weight = std::bit_cast<float>(bits & 0xFFFF0000u);
        const auto offset = static_cast<float>(field::offset(random));
        drift = std::fma(offset, row.offset_scale, drift);
    }
    drift = std::fma(digits[1], orbit.slow_sin, drift);
    drift = std::fma(digits[0], orbit.slow_cos, drift);
    const auto less = static_cast<float>((row.column_key + column.counter) >> 29 & row.column_mask);
    const float moved = std::fma(drift, 16.0F - less, weight);
    return static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(moved) + 0x8000u) >> 16);
}

TEST(WeightField, FusedArithmeticGivesTheSameBits) {
    for (const int level : {-26, -25, -18, -17, -9, -8, -3, -2, 7, 8}) {
        FieldTensor tensor = tensor_of(level % 2 == 0 ? FieldLaw::fresh : FieldLaw::drift);
        tensor.activity = level * 64 + 63;
        for (std::uint64_t row = 0; row < 64; ++row) {
            const FieldSpan span{row, 1};
            const FieldRow constants = field_row(tensor, row, span);
            const Versions versions = fill(tensor, {row, 0}, 1000, span);
            for (std::uint32_t c = 0; c < 1000; ++c) {
                const FieldColumn column = field_column(c);
                ASSERT_EQ(versions.base[c], fused_word(tensor, constants, constants.from, column))
                    << c;
                ASSERT_EQ(versions.next[c], fused_word(tensor, constants, constants.to, column))
                    << c;
            }
        }
    }
}

TEST(WeightField, NoSumOfAnOrbitNeedsMoreThan24Bits) {
    for (std::int32_t level = 15 * 64; level < 16 * 64; ++level) {  // the scale is 1
        for (std::uint32_t phase = 0; phase < 64; ++phase) {
            for (std::uint32_t time = 0; time <= kEpochVersions; ++time) {
                const FieldOrbit o = field::orbit(level, phase, time);
                const float most = 60 * (std::abs(o.slow_cos) + std::abs(o.slow_sin)) +
                                   63 * std::abs(o.fast) + std::abs(o.bias);
                // Half of it is the bias: no partial sum is above the sum without it.
                ASSERT_LE((most - std::abs(o.bias)) * 16, 16'777'216.0F) << level;
                if (time % kEpochVersions == 0) {
                    ASSERT_EQ(most, 0);
                }
            }
        }
    }
}

TEST(WeightField, NoSumOfAFreshWordNeedsMoreThan24Bits) {
    for (std::int32_t level = 15 * 64; level < 16 * 64; ++level) {  // the scale is 1
        FieldTensor tensor = tensor_of(FieldLaw::fresh);
        tensor.activity = level;
        tensor.row_spread = 0;
        const float offset = 383 * field_row(tensor, 0, {}).offset_scale;
        ASSERT_EQ(std::fmod(offset, 1.0F), 0);
        for (std::uint32_t phase = 0; phase < 64; ++phase) {
            const FieldOrbit o = field::orbit(level, phase, 0, true);
            const float most =
                60 * (std::abs(o.slow_cos) + std::abs(o.slow_sin)) + 63 * std::abs(o.fast) + offset;
            ASSERT_LE(most * 16, 16'777'216.0F) << level;
        }
    }
}

/// Bytes of the offset, and what else a word draws, share no bits worth mentioning.
TEST(WeightField, OffsetsOfFreshWordsAreOnTheirOwn) {
    constexpr std::uint32_t kCount = 1u << 20;
    const FieldRow row = field_row(tensor_of(FieldLaw::fresh, kCount), 3, {});
    double sum = 0;
    double square = 0;
    std::array<double, 4> product{};
    for (std::uint32_t c = 0; c < kCount; ++c) {
        const field::Random random = field::random_of(row, field_column(c));
        const double offset = (field::offset(random) + 0.5) / 128;
        sum += offset;
        square += offset * offset;
        double digits = 0;
        for (unsigned k = 0; k < 4; ++k) digits += (random.epoch >> (4 * k) & 15u) - 7.5;
        const double weight = (random.weight >> 24) + (random.more & 255u) - 255.0;
        product[0] += offset * digits / 9.22;
        product[1] += offset * weight / 104.5;
        product[2] += offset * (((random.more ^ row.epoch) >> 26) - 31.5) / 18.5;
        product[3] += (offset * offset - 1) * std::abs(weight) / 104.5;
    }
    EXPECT_NEAR(sum / kCount, 0, 0.006);
    EXPECT_NEAR(square / kCount, 1, 0.006);
    for (const double p : product) EXPECT_NEAR(p / kCount, 0, 0.006);  // six standard deviations
}

TEST(WeightField, AFreshWordStaysUntilItReachesAnEdgeOfItsCell) {
    FieldTensor tensor = tensor_of(FieldLaw::fresh);
    tensor.activity = -24 * 64;  // 33 times 2^-24 is well below half of 2^(e-7) from e = -10 on
    std::map<bool, int> by_size;
    for (std::uint64_t row = 0; row < 64; ++row) {
        const Versions versions = fill(tensor, {row, 0}, 1000, {7, 1});
        for (std::size_t i = 0; i < versions.base.size(); ++i) {
            const bool large = (versions.base[i] >> 7 & 0xFF) >= 127 - 9;
            by_size[large] += versions.base[i] != versions.next[i] ? 1 : 0;
        }
    }
    EXPECT_EQ(by_size[true], 0);
    EXPECT_GT(by_size[false], 20);
}

TEST(WeightField, StepsOfAVersionAreStepsOfItsOrbit) {
    for (const FieldLaw law : {FieldLaw::drift, FieldLaw::fresh}) {
        FieldTensor one = tensor_of(law);
        FieldTensor three = one;
        three.steps = 3;
        for (const std::uint64_t version : {0u, 4u, 20u}) {
            const Versions single = fill(one, {5, 0}, 1000, {3 * version, 3});
            const Versions triple = fill(three, {5, 0}, 1000, {version, 1});
            EXPECT_EQ(single.base, triple.base);
            EXPECT_EQ(single.next, triple.next);
        }
    }
}

TEST(WeightField, StillAndCertainAreExact) {
    for (FieldTensor tensor : every_kind()) {
        if (tensor.law == FieldLaw::drift || tensor.law == FieldLaw::fresh) continue;
        tensor.hot_chance = tensor.chance = std::uint64_t{1} << 32;
        for (std::uint64_t version = 0; version < 70; ++version) {
            EXPECT_EQ(changed(fill(tensor, {version, 0}, 1000, {version, 1})),
                      tensor.law == FieldLaw::still ? 0u : 1000u);
        }
        tensor.hot_chance = tensor.chance = 0;
        EXPECT_EQ(changed(fill(tensor, {3, 0}, 1000, {0, 32})), 0u);
    }
}

TEST(WeightField, ChangesAreOneStepOrLeadToAnyWord) {
    FieldTensor tensor = tensor_of(FieldLaw::spread, 1u << 20);
    tensor.hot_chance = tensor.chance = std::uint64_t{1} << 32;
    const Versions near = fill(tensor, {1, 0}, 1u << 20, {40, 1});
    std::map<int, int> steps;
    for (std::size_t i = 0; i < near.base.size(); ++i)
        ++steps[place_of(near.next[i]) - place_of(near.base[i])];
    ASSERT_EQ(steps.size(), 2u);
    EXPECT_NEAR(steps[1], 1 << 19, 6 * 512);
    EXPECT_NEAR(steps[-1], 1 << 19, 6 * 512);

    tensor.any_word = true;
    const Versions any = fill(tensor, {1, 0}, 1u << 20, {0, 1});
    std::vector<int> buckets(64);
    for (std::size_t i = 0; i < any.base.size(); ++i)
        ++buckets[static_cast<std::size_t>(
            static_cast<std::uint16_t>(place_of(any.next[i]) - place_of(any.base[i])) >> 10)];
    for (const int bucket : buckets) EXPECT_NEAR(bucket, 1 << 14, 6 * 128);
}

TEST(WeightField, EvenMeansTheSameNumberInEachSegment) {
    FieldTensor tensor = tensor_of(FieldLaw::even, 3000);  // rows and segments do not coincide
    tensor.hot_chance = tensor.chance = (std::uint64_t{30} << 32) / 1000;
    Versions all;
    for (std::uint64_t row = 0; row < 4096; ++row) {
        const Versions versions = fill(tensor, {row, 0}, 3000, {12, 1});
        all.base.insert(all.base.end(), versions.base.begin(), versions.base.end());
        all.next.insert(all.next.end(), versions.next.begin(), versions.next.end());
    }
    std::vector<int> by_place(4096);
    for (std::size_t first = 0; first + 4096 <= all.base.size(); first += 4096) {
        int count = 0;
        for (std::size_t i = 0; i < 4096; ++i) {
            const bool differs = all.base[first + i] != all.next[first + i];
            count += differs ? 1 : 0;
            by_place[i] += differs ? 1 : 0;
        }
        // 122.88 are expected, and what lies behind each of the two versions is rounded.
        ASSERT_TRUE(count >= 121 && count <= 124) << first << " " << count;
    }
    // Inside a segment every place is as likely: 3000 segments, 3 %, six standard deviations.
    for (const int count : by_place) EXPECT_NEAR(count, 90, 56);
}

TEST(WeightField, ARunOutsideItsTensorOrEpochIsABug) {
    const FieldTensor tensor = tensor_of(FieldLaw::drift);
    EXPECT_DEATH((void)fill(tensor, {0, 1}, 1000, {}), "broken precondition");
    EXPECT_DEATH((void)fill(tensor, {0, 0}, 1000, {60, 5}), "broken precondition");
}

}  // namespace
}  // namespace refit
