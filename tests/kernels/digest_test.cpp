// The digest must be the sum it says it is, over any sharding, and must notice every misplaced or
// changed word; its change must be computable from the staging list alone.
#include "kernels/digest_key.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/kernels/support.hpp"

namespace refit {
namespace {

constexpr std::uint64_t kCases = 250;
constexpr std::uint64_t kSalt = 0x5A17;

std::uint64_t key(std::uint64_t tensor, DigestAxis axis, std::uint64_t index) {
    return digest_key(kSalt, tensor, axis, index);
}

TEST(DigestKey, IsOddAndPinned) {
    for (std::uint64_t i = 0; i < 1000; ++i) {
        EXPECT_EQ(key(i, DigestAxis::row, i) & 1, 1u);
        EXPECT_EQ(key(i, DigestAxis::column, i) & 1, 1u);
    }
    // Keys travel nowhere, but both ends must compute the same ones: a change here is a new format.
    EXPECT_EQ(digest_key(1, 2, DigestAxis::row, 3), 0xC5C51C25F1A11D07u);
    EXPECT_EQ(digest_key(1, 2, DigestAxis::column, 3), 0x79BC4864F79199ABu);
}

TEST(Digest, IsTheSumOfRowKeyTimesColumnKeyTimesBits) {
    TestRng rng{1};
    // Wider than any block of keys, and all-ones words so that every carry happens.
    for (const bool all_ones : {false, true}) {
        for (const std::uint64_t columns : {1u, 7u, 8u, 9u, 64u, 2047u, 2048u, 2049u, 5000u}) {
            constexpr std::uint64_t kRows = 3;
            WordVector words = random_words(rng, kRows * columns);
            if (all_ones) std::ranges::fill(words, std::uint16_t{0xFFFF});
            Placement p = whole_tensor(kRows, columns);
            p.tensor = 9;
            std::uint64_t expected = 0;
            for (std::uint64_t i = 0; i < words.size(); ++i)
                expected += key(9, DigestAxis::row, i / columns) *
                            key(9, DigestAxis::column, i % columns) * words[i];
            for (const auto& device : every_device())
                EXPECT_EQ(device->digest(words, {&p, 1}, kSalt), expected)
                    << device->detail() << ", " << columns << " columns";
        }
    }
}

TEST(Digest, IsTheSameAtEveryLengthAndStart) {
    TestRng rng{2};
    const WordVector words = random_words(rng, 300);
    const auto devices = every_device();
    for (std::uint64_t n = 0; n < 200; ++n) {
        for (std::uint64_t start = 0; start < 8; ++start) {
            Placement p = whole_tensor(1, std::max<std::uint64_t>(n, 1));
            p.col_count = n;
            p.local_first = start;
            const std::uint64_t expected = devices.back()->digest(words, {&p, 1}, kSalt);
            for (const auto& device : devices)
                ASSERT_EQ(device->digest(words, {&p, 1}, kSalt), expected)
                    << device->detail() << ", " << n << " words from " << start;
        }
    }
}

TEST(Digest, AddsUpOverAnySharding) {
    for (std::uint64_t seed = 0; seed < kCases; ++seed) {
        TestRng rng{seed};
        const Sharding sharding = random_case(rng);
        const WordVector tile = random_words(rng, sharding.tile_words);
        WordVector weights = random_words(rng, sharding.local_words);
        const auto devices = every_device();
        devices.back()->scatter(tile, sharding.placements, weights);

        const Placement& any = sharding.placements.front();
        Placement whole = any;  // the piece as it lies in the tile
        whole.row_first = whole.col_first = 0;
        whole.row_count = (any.tensor_first + any.tile_words - 1) / any.columns + 1;
        whole.row_step = whole.col_step = 1;
        whole.col_count = any.columns;
        whole.local_first = any.tile_first - any.tensor_first;
        whole.local_row_stride = any.columns;
        whole.local_col_stride = 1;
        const std::uint64_t expected = devices.back()->digest(tile, {&whole, 1}, kSalt);
        for (const auto& device : devices) {
            ASSERT_EQ(device->digest(tile, {&whole, 1}, kSalt), expected)
                << device->detail() << ", seed " << seed;
            ASSERT_EQ(device->digest(weights, sharding.placements, kSalt), expected)
                << device->detail() << ", seed " << seed;
            std::uint64_t sum = 0;
            for (const Placement& p : sharding.placements)
                sum += device->digest(weights, {&p, 1}, kSalt);
            ASSERT_EQ(sum, expected) << device->detail() << ", seed " << seed;
        }
    }
}

TEST(Digest, ChangesWithAnySingleWord) {
    TestRng rng{4};
    const Placement p = whole_tensor(9, 37);
    WordVector words = random_words(rng, 9 * 37);
    for (const auto& device : every_device()) {
        const std::uint64_t before = device->digest(words, {&p, 1}, kSalt);
        for (std::uint16_t& word : words) {
            for (const unsigned mask : {1u, 0x80u, 0x8000u, 0xFFFFu, unsigned{rng.mask()}}) {
                word = static_cast<std::uint16_t>(word ^ mask);
                ASSERT_NE(device->digest(words, {&p, 1}, kSalt), before) << device->detail();
                word = static_cast<std::uint16_t>(word ^ mask);
            }
        }
        ASSERT_EQ(device->digest(words, {&p, 1}, kSalt), before) << device->detail();
    }
}

TEST(Digest, ChangesWithEveryOtherPatternOfAWord) {
    const Placement p = whole_tensor(1, 1);
    for (const auto& device : every_device()) {
        std::vector<std::uint64_t> digests;
        for (std::uint32_t bits = 0; bits < 65536; ++bits) {
            const auto word = static_cast<std::uint16_t>(bits);
            digests.push_back(device->digest({&word, 1}, {&p, 1}, kSalt));
        }
        std::ranges::sort(digests);
        EXPECT_EQ(std::ranges::adjacent_find(digests), digests.end()) << device->detail();
    }
}

TEST(Digest, NoticesSwappedRowsColumnsTensorsAndSalts) {
    constexpr std::uint64_t kRows = 12;
    constexpr std::uint64_t kColumns = 20;
    TestRng rng{5};
    const WordVector words = random_words(rng, kRows * kColumns);
    Placement p = whole_tensor(kRows, kColumns);
    for (const auto& device : every_device()) {
        const std::uint64_t before = device->digest(words, {&p, 1}, kSalt);
        for (std::size_t a = 0; a < kRows; ++a) {
            for (std::size_t b = 0; b < a; ++b) {
                WordVector swapped = words;
                const auto row = [&](std::size_t r) {
                    return swapped.begin() + static_cast<std::ptrdiff_t>(r * kColumns);
                };
                std::swap_ranges(row(a), row(a) + kColumns, row(b));
                ASSERT_NE(device->digest(swapped, {&p, 1}, kSalt), before) << device->detail();
            }
        }
        for (std::size_t i = 1; i < words.size(); ++i) {
            WordVector swapped = words;
            std::swap(swapped[i - 1], swapped[i]);
            ASSERT_NE(swapped, words);
            ASSERT_NE(device->digest(swapped, {&p, 1}, kSalt), before) << device->detail();
        }
        Placement other = p;
        other.tensor = p.tensor + 1;
        EXPECT_NE(device->digest(words, {&other, 1}, kSalt), before) << device->detail();
        EXPECT_NE(device->digest(words, {&p, 1}, kSalt + 1), before) << device->detail();
    }
}

TEST(DigestChange, IsTheDifferenceOfTheTwoDigests) {
    constexpr std::uint64_t kRates[] = {0, 1, 30, 500, 1000};
    for (std::uint64_t seed = 0; seed < kCases; ++seed) {
        TestRng rng{seed};
        Sharding sharding = random_case(rng);
        sharding.placements.resize(1 + rng.below(sharding.placements.size()));
        const WordVector base = random_words(rng, sharding.tile_words);
        const WordVector next = random_next(rng, base, kRates[rng.below(std::size(kRates))]);
        WordVector before = random_words(rng, sharding.local_words);
        WordVector after = before;
        const auto devices = every_device();
        devices.back()->scatter(base, sharding.placements, before);
        devices.back()->scatter(next, sharding.placements, after);
        const std::uint64_t expected = devices.back()->digest(after, sharding.placements, kSalt) -
                                       devices.back()->digest(before, sharding.placements, kSalt);
        const Changes changes = expected_changes(base, next);
        for (const auto& device : devices)
            ASSERT_EQ(device->digest_change(base, changes, sharding.placements, kSalt), expected)
                << device->detail() << ", seed " << seed;
    }
}

TEST(DigestChange, CountsEveryCopyOfAWord) {
    TestRng rng{8};
    const WordVector base = random_words(rng, 5000);
    const Changes changes = expected_changes(base, random_next(rng, base, 30));
    const Placement p = whole_tensor(50, 100);
    const std::vector<Placement> twice{p, p};
    for (const auto& device : every_device()) {
        const std::uint64_t once = device->digest_change(base, changes, {&p, 1}, kSalt);
        EXPECT_NE(once, 0u) << device->detail();
        EXPECT_EQ(device->digest_change(base, changes, twice, kSalt), 2 * once) << device->detail();
        EXPECT_EQ(device->digest(base, twice, kSalt), 2 * device->digest(base, {&p, 1}, kSalt))
            << device->detail();
    }
}

}  // namespace
}  // namespace refit
