// diff() must name exactly the words whose bits differ, at every level, length and alignment.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/kernels/support.hpp"

namespace refit {
namespace {

WordVector with_changes(const WordVector& base, const Changes& changes) {
    WordVector next = base;
    std::size_t position = 0;
    std::size_t word = 0;
    for (const SegmentChanges& s : changes.segments)
        for (std::size_t k = 0; k < s.stored; ++k)
            next[s.segment * 4096 + (s.dense ? k : changes.positions[position++])] =
                changes.words[word++];
    return next;
}

void expect_diff(const WordVector& base, const WordVector& next, const std::string& what) {
    const Changes expected = expected_changes(base, next);
    for (const auto& device : every_device()) {
        Changes changes;
        device->diff(base, next, changes);
        ASSERT_EQ(changes, expected) << device->detail() << ", " << what;
    }
}

TEST(Diff, FindsChangesThatCrowdBehindOrAheadOfQuietWords) {
    // A level may judge a segment by its first words: whatever it concludes must not show.
    TestRng rng{17};
    const WordVector base = random_words(rng, 4096 + 200);
    for (const std::size_t quiet : {0u, 63u, 64u, 500u, 512u, 576u, 2047u, 2048u, 2049u, 4090u}) {
        for (const std::uint64_t per_mille : {12u, 40u, 150u, 190u, 300u, 1000u}) {
            WordVector behind = base;
            WordVector ahead = base;
            for (std::size_t i = 0; i < base.size(); ++i) {
                if (rng.below(1000) >= per_mille) continue;
                WordVector& next = i < quiet ? ahead : behind;
                next[i] = static_cast<std::uint16_t>(next[i] ^ rng.mask());
            }
            const std::string what = std::to_string(quiet) + ", " + std::to_string(per_mille);
            expect_diff(base, behind, "behind " + what);
            expect_diff(base, ahead, "ahead of " + what);
        }
    }
}

TEST(Diff, FindsWhatDiffersAtEveryLengthAndStart) {
    constexpr std::uint64_t kSeed = 11;
    TestRng rng{kSeed};
    std::vector<std::size_t> lengths(210);
    std::iota(lengths.begin(), lengths.end(), std::size_t{0});
    for (const std::size_t edge : {256u, 512u, 1024u, 4096u, 8192u, 12288u})
        for (const std::size_t offset : {0u, 1u, 2u, 3u}) lengths.push_back(edge + offset - 1);
    const auto devices = every_device();
    for (const std::size_t n : lengths) {
        for (const std::size_t start : {0u, 1u, 3u, 7u}) {
            for (const std::uint64_t per_mille : {0u, 4u, 30u, 400u, 1000u}) {
                const WordVector base = random_words(rng, start + n + 8);
                const WordVector next = random_next(rng, base, per_mille);
                const auto part = [&](const WordVector& words, std::size_t shift) {
                    return std::span(words).subspan(start + shift, n);
                };
                // Base and next need not be aligned alike, and words past the end may differ.
                WordVector moved(1);
                moved.insert(moved.end(), next.begin(), next.end());
                const auto base_part = part(base, 0);
                const auto next_part = part(moved, 1);
                const Changes expected =
                    expected_changes(WordVector(base_part.begin(), base_part.end()),
                                     WordVector(next_part.begin(), next_part.end()));
                for (const auto& device : devices) {
                    Changes changes;
                    device->diff(base_part, next_part, changes);
                    ASSERT_EQ(changes, expected) << device->detail() << ", seed " << kSeed << ", "
                                                 << n << " words from " << start;
                }
            }
        }
    }
}

TEST(Diff, FindsASingleChangeWhereverItIs) {
    const auto devices = every_device();
    const WordVector base(4096 + 300, 0x3F80);
    for (std::size_t i = 0; i < base.size(); ++i) {
        if (i > 300 && i < 3900) continue;
        WordVector next = base;
        next[i] ^= 1;
        Changes expected;
        expected.segments = {{static_cast<std::uint32_t>(i / 4096), 1, 1, false}};
        expected.positions = {static_cast<std::uint16_t>(i % 4096)};
        expected.words = {0x3F81};
        for (const auto& device : devices) {
            Changes changes;
            device->diff(base, next, changes);
            ASSERT_EQ(changes, expected) << device->detail() << ", word " << i;
        }
    }
}

TEST(Diff, TellsEveryPairOfPatternsApart) {
    // Every next pattern against zeros, infinities, NaNs, subnormals, ones: 65535 changes each.
    WordVector every(65536);
    std::iota(every.begin(), every.end(), std::uint16_t{0});
    const auto devices = every_device();
    for (const std::uint16_t pattern : WordVector{0x0000, 0x8000, 0x7F80, 0xFF80, 0x7FC0, 0xFFFF,
                                                  0x7F81, 0x0001, 0x807F, 0x3F80, 0x00FF, 0xFF00}) {
        const WordVector same(65536, pattern);
        for (const auto& device : devices) {
            Changes changes;
            device->diff(same, every, changes);
            ASSERT_EQ(changes.changed(), 65535u) << device->detail();
            ASSERT_EQ(with_changes(same, changes), every) << device->detail();
            device->diff(every, same, changes);
            ASSERT_EQ(changes.changed(), 65535u) << device->detail();
            ASSERT_EQ(with_changes(every, changes), same) << device->detail();
        }
    }
}

TEST(Diff, KeepsEveryPatternInSparseSegmentsToo) {
    WordVector base(65536);
    std::iota(base.begin(), base.end(), std::uint16_t{0});
    for (std::size_t phase = 0; phase < 3; ++phase) {
        WordVector next = base;
        for (std::size_t i = phase; i < next.size(); i += 3)
            next[i] = static_cast<std::uint16_t>(next[i] * 40503u + 1u);
        expect_diff(base, next, "phase " + std::to_string(phase));
    }
}

TEST(Diff, ComparesBitsAndNotValues) {
    const WordVector base{0x0000, 0x8000, 0x7FC0, 0x7FC1, 0x7F80, 0x0001, 0x3F80, 0xFFFF};
    const WordVector next{0x8000, 0x0000, 0x7FC0, 0x7FC2, 0xFF80, 0x0002, 0x3F80, 0xFFFE};
    Changes expected;
    expected.segments = {{0, 6, 6, false}};
    expected.positions = {0, 1, 3, 4, 5, 7};
    expected.words = {0x8000, 0x0000, 0x7FC2, 0xFF80, 0x0002, 0xFFFE};
    for (const auto& device : every_device()) {
        Changes changes;
        device->diff(base, next, changes);
        EXPECT_EQ(changes, expected) << device->detail();  // an equal NaN is no change
    }
}

TEST(Diff, TurnsASegmentDenseWithTheFirstChangeAboveHalf) {
    TestRng rng{13};
    const WordVector base = random_words(rng, 3 * 4096);
    std::vector<std::size_t> order(4096);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (int arrangement = 0; arrangement < 4; ++arrangement) {
        if (arrangement == 1) std::ranges::reverse(order);
        if (arrangement > 1) shuffle(rng, order);
        for (const std::size_t changed : {2047u, 2048u, 2049u, 4095u, 4096u}) {
            WordVector next = base;
            for (std::size_t k = 0; k < changed; ++k) next[4096 + order[k]] ^= rng.mask();
            expect_diff(base, next, std::to_string(changed) + " changes");
            for (const auto& device : every_device()) {
                Changes changes;
                device->diff(base, next, changes);
                ASSERT_EQ(changes.segments.size(), 1u);
                EXPECT_EQ(changes.segments[0].dense, changed >= 2049);
                EXPECT_EQ(changes.words.size(), changed >= 2049 ? 4096 : changed);
                EXPECT_EQ(changes.positions.size(), changed >= 2049 ? 0 : changed);
            }
        }
    }
}

TEST(Diff, LeavesAShortLastSegmentSparseUpToTheSameBound) {
    TestRng rng{17};
    for (const std::size_t tail : {1u, 2048u, 2049u, 4095u}) {
        const WordVector base = random_words(rng, 4096 + tail);
        WordVector next = base;
        for (std::size_t i = 4096; i < next.size(); ++i) next[i] ^= rng.mask();
        expect_diff(base, next, "tail of " + std::to_string(tail));
    }
}

TEST(Diff, ReplacesWhatItsOutputHeld) {
    const WordVector base(5000, 1);
    WordVector next = base;
    next[4999] = 2;
    for (const auto& device : every_device()) {
        Changes changes;
        device->diff(base, WordVector(5000, 3), changes);
        device->diff(base, next, changes);
        EXPECT_EQ(changes, expected_changes(base, next)) << device->detail();
        device->diff(base, base, changes);
        EXPECT_EQ(changes, Changes{}) << device->detail();
    }
}

TEST(DiffDeathTest, RefusesUnequalLengths) {
    for (const auto& device : every_device()) {
        Changes changes;
        EXPECT_DEATH(device->diff(WordVector(3), WordVector(4), changes), "broken precondition");
    }
}

}  // namespace
}  // namespace refit
