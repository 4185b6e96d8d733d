// diff_and_digest() must be diff() and two digest() in one walk, whatever the pieces of the tile,
// and its inner sums must hold where keys and words are as large as they can be.
#include <gtest/gtest.h>

#include "kernels/cpu/simd.hpp"
#include "kernels/digest_key.hpp"
#include "tests/kernels/support.hpp"

namespace refit {
namespace {

constexpr std::uint64_t kSalt = 0x5A17;

/// `words` words of a tensor from its word `first` on, at tile word `tile_first`.
Placement piece_of(std::uint64_t columns,
                   std::uint64_t first,
                   std::uint64_t words,
                   std::uint64_t tile_first) {
    Placement p;
    p.tile_first = tile_first;
    p.tile_words = words;
    p.tensor_first = first;
    p.columns = columns;
    p.col_count = columns;
    p.row_first = first / columns;
    p.row_count = words == 0 ? 0 : (first + words - 1) / columns - p.row_first + 1;
    p.local_row_stride = columns;
    p.local_first = tile_first + p.row_first * columns - first;
    p.tensor = 1 + tile_first;
    return p;
}

struct Case {
    WordVector base;
    WordVector next;
    std::vector<Placement> placements;

    std::span<const std::uint16_t> base_from(std::size_t start) const {
        return std::span(base).subspan(start);
    }
    std::span<const std::uint16_t> next_from(std::size_t start) const {
        return std::span(next).subspan(start);
    }
};

/// The tile's words begin at `start` of the vectors: any alignment of 2.
void expect_all(const Case& tile, std::size_t start, const std::string& what) {
    const auto devices = every_device();
    const auto base = tile.base_from(start);
    const auto next = tile.next_from(start);
    const TileDigests digests{devices.back()->digest(base, tile.placements, kSalt),
                              devices.back()->digest(next, tile.placements, kSalt)};
    const Changes changes =
        expected_changes({base.begin(), base.end()}, {next.begin(), next.end()});
    for (const auto& device : devices) {
        Changes out = expected_changes({1, 2}, {1, 3});  // what was there must go
        const TileDigests got = device->diff_and_digest(base, next, tile.placements, kSalt, out);
        ASSERT_EQ(got, digests) << device->detail() << ", " << what;
        ASSERT_EQ(out, changes) << device->detail() << ", " << what;
    }
}

TEST(DiffAndDigest, IsAllThreeAtEveryLengthAndStart) {
    TestRng rng{41};
    for (std::uint64_t n = 0; n < 200; ++n) {
        Case tile;
        tile.base = random_words(rng, n + 3);
        tile.next = random_next(rng, tile.base, n % 5 * 100);
        const std::uint64_t start = n % 4;
        tile.placements = {piece_of(1 + rng.below(70), rng.below(100), n + 3 - start, 0)};
        expect_all(tile, start, std::to_string(n) + " words");
    }
}

TEST(DiffAndDigest, TakesWideAndTallTensorsInParts) {
    struct Shape {
        std::uint64_t columns;
        std::uint64_t first;
        std::uint64_t words;
    };
    // Wider than a window of keys, narrower than a vector, with rows cut at both ends; most are
    // longer than a part.
    constexpr Shape kShapes[] = {{530'000, 529'000, 3'000},
                                 {530'000, 10, 530'001},
                                 {40'000, 0, 120'000},
                                 {40'000, 39'990, 50'007},
                                 {100'001, 16'383, 70'000},
                                 {16'384, 5, 40'000},
                                 {4096, 0, 36'864},
                                 {2049, 2047, 50'000},
                                 {31, 7, 40'000},
                                 {33, 32, 33'001},
                                 {1, 9, 17'000},
                                 {3, 1, 20'000}};
    TestRng rng{42};
    for (const Shape& shape : kShapes) {
        for (const unsigned per_mille : {0u, 10u, 700u}) {
            if (shape.words > 200'000 && per_mille != 10) continue;  // the reference takes long
            Case tile;
            tile.base = random_words(rng, shape.words);
            tile.next = random_next(rng, tile.base, per_mille);
            tile.placements = {piece_of(shape.columns, shape.first, shape.words, 0)};
            expect_all(tile, 0, std::to_string(shape.columns) + " columns");
        }
    }
}

TEST(DiffAndDigest, TakesTilesOfManyPiecesAndOfWordsThatAreNobodys) {
    constexpr std::uint64_t kRates[] = {0, 1, 30, 200, 500, 1000};
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
        TestRng rng{seed};
        Case tile;
        std::uint64_t words = rng.below(40);
        for (std::uint64_t piece = 1 + rng.below(6); piece > 0; --piece) {
            const std::uint64_t columns = 1 + rng.below(rng.below(2) == 0 ? 50 : 6000);
            const std::uint64_t count = rng.below(7000);
            tile.placements.push_back(piece_of(columns, rng.below(3 * columns), count, words));
            words += count + (rng.below(2) == 0 ? 0 : rng.below(5000));
        }
        if (rng.below(3) == 0) shuffle(rng, tile.placements);
        tile.base = random_words(rng, words);
        tile.next = random_next(rng, tile.base, kRates[rng.below(std::size(kRates))]);
        expect_all(tile, 0, "seed " + std::to_string(seed));
    }
}

TEST(DiffAndDigest, ReadsSteppedAndTransposedPlacementsAsDigestDoes) {
    TestRng rng{43};
    Case tile;
    tile.base = random_words(rng, 60'000);
    tile.next = random_next(rng, tile.base, 30);
    Placement stepped = whole_tensor(60, 70);
    stepped.col_first = 1;
    stepped.col_count = 23;
    stepped.col_step = 3;
    Placement transposed = whole_tensor(60, 70);
    transposed.local_row_stride = 1;
    transposed.local_col_stride = 60;
    Placement wide = whole_tensor(1, 60'000);  // more held columns than a window has
    wide.col_first = 1;
    wide.col_count = 19'999;
    wide.col_step = 3;
    for (const Placement& p : {stepped, transposed, wide}) {
        tile.placements = {p};
        expect_all(tile, 0, "placement");
    }
}

TEST(DiffAndDigest, SeesEachOfItsThreePartsChangeAlone) {
    TestRng rng{44};
    Case tile;
    tile.base = tile.next = random_words(rng, 9000);
    tile.placements = {piece_of(90, 0, 9000, 0)};
    for (const auto& device : every_device()) {
        Changes none;
        const auto digests =
            device->diff_and_digest(tile.base, tile.next, tile.placements, kSalt, none);
        EXPECT_EQ(digests.base, digests.next) << device->detail();
        EXPECT_TRUE(none.segments.empty()) << device->detail();
        for (const std::size_t at : {0u, 31u, 32u, 63u, 64u, 4095u, 4096u, 8999u}) {
            WordVector next = tile.next;
            next[at] = static_cast<std::uint16_t>(next[at] ^ 1u);
            Changes one;
            const auto moved =
                device->diff_and_digest(tile.base, next, tile.placements, kSalt, one);
            EXPECT_EQ(moved.base, digests.base) << device->detail();
            EXPECT_NE(moved.next, digests.next) << device->detail();
            EXPECT_EQ(one, expected_changes(tile.base, next)) << device->detail();
        }
    }
}

TEST(DiffAndDigestDeathTest, RefusesAPlacementOutsideTheTile) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    const WordVector words(100);
    const Placement p = piece_of(10, 0, 101, 0);
    Changes out;
    for (const auto& device : every_device())
        EXPECT_DEATH(device->diff_and_digest(words, words, {&p, 1}, kSalt, out), "precondition");
}

/// A group of columns whose digits are all at one end of their range, or at random ends.
KeyGroup extreme_group(TestRng& rng, int end) {
    KeyGroup group;
    for (std::size_t d = 0; d < kKeyDigits; ++d) {
        const int half = 1 << (kDigitBits[d] - 1);
        for (std::int16_t& digit : group.digit[d]) {
            const bool low = end == 0 || (end == 2 && rng.below(2) == 0);
            digit = static_cast<std::int16_t>(low ? -half : half - 1);
        }
    }
    return group;
}

std::uint64_t key_of(const KeyGroup& group, std::size_t k) {
    std::uint64_t key = 0;
    for (std::size_t d = 0; d < kKeyDigits; ++d)
        key += static_cast<std::uint64_t>(std::int64_t{group.digit[d][k]}) << kDigitShift[d];
    return key;
}

TEST(Dot, IsExactAtTheEndsOfEveryDigitAndWord) {
    TestRng rng{45};
    constexpr std::size_t kGroups = 64;
    for (const int end : {0, 1, 2}) {
        ColumnKeys keys(kGroups * kGroupColumns);
        keys.sums[0] = 0;
        for (std::size_t g = 0; g < kGroups; ++g) {
            keys.groups[g] = extreme_group(rng, end);
            keys.sums[g + 1] = keys.sums[g];
            for (std::size_t k = 0; k < kGroupColumns; ++k)
                keys.sums[g + 1] += key_of(keys.groups[g], k);
        }
        // The least and the greatest signed word, and both sides of zero.
        constexpr std::uint16_t kEnds[] = {0x0000, 0xFFFF, 0x7FFF, 0x8000};
        for (const std::uint16_t word : kEnds) {
            const WordVector words(kGroups * kGroupColumns, word);
            for (const std::size_t count : {words.size(), words.size() - 37}) {
                std::uint64_t expected = 0;
                for (std::size_t i = 37; i < count; ++i)
                    expected += key_of(keys.groups[i / kGroupColumns], i % kGroupColumns) * word;
                for (const SimdLevel& level : simd_levels()) {
                    const KeyRun run{keys, 37, count - 37};
                    EXPECT_EQ(level.ops.dot(run, words.data() + 37, 0), expected) << level.name;
                    EXPECT_EQ(level.ops.dot_pair(run, words.data() + 37, words.data(), 0),
                              (TileDigests{expected, expected}))
                        << level.name;
                }
            }
        }
    }
}

TEST(FillKeys, SplitsTheKeysThemselves) {
    for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{5}, ~std::uint64_t{0} - 99}) {
        for (const std::uint64_t step : {1u, 3u}) {
            for (const SimdLevel& level : simd_levels()) {
                const std::uint64_t prefix = digest_key_prefix(kSalt, first, DigestAxis::column);
                ColumnKeys keys(3 * kGroupColumns);
                level.ops.fill_keys({prefix, first, step, 3}, keys);
                std::uint64_t sum = 0;
                for (std::size_t k = 0; k < 3 * kGroupColumns; ++k) {
                    if (k % kGroupColumns == 0) {
                        EXPECT_EQ(keys.sums[k / kGroupColumns], sum);
                    }
                    const std::uint64_t key = digest_key_at(prefix, first + k * step);
                    ASSERT_EQ(key_of(keys.groups[k / kGroupColumns], k % kGroupColumns), key)
                        << level.name << ", column " << k;
                    sum += key;
                }
                EXPECT_EQ(keys.sums[3], sum) << level.name;
            }
        }
    }
}

}  // namespace
}  // namespace refit
