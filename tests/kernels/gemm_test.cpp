#include "kernels/gemm.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <stdexcept>

namespace refit {
namespace {

std::uint16_t word_of(float value) {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
}

double value_of(std::uint16_t word) {
    return static_cast<double>(std::bit_cast<float>(std::uint32_t{word} << 16));
}

struct Operands {
    GemmSize size;
    std::vector<std::uint16_t> a;
    std::vector<std::uint16_t> b;
    std::vector<float> c;
};

/// C begins as NaN, so that a word nobody wrote cannot pass.
template <class Draw>
Operands operands(const GemmSize& size, Draw draw) {
    Operands made{size, {}, {}, std::vector<float>(size.m * size.n, std::nanf(""))};
    for (std::size_t i = 0; i < size.m * size.k; ++i) made.a.push_back(draw());
    for (std::size_t i = 0; i < size.k * size.n; ++i) made.b.push_back(draw());
    return made;
}

/// The product in double, and the same of absolute values.
struct Expected {
    double sum = 0;
    double magnitude = 0;
};
Expected expected_at(const Operands& of, std::size_t i, std::size_t j) {
    Expected expected;
    for (std::size_t p = 0; p < of.size.k; ++p) {
        const double term = value_of(of.a[i * of.size.k + p]) * value_of(of.b[p * of.size.n + j]);
        expected.sum += term;
        expected.magnitude += std::abs(term);
    }
    return expected;
}

/// Words of C off by more than `error` x |A| x |B|.
std::size_t count_wrong(const Operands& of, double error) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < of.size.m; ++i) {
        for (std::size_t j = 0; j < of.size.n; ++j) {
            const Expected expected = expected_at(of, i, j);
            const double off =
                std::abs(static_cast<double>(of.c[i * of.size.n + j]) - expected.sum);
            if (!(off <= error * expected.magnitude)) ++wrong;
        }
    }
    return wrong;
}

struct NamedGemm {
    std::string name;
    std::unique_ptr<Gemm> gemm;
};

std::vector<NamedGemm> every_gemm() {
    std::vector<NamedGemm> all;
    for (const std::string& level : cpu_gemm_levels()) all.push_back({level, make_cpu_gemm(level)});
    if (auto other = make_onednn_gemm()) all.push_back({"oneDNN", std::move(other)});
    return all;
}

void multiply(Gemm& gemm, Operands& of) { gemm.multiply(of.size, of.a, of.b, of.c); }

/// Whole numbers from -8 to 8: every sum below is exact in FP32, in any order.
auto small_numbers(std::uint32_t seed) {
    return [engine = std::mt19937(seed)]() mutable {
        return word_of(static_cast<float>(static_cast<int>(engine() % 17) - 8));
    };
}

auto weights(std::uint32_t seed) {
    return [engine = std::mt19937(seed)]() mutable {
        return word_of(std::normal_distribution<float>(0, 0.02F)(engine));
    };
}

TEST(Gemm, ListsItsLevelsAndTakesNoOther) {
    const std::vector<std::string> levels = cpu_gemm_levels();
    EXPECT_EQ(levels.back(), "scalar");
    EXPECT_EQ(std::set<std::string>(levels.begin(), levels.end()).size(), levels.size());
    EXPECT_EQ(make_cpu_gemm()->detail(), levels.front());
    for (const std::string& level : levels) EXPECT_EQ(make_cpu_gemm(level)->detail(), level);
    EXPECT_EQ(make_cpu_gemm()->name(), "built-in");
    EXPECT_THROW(make_cpu_gemm("AVX"), std::runtime_error);
}

TEST(Gemm, IsExactForSmallWholeNumbersOfEveryShapeAroundATile) {
    for (const NamedGemm& each : every_gemm()) {
        for (std::size_t m = 1; m <= 14; ++m) {
            for (const std::size_t n :
                 {1u, 2u, 7u, 8u, 9u, 15u, 16u, 17u, 31u, 32u, 33u, 40u, 65u}) {
                for (const std::size_t k : {1u, 2u, 3u, 17u}) {
                    Operands of = operands({m, n, k}, small_numbers(static_cast<unsigned>(m + n)));
                    multiply(*each.gemm, of);
                    ASSERT_EQ(count_wrong(of, 0), 0u)
                        << each.name << " " << m << " x " << n << " x " << k;
                }
            }
        }
    }
}

TEST(Gemm, IsExactAcrossTheBordersOfItsBlocks) {
    const GemmSize sizes[] = {{95, 16, 256},  {96, 16, 255},   {97, 5, 257},  {193, 33, 513},
                              {2, 1023, 300}, {3, 1024, 256},  {7, 1025, 11}, {1, 2049, 259},
                              {100, 40, 769}, {1025, 3, 1027}, {5, 1, 4099},  {13, 1030, 258}};
    for (const NamedGemm& each : every_gemm()) {
        for (const GemmSize& size : sizes) {
            Operands of = operands(size, small_numbers(7));
            multiply(*each.gemm, of);
            ASSERT_EQ(count_wrong(of, 0), 0u)
                << each.name << " " << size.m << " x " << size.n << " x " << size.k;
        }
    }
}

TEST(Gemm, StaysWithinItsErrorBound) {
    std::mt19937 engine(20261130);
    for (int round = 0; round < 6; ++round) {
        const GemmSize size{1 + engine() % 150, 1 + engine() % 150, 1 + engine() % 1200};
        SCOPED_TRACE(testing::Message() << "round " << round);
        for (const NamedGemm& each : every_gemm()) {
            Operands of = operands(size, weights(static_cast<unsigned>(round)));
            multiply(*each.gemm, of);
            const double error = static_cast<double>(size.k) * std::ldexp(1.0, -23);
            EXPECT_EQ(count_wrong(of, error), 0u) << each.name;
        }
    }
}

TEST(Gemm, GivesTheSameBitsAgainAfterOtherWork) {
    for (const NamedGemm& each : every_gemm()) {
        Operands first = operands({70, 90, 600}, weights(3));
        multiply(*each.gemm, first);
        Operands other = operands({9, 1100, 300}, weights(4));
        multiply(*each.gemm, other);
        Operands again = operands({70, 90, 600}, weights(3));
        multiply(*each.gemm, again);
        for (std::size_t i = 0; i < first.c.size(); ++i) {
            ASSERT_EQ(std::bit_cast<std::uint32_t>(first.c[i]),
                      std::bit_cast<std::uint32_t>(again.c[i]))
                << each.name;
        }
    }
}

TEST(Gemm, LetsInfinitiesAndNaNsStayInTheirRowsAndColumns) {
    const GemmSize size{13, 37, 300};
    for (const NamedGemm& each : every_gemm()) {
        Operands of = operands(size, [] { return word_of(1); });
        of.a[4 * size.k + 7] = word_of(std::numeric_limits<float>::infinity());
        of.b[9 * size.n + 36] = 0x7FC1;    // a NaN
        of.a[12 * size.k + 299] = 0x0001;  // the smallest subnormal
        multiply(*each.gemm, of);
        for (std::size_t i = 0; i < size.m; ++i) {
            for (std::size_t j = 0; j < size.n; ++j) {
                const float c = of.c[i * size.n + j];
                if (j == 36) {
                    EXPECT_TRUE(std::isnan(c)) << each.name;
                } else if (i == 4) {
                    EXPECT_TRUE(std::isinf(c) && c > 0) << each.name;
                } else {
                    EXPECT_EQ(c, i == 12 ? 299.0F : 300.0F) << each.name << " " << i << " " << j;
                }
            }
        }
    }
}

TEST(Gemm, CountsTheFlopOfMultiplyAddsInRegisters) {
    for (const std::string& level : cpu_gemm_levels()) {
        const std::uint64_t one = run_multiply_adds(level, 1);
        EXPECT_GE(one, 2u);
        EXPECT_EQ(run_multiply_adds(level, 1000), 1000 * one) << level;
    }
    EXPECT_EQ((GemmSize{3, 5, 7}.flop()), 210u);
}

TEST(GemmDeathTest, RefusesSpansOfOtherSizes) {
    std::vector<std::uint16_t> words(12);
    std::vector<float> c(9);
    for (const NamedGemm& each : every_gemm()) {
        EXPECT_DEATH(each.gemm->multiply({3, 3, 5}, words, words, c), "broken precondition");
        EXPECT_DEATH(each.gemm->multiply({0, 3, 4}, {}, words, {}), "broken precondition");
    }
}

}  // namespace
}  // namespace refit
