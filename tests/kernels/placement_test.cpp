// gather() and scatter() must move exactly the words the placements hold, and no others.
#include <gtest/gtest.h>

#include "tests/kernels/support.hpp"

namespace refit {
namespace {

constexpr std::uint64_t kCases = 300;

TEST(Scatter, FollowsTheAffineBoxInClosedForm) {
    // A 3 x 4 tensor, rows 0 and 2, columns 1 and 3, kept transposed with gaps; the tile holds
    // canonical words 1..10 from its word 2 on, so row 2 lacks its last word.
    Placement p;
    p.tile_first = 2;
    p.tile_words = 10;
    p.tensor_first = 1;
    p.columns = 4;
    p.row_count = 2;
    p.row_step = 2;
    p.col_first = 1;
    p.col_count = 2;
    p.col_step = 2;
    p.local_first = 1;
    p.local_row_stride = 2;
    p.local_col_stride = 5;
    const WordVector tile{90, 91, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 92};
    for (const auto& device : every_device()) {
        WordVector weights(10, 70);
        device->scatter(tile, {&p, 1}, weights);
        EXPECT_EQ(weights, (WordVector{70, 1, 70, 9, 70, 70, 3, 70, 70, 70})) << device->detail();
        WordVector back(13, 80);
        device->gather(weights, {&p, 1}, back);
        const WordVector expected{80, 80, 1, 80, 3, 80, 80, 80, 80, 80, 9, 80, 80};
        EXPECT_EQ(back, expected) << device->detail();
    }
}

TEST(Gather, UndoesScatterForAnySharding) {
    for (std::uint64_t seed = 0; seed < kCases; ++seed) {
        TestRng rng{seed};
        const Sharding sharding = random_case(rng);
        const Placement& any = sharding.placements.front();
        const WordVector tile = random_words(rng, sharding.tile_words);
        const WordVector memory = random_words(rng, sharding.local_words);
        WordVector held = random_words(rng, sharding.tile_words);
        const WordVector rest = held;
        const auto piece = held.begin() + static_cast<std::ptrdiff_t>(any.tile_first);
        const auto source = tile.begin() + static_cast<std::ptrdiff_t>(any.tile_first);
        std::copy_n(source, any.tile_words, piece);
        for (const auto& device : every_device()) {
            WordVector weights = memory;
            device->scatter(tile, sharding.placements, weights);
            WordVector back = rest;
            device->gather(weights, sharding.placements, back);
            ASSERT_EQ(back, held) << device->detail() << ", seed " << seed;
        }
    }
}

TEST(Scatter, TouchesTheSameWordsAsTheReferenceAtEveryLevel) {
    for (std::uint64_t seed = 0; seed < kCases; ++seed) {
        TestRng rng{seed};
        Sharding sharding = random_case(rng);
        sharding.placements.resize(1 + rng.below(sharding.placements.size()));
        const WordVector tile = random_words(rng, sharding.tile_words);
        const WordVector memory = random_words(rng, sharding.local_words);
        const auto devices = every_device();
        WordVector scattered = memory;
        WordVector gathered = tile;
        devices.back()->scatter(tile, sharding.placements, scattered);
        devices.back()->gather(memory, sharding.placements, gathered);
        for (const auto& device : devices) {
            WordVector weights = memory;
            device->scatter(tile, sharding.placements, weights);
            ASSERT_EQ(weights, scattered) << device->detail() << ", seed " << seed;
            WordVector back = tile;
            device->gather(memory, sharding.placements, back);
            ASSERT_EQ(back, gathered) << device->detail() << ", seed " << seed;
        }
    }
}

TEST(Gather, AcceptsABoxThatStartsBeforeTheMemory) {
    // Memory that is the tile itself: the box starts at word 0 of the tensor, the piece at 10.
    Placement p = whole_tensor(5, 4);
    p.tensor_first = 10;
    p.tile_words = 7;
    p.local_first = std::uint64_t{0} - 10;
    const WordVector memory{1, 2, 3, 4, 5, 6, 7};
    for (const auto& device : every_device()) {
        WordVector tile(7);
        device->gather(memory, {&p, 1}, tile);
        EXPECT_EQ(tile, memory) << device->detail();
    }
}

TEST(Placements, MayHoldNothing) {
    Placement no_rows = whole_tensor(0, 5);
    no_rows.tile_words = 4;
    Placement no_columns = whole_tensor(3, 5);
    no_columns.col_count = 0;
    Placement no_words = whole_tensor(3, 5);
    no_words.tile_words = 0;
    Placement other_rows = whole_tensor(3, 5);  // the piece lies behind the box
    other_rows.row_count = 1;
    other_rows.tensor_first = 5;
    other_rows.tile_words = 5;
    const std::vector<Placement> nothing{no_rows, no_columns, no_words, other_rows};
    const WordVector base(20, 1);
    Changes changes;
    for (const auto& device : every_device()) {
        device->diff(base, WordVector(20, 2), changes);
        WordVector memory;
        device->scatter(base, nothing, memory);
        device->overwrite(memory, changes, nothing);
        WordVector tile = base;
        device->gather(memory, nothing, tile);
        EXPECT_EQ(tile, base) << device->detail();
        EXPECT_EQ(device->digest(memory, nothing, 1), 0u) << device->detail();
        EXPECT_EQ(device->digest_change(base, changes, nothing, 1), 0u) << device->detail();
        EXPECT_EQ(device->digest(memory, {}, 1), 0u) << device->detail();
    }
}

TEST(PlacementsDeathTest, RefuseAddressesOutsideTheMemory) {
    const WordVector base(15, 1);
    const WordVector next(15, 2);
    Placement strided = whole_tensor(3, 5);
    strided.local_col_stride = std::uint64_t{1} << 62;  // four of them wrap round to nothing
    for (const auto& device : every_device()) {
        Changes changes;
        device->diff(base, next, changes);
        for (const Placement& p : {whole_tensor(3, 5), strided}) {
            WordVector memory(14);
            WordVector tile(15);
            const std::string text = "broken precondition";
            EXPECT_DEATH(device->gather(memory, {&p, 1}, tile), text);
            EXPECT_DEATH(device->scatter(tile, {&p, 1}, memory), text);
            EXPECT_DEATH(device->overwrite(memory, changes, {&p, 1}), text);
            EXPECT_DEATH(device->digest(memory, {&p, 1}, 1), text);
        }
        const Placement p = whole_tensor(3, 5);
        WordVector large(15);
        WordVector small_tile(14);
        EXPECT_DEATH(device->gather(large, {&p, 1}, small_tile), "broken precondition");
        EXPECT_DEATH(device->scatter(small_tile, {&p, 1}, large), "broken precondition");
        EXPECT_DEATH(device->digest_change(small_tile, changes, {&p, 1}, 1), "broken precondition");
    }
}

TEST(PlacementsDeathTest, RefuseSenselessBoxes) {
    Placement no_columns = whole_tensor(1, 4);
    no_columns.columns = 0;
    Placement no_step = whole_tensor(1, 4);
    no_step.col_step = 0;
    Placement too_wide = whole_tensor(1, 4);
    too_wide.col_first = 1;
    WordVector tile(4);
    const WordVector memory(8);
    for (const auto& device : every_device())
        for (const Placement& p : {no_columns, no_step, too_wide})
            EXPECT_DEATH(device->gather(memory, {&p, 1}, tile), "broken precondition");
}

}  // namespace
}  // namespace refit
