// Rank memory of one tile, packed: exactly the held words, in order, and nothing else on the way
// back.
#include <gtest/gtest.h>

#include "kernels/cuda/compact.hpp"
#include "tests/kernels/support.hpp"

namespace refit {
namespace {

using kernels::CompactPlan;

/// Memory words that a placement holds, word by word from placement.hpp alone.
std::vector<std::uint64_t> held_words(const Placement& p) {
    std::vector<std::uint64_t> held;
    for (std::uint64_t i = 0; i < p.row_count; ++i) {
        for (std::uint64_t j = 0; j < p.col_count; ++j) {
            const std::uint64_t word = (p.row_first + i * p.row_step) * p.columns + p.col_first +
                                       j * p.col_step - p.tensor_first;
            if (word < p.tile_words)
                held.push_back(p.local_first + i * p.local_row_stride + j * p.local_col_stride);
        }
    }
    return held;
}

std::vector<std::uint64_t> held_words(std::span<const Placement> placements) {
    std::vector<std::uint64_t> held;
    for (const Placement& p : placements) {
        const auto more = held_words(p);
        held.insert(held.end(), more.begin(), more.end());
    }
    return held;
}

TEST(Compact, OneRowOfAThousandMillionWordsPacksOnlyWhatTheTileHasOfIt) {
    Placement p = whole_tensor(1, 1'000'000'000);
    p.tensor_first = 123'456'789;
    p.tile_words = 100;
    const CompactPlan plan = kernels::plan_compact({&p, 1}, 1'000'000'000);
    ASSERT_EQ(plan.placements.size(), 1u);
    EXPECT_EQ(plan.words, 100u);
    EXPECT_EQ(plan.boxes[0].local, 123'456'789u);
    EXPECT_EQ(plan.placements[0].col_first, 123'456'789u);
    EXPECT_EQ(plan.placements[0].local_first, 0u);
}

TEST(Compact, RowsThatAreCutShortAreBoxesOfTheirOwn) {
    // Words 7..33 of rows of ten: three of row 0, rows 1 and 2, four of row 3.
    Placement p = whole_tensor(5, 10);
    p.tensor_first = 7;
    p.tile_words = 27;
    const CompactPlan plan = kernels::plan_compact({&p, 1}, 50);
    ASSERT_EQ(plan.boxes.size(), 3u);
    EXPECT_EQ(plan.boxes[0].columns, 3u);
    EXPECT_EQ(plan.boxes[1].rows, 2u);
    EXPECT_EQ(plan.boxes[1].at, 8u);
    EXPECT_EQ(plan.boxes[2].columns, 4u);
    EXPECT_EQ(plan.words, 36u);
    // Whole rows, the last too: one box.
    p.tensor_first = 10;
    p.tile_words = 40;
    EXPECT_EQ(kernels::plan_compact({&p, 1}, 50).boxes.size(), 1u);
}

TEST(Compact, PackedWordsAreTheHeldOnesAndUnpackingTouchesNoOther) {
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        TestRng rng{seed};
        const Sharding sharding = random_case(rng);
        const auto held = held_words(sharding.placements);
        const CompactPlan plan = kernels::plan_compact(sharding.placements, sharding.local_words);
        const WordVector weights = random_words(rng, sharding.local_words);
        WordVector packed(plan.words, 0xA7A7);
        kernels::pack(plan, weights, packed);

        WordVector in_order;
        for (const Placement& p : plan.placements) {
            for (const std::uint64_t at : held_words(p)) in_order.push_back(packed.at(at));
        }
        WordVector expected;
        for (const std::uint64_t at : held) expected.push_back(weights[at]);
        ASSERT_EQ(in_order, expected) << "seed " << seed;

        const WordVector before = random_words(rng, sharding.local_words);
        WordVector after = before;
        kernels::unpack(plan, packed, after);
        WordVector right = before;
        for (const std::uint64_t at : held) right[at] = weights[at];
        ASSERT_EQ(after, right) << "seed " << seed;
    }
}

TEST(Compact, APlacementOutsideTheMemoryIsABug) {
    Placement p = whole_tensor(4, 10);
    EXPECT_EQ(kernels::plan_compact({&p, 1}, 40).words, 40u);
    EXPECT_DEATH(kernels::plan_compact({&p, 1}, 39), "broken precondition");
    p.tile_words = 39;
    EXPECT_EQ(kernels::plan_compact({&p, 1}, 39).words, 41u);
}

}  // namespace
}  // namespace refit
