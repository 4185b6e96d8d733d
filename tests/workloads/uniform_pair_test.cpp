// What must hold for made-up pairs: the size asked for, the same bytes for one seed, changes of one
// step at the rate and the places promised, and the entropy that follows from them.
#include "workloads/uniform_pair.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "engine/base/hash.hpp"
#include "engine/codec/change_stats.hpp"

namespace refit {
namespace {

constexpr std::uint64_t kWords = std::uint64_t{1} << 20;

WordPair make_pair(UniformSpec spec, unsigned threads = 1) {
    const auto device = make_cpu_device(threads);
    return make_uniform_pair(*device, spec);
}

std::string hash_of(const WordPair& pair) {
    Sha256 hasher;
    hasher.update(std::as_bytes(std::span(pair.base)));
    hasher.update(std::as_bytes(std::span(pair.next)));
    return to_hex(hasher.finish());
}

/// The place of a pattern in the order of numbers, written out: ..., -0, +0, smallest, ...
int place_of(std::uint16_t word) {
    const int magnitude = word & 0x7FFF;
    return (word & 0x8000) != 0 ? -magnitude - 1 : magnitude;
}

std::uint64_t count_changed(const WordPair& pair, std::size_t first, std::size_t end) {
    std::uint64_t changed = 0;
    for (std::size_t i = first; i < end; ++i) changed += pair.base[i] != pair.next[i] ? 1 : 0;
    return changed;
}

/// Six standard deviations of a count of `words` draws at `rate`.
double six_sigma(double words, double rate) { return 6 * std::sqrt(words * rate * (1 - rate)); }

TEST(UniformPair, HasAsManyWordsAsAskedForInWholeRows) {
    for (const std::uint64_t words :
         {kUniformWordsMin, kUniformWordsMin + 1, std::uint64_t{100'000}, kWords, 4 * kWords}) {
        const WordPair pair = make_pair({words, 30'000, 1});
        EXPECT_EQ(pair.base.size(), pair.catalog.words().count);
        EXPECT_EQ(pair.next.size(), pair.base.size());
        EXPECT_LE(pair.base.size(), words);
        const auto norm = pair.catalog.find("model.norm.weight");
        ASSERT_TRUE(norm.has_value());
        EXPECT_EQ(pair.base.size(),
                  words / pair.catalog.tensor(*norm).words * pair.catalog.tensor(*norm).words);
        EXPECT_TRUE(pair.catalog.find("model.layers.3.mlp.up_proj.weight").has_value()) << words;
    }
    EXPECT_EQ(make_pair({kWords, 0, 1}).base.size(), kWords);
}

TEST(UniformPair, OneSeedIsTheSameBytesEverywhere) {
    const UniformSpec spec{std::uint64_t{64} << 10, 30'000, 7};
    EXPECT_EQ(hash_of(make_pair(spec)),
              "f5cfe53eba2d466b7dfc2e2e2deb8b29ff517d39097f1371b48fbc06d34861b4");
    EXPECT_EQ(hash_of(make_pair(spec, 3)), hash_of(make_pair(spec)));
    UniformSpec other = spec;
    other.seed = 8;
    EXPECT_NE(make_pair(other).base, make_pair(spec).base);
}

TEST(UniformPair, BaseDoesNotFollowTheRate) {
    EXPECT_EQ(make_pair({kWords, 10'000, 3}).base, make_pair({kWords, 50'000, 3}).base);
}

TEST(UniformPair, ChangesAreOneStepEitherWay) {
    const WordPair pair = make_pair({kWords, 50'000, 5});
    std::map<int, double> steps;
    for (std::size_t i = 0; i < pair.base.size(); ++i)
        ++steps[place_of(pair.next[i]) - place_of(pair.base[i])];
    const std::set<int> expected{-1, 0, 1};
    for (const auto& [step, count] : steps) EXPECT_TRUE(expected.contains(step)) << step;
    const double changed = steps[1] + steps[-1];
    EXPECT_NEAR(steps[1], changed / 2, six_sigma(changed, 0.5));
}

TEST(UniformPair, RateIsKeptAndUniformOverPositions) {
    EXPECT_EQ(count_changed(make_pair({kWords, 0, 9}), 0, kWords), 0u);
    EXPECT_EQ(count_changed(make_pair({kWords, 1'000'000, 9}), 0, kWords), kWords);
    const WordPair pair = make_pair({kWords, 30'000, 9});
    double neighbours = 0;
    for (std::size_t i = 1; i < kWords; ++i)
        neighbours += pair.base[i - 1] != pair.next[i - 1] && pair.base[i] != pair.next[i] ? 1 : 0;
    EXPECT_NEAR(neighbours, kWords * 0.03 * 0.03, six_sigma(kWords, 0.03 * 0.03));
    constexpr std::size_t kSlice = kWords / 32;
    for (std::size_t first = 0; first < kWords; first += kSlice) {
        EXPECT_NEAR(static_cast<double>(count_changed(pair, first, first + kSlice)), kSlice * 0.03,
                    six_sigma(kSlice, 0.03))
            << first;
    }
}

TEST(UniformPair, WeightsAreSpreadOverExponentsAsTrainedOnesAre) {
    const WordPair pair = make_pair({kWords, 30'000, 11});
    const auto id = pair.catalog.find("model.layers.0.mlp.down_proj.weight");
    ASSERT_TRUE(id.has_value());
    const Tensor& tensor = pair.catalog.tensor(*id);
    std::map<int, std::uint64_t> exponents;
    std::uint64_t negative = 0;
    for (std::uint64_t i = tensor.first_word; i < tensor.first_word + tensor.words; ++i) {
        ++exponents[(pair.base[i] >> 7) & 0xFF];
        negative += pair.base[i] >> 15;
    }
    const auto words = static_cast<double>(tensor.words);
    EXPECT_NEAR(static_cast<double>(negative), words / 2, six_sigma(words, 0.5));
    // Half the weights of a bell lie in two binades, and each binade below holds half as many.
    std::uint64_t largest = 0;
    for (const auto& [exponent, count] : exponents) largest = std::max(largest, count);
    EXPECT_LT(static_cast<double>(largest), words * 0.45);
    EXPECT_GE(exponents.size(), 12u);
    EXPECT_LE(exponents.rbegin()->first, 127 - 2);
    EXPECT_GE(exponents.rbegin()->first, 127 - 7);
}

TEST(UniformPair, BoundIsTheEntropyOfPositionsAndOneBitPerChange) {
    const auto device = make_cpu_device(1);
    for (const std::uint32_t per_million : {10'000u, 50'000u}) {
        const WordPair pair = make_uniform_pair(*device, {4 * kWords, per_million, 13});
        const Grid grid(pair.catalog);
        const MemoryWeights base(pair.catalog, pair.base);
        const MemoryWeights next(pair.catalog, pair.next);
        const ChangeStats stats = measure_change(*device, pair.catalog, grid, base, next);
        const auto words = static_cast<double>(stats.words);
        const double p = static_cast<double>(stats.changed) / words;
        const double entropy = -p * std::log2(p) - (1 - p) * std::log2(1 - p);
        EXPECT_NEAR(stats.bound_bits / words, entropy + p, 0.005 * (entropy + p));
    }
}

}  // namespace
}  // namespace refit
