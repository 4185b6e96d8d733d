#include "engine/emulate/estimate.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/base/rng.hpp"

namespace refit {
namespace {

TEST(Estimate, StudentsQuantilesAreThoseOfTheTables) {
    // Abramowitz and Stegun, table 26.10.
    const std::pair<double, double> table[] = {{1, 12.706}, {2, 4.303},  {3, 3.182},  {5, 2.571},
                                               {9, 2.262},  {10, 2.228}, {15, 2.131}, {20, 2.086},
                                               {30, 2.042}, {60, 2.000}, {120, 1.980}};
    for (const auto& [freedom, expected] : table)
        EXPECT_NEAR(student_t_975(freedom), expected, expected * 0.001) << freedom;
    double before = student_t_975(1);
    for (double f = 1.05; f < 200; f += 0.05) {
        EXPECT_LT(student_t_975(f), before) << f;
        before = student_t_975(f);
    }
}

TEST(Estimate, AStratumTakenWholeHasNoSpread) {
    const std::vector<StratumValues> strata = {{3, 60, {10, 20, 30}, {1, 5, 3}}, {1, 7, {7}, {2}}};
    const Estimate estimate = estimate_total(strata);
    EXPECT_DOUBLE_EQ(estimate.value, 11);
    EXPECT_DOUBLE_EQ(estimate.low, 11);
    EXPECT_DOUBLE_EQ(estimate.high, 11);
}

TEST(Estimate, OneStratumOfEqualTilesIsTheTextbookInterval) {
    const StratumValues stratum{100, 1000, {10, 10, 10, 10}, {1, 2, 3, 4}};
    const Estimate estimate = estimate_total({&stratum, 1});
    EXPECT_DOUBLE_EQ(estimate.value, 250);
    const double deviation = std::sqrt(100.0 * 100 * (1 - 0.04) * (5.0 / 3) / 4);
    EXPECT_NEAR(estimate.high - estimate.value, 3.1824 * deviation, 1e-3);
    EXPECT_NEAR(estimate.value - estimate.low, 3.1824 * deviation, 1e-3);
}

TEST(Estimate, AValueInProportionToWordsHasNoSpread) {
    const StratumValues stratum{100, 1500, {10, 12, 20}, {5, 6, 10}};
    const Estimate estimate = estimate_total({&stratum, 1});
    EXPECT_DOUBLE_EQ(estimate.value, 750);
    EXPECT_NEAR(estimate.high - estimate.low, 0, 1e-9);
}

/// Sizes as tiles have them: strata of their own level, tensors that differ, a few outliers.
std::vector<std::vector<double>> true_sizes(std::uint64_t seed) {
    std::vector<std::vector<double>> strata;
    for (std::uint64_t s = 0; s < 12; ++s) {
        std::vector<double>& sizes = strata.emplace_back();
        const double level = 8000 + 1000 * static_cast<double>(s);
        for (std::uint64_t t = 0; t < 200 + 150 * s; ++t) {
            const auto unit = [&](std::uint64_t stream) {
                return static_cast<double>(draw(seed, stream, t * 64 + s) >> 11) * 0x1p-53;
            };
            const double tensor =
                static_cast<double>(draw(seed, 9, t / 28 * 64 + s) >> 11) * 0x1p-53;
            sizes.push_back(level * (0.95 + 0.1 * tensor) *
                            (0.98 + 0.013 * (unit(1) + unit(2) + unit(3))));
        }
    }
    return strata;
}

TEST(Estimate, TheIntervalCoversTheTruthAsOftenAsItSays) {
    const auto strata = true_sizes(4);
    double truth = 0;
    for (const auto& sizes : strata)
        for (const double size : sizes) truth += size;
    constexpr int kResamples = 4000;
    for (const std::uint64_t taken : {2u, 6u, 20u}) {
        int covered = 0;
        for (std::uint64_t r = 0; r < kResamples; ++r) {
            std::vector<StratumValues> values;
            for (std::size_t s = 0; s < strata.size(); ++s) {
                std::vector<double> pool = strata[s];
                StratumValues& stratum = values.emplace_back();
                stratum.tiles = pool.size();
                stratum.words = static_cast<double>(pool.size());
                Rng rng(7 + taken, r * 64 + s);
                for (std::uint64_t i = 0; i < taken; ++i) {
                    std::swap(pool[i], pool[i + rng.below(pool.size() - i)]);
                    stratum.tile_values.push_back(pool[i]);
                    stratum.tile_words.push_back(1);
                }
            }
            const Estimate estimate = estimate_total(values);
            covered += estimate.low <= truth && truth <= estimate.high ? 1 : 0;
        }
        const double share = static_cast<double>(covered) / kResamples;
        EXPECT_GE(share, 0.93) << taken << " tiles a stratum";
        EXPECT_LE(share, 0.975) << taken << " tiles a stratum";
        RecordProperty("coverage_" + std::to_string(taken), std::to_string(share));
    }
}

}  // namespace
}  // namespace refit
