// overwrite() must end in the next words however often, in whatever order and from whatever mix of
// base and next words it runs, and must leave every other word alone.
#include <gtest/gtest.h>

#include "tests/kernels/support.hpp"

namespace refit {
namespace {

constexpr std::uint64_t kCases = 300;
constexpr std::uint64_t kRates[] = {1, 10, 30, 300, 510, 700, 1000};

/// The list cut into one list per segment.
std::vector<Changes> by_segment(const Changes& changes) {
    std::vector<Changes> parts;
    std::ptrdiff_t position = 0;
    std::ptrdiff_t word = 0;
    for (const SegmentChanges& s : changes.segments) {
        const std::ptrdiff_t positions = s.dense ? 0 : s.stored;
        Changes part;
        part.segments = {s};
        part.positions.assign(changes.positions.begin() + position,
                              changes.positions.begin() + position + positions);
        part.words.assign(changes.words.begin() + word, changes.words.begin() + word + s.stored);
        parts.push_back(part);
        position += positions;
        word += s.stored;
    }
    return parts;
}

struct Refit {
    Sharding sharding;
    WordVector base;    // tile words
    WordVector next;    // tile words
    WordVector before;  // rank memory that holds base, random padding
    WordVector after;   // the same with next
    Changes changes;
};

Refit random_refit(std::uint64_t seed) {
    TestRng rng{seed};
    Refit refit;
    refit.sharding = random_case(rng);
    refit.base = random_words(rng, refit.sharding.tile_words);
    refit.next = random_next(rng, refit.base, kRates[rng.below(std::size(kRates))]);
    refit.before = random_words(rng, refit.sharding.local_words);
    refit.after = refit.before;
    const auto reference = make_cpu_device(1, "scalar");
    reference->scatter(refit.base, refit.sharding.placements, refit.before);
    reference->scatter(refit.next, refit.sharding.placements, refit.after);
    refit.changes = expected_changes(refit.base, refit.next);
    return refit;
}

TEST(Overwrite, MakesTheNextWordsAndTouchesNoOthers) {
    for (std::uint64_t seed = 0; seed < kCases; ++seed) {
        const Refit refit = random_refit(seed);
        for (const auto& device : every_device()) {
            WordVector weights = refit.before;
            device->overwrite(weights, refit.changes, refit.sharding.placements);
            ASSERT_EQ(weights, refit.after) << device->detail() << ", seed " << seed;
        }
    }
}

TEST(Overwrite, IsExactAfterInterruptedAndShuffledRuns) {
    for (std::uint64_t seed = 0; seed < kCases; ++seed) {
        const Refit refit = random_refit(seed);
        for (const auto& device : every_device()) {
            TestRng rng{seed};
            WordVector weights = refit.before;
            std::vector<Changes> parts = by_segment(refit.changes);
            std::vector<Placement> boxes = refit.sharding.placements;
            for (int run = 0; run < 3; ++run) {  // each dies before it is through
                shuffle(rng, parts);
                shuffle(rng, boxes);
                for (std::size_t k = 0; k < rng.below(parts.size() + 1); ++k) {
                    const auto some = std::span(boxes).first(rng.below(boxes.size() + 1));
                    device->overwrite(weights, parts[k], some);
                }
                for (std::size_t i = 0; i < weights.size(); ++i)
                    if (rng.below(3) == 0) weights[i] = refit.after[i];
            }
            for (const Changes& part : parts) device->overwrite(weights, part, boxes);
            ASSERT_EQ(weights, refit.after) << device->detail() << ", seed " << seed;
            device->overwrite(weights, refit.changes, boxes);
            ASSERT_EQ(weights, refit.after) << device->detail() << ", seed " << seed;
        }
    }
}

TEST(Overwrite, StoresOnlyWhatItsOwnBoxesHold) {
    for (std::uint64_t seed = 0; seed < kCases; ++seed) {
        Refit refit = random_refit(seed);
        TestRng rng{seed};
        refit.sharding.placements.resize(rng.below(refit.sharding.placements.size() + 1));
        const auto devices = every_device();
        WordVector expected = refit.before;
        devices.back()->overwrite(expected, refit.changes, refit.sharding.placements);
        for (const auto& device : devices) {
            WordVector weights = refit.before;
            device->overwrite(weights, refit.changes, refit.sharding.placements);
            ASSERT_EQ(weights, expected) << device->detail() << ", seed " << seed;
        }
    }
}

TEST(Overwrite, StoresSparseAndDenseSegmentsInTheirPlaces) {
    // Segment 0 sparse, 1 untouched, 2 dense; the rank keeps every other row, each row reversed in
    // halves by two boxes.
    constexpr std::uint64_t kColumns = 96;
    TestRng rng{3};
    const WordVector base = random_words(rng, 128 * kColumns);
    WordVector next = base;
    for (std::size_t i = 5; i < 4096; i += 9) next[i] ^= rng.mask();
    for (std::size_t i = 8192; i < base.size(); ++i) next[i] ^= rng.mask();
    Placement left = whole_tensor(128, kColumns);
    left.row_count = 64;
    left.row_step = 2;
    left.col_count = 48;
    left.local_first = 48;
    Placement right = left;
    right.col_first = 48;
    right.local_first = 0;
    const std::vector<Placement> boxes{left, right};
    for (const auto& device : every_device()) {
        WordVector weights(64 * kColumns);
        device->scatter(base, boxes, weights);
        Changes changes;
        device->diff(base, next, changes);
        ASSERT_EQ(changes.segments.size(), 2u);
        device->overwrite(weights, changes, boxes);
        for (std::size_t row = 0; row < 64; ++row)
            for (std::size_t c = 0; c < kColumns; ++c)
                ASSERT_EQ(weights[row * kColumns + c], next[2 * row * kColumns + (c + 48) % 96])
                    << device->detail() << ", row " << row << ", column " << c;
    }
}

TEST(OverwriteDeathTest, RefusesListsThatContradictThemselves) {
    const Placement p = whole_tensor(2, 4096);
    Changes good;
    good.segments = {{0, 2, 2, false}};
    good.positions = {1, 5};
    good.words = {1, 2};
    std::vector<Changes> bad(7, good);
    bad[0].words.pop_back();
    bad[1].positions.push_back(6);
    bad[2].segments.push_back({1, 1, 1, false});
    bad[3].segments[0].dense = true;
    bad[4].positions = {5, 1};
    bad[5].positions = {1, 4096};
    bad[6].segments = {{1, 1, 1, false}, {0, 1, 1, false}};
    WordVector weights(8192);
    for (const auto& device : every_device()) {
        device->overwrite(weights, good, {&p, 1});
        for (const Changes& changes : bad)
            EXPECT_DEATH(device->overwrite(weights, changes, {&p, 1}), "broken precondition");
    }
}

}  // namespace
}  // namespace refit
