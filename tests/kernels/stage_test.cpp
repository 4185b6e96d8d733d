// stage() must give the same list as diff() of the words it leads to.
#include <gtest/gtest.h>

#include "tests/kernels/support.hpp"

namespace refit {
namespace {

struct SparseMasks {
    std::vector<std::uint32_t> index;
    WordVector mask;
};

SparseMasks masks_between(const WordVector& base, const WordVector& next) {
    SparseMasks masks;
    for (std::size_t i = 0; i < base.size(); ++i) {
        if (base[i] == next[i]) continue;
        masks.index.push_back(static_cast<std::uint32_t>(i));
        masks.mask.push_back(static_cast<std::uint16_t>(base[i] ^ next[i]));
    }
    return masks;
}

TEST(Stage, GivesTheListThatDiffGives) {
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
        TestRng rng{seed};
        const std::size_t n = rng.below(seed % 2 == 0 ? 200 : 20000);
        const std::uint64_t rates[] = {0, 1, 30, 490, 510, 1000};
        const WordVector base = random_words(rng, n);
        const WordVector next = random_next(rng, base, rates[rng.below(6)]);
        const SparseMasks masks = masks_between(base, next);
        for (const auto& device : every_device()) {
            Changes changes;
            changes.words = {1, 2, 3};
            device->stage(base, masks.index, masks.mask, changes);
            ASSERT_EQ(changes, expected_changes(base, next)) << device->detail() << " " << seed;
        }
    }
}

TEST(Stage, TurnsDenseWhereDiffDoes) {
    TestRng rng{5};
    const WordVector base = random_words(rng, 2 * 4096 + 2049);
    for (const std::size_t segment : {0u, 2u}) {
        for (const std::size_t changed : {2048u, 2049u}) {
            WordVector next = base;
            for (std::size_t k = 0; k < changed; ++k) next[segment * 4096 + k] ^= rng.mask();
            const SparseMasks masks = masks_between(base, next);
            for (const auto& device : every_device()) {
                Changes changes;
                device->stage(base, masks.index, masks.mask, changes);
                ASSERT_EQ(changes, expected_changes(base, next)) << device->detail();
                ASSERT_EQ(changes.segments[0].dense, changed == 2049) << device->detail();
            }
        }
    }
}

TEST(Stage, ReachesEveryWordFromEveryWord) {
    WordVector base(65536);
    for (std::size_t i = 0; i < base.size(); ++i) base[i] = static_cast<std::uint16_t>(i);
    for (const std::uint16_t mask : WordVector{0x0001, 0x8000, 0x7F80, 0xFFFF, 0x5A5A}) {
        WordVector next = base;
        for (std::uint16_t& word : next) word = static_cast<std::uint16_t>(word ^ mask);
        const SparseMasks masks = masks_between(base, next);
        for (const auto& device : every_device()) {
            Changes changes;
            device->stage(base, masks.index, masks.mask, changes);
            ASSERT_EQ(changes.words, next) << device->detail();
        }
    }
}

TEST(StageDeathTest, RefusesIndicesThatAreNotAscendingOrOutside) {
    const WordVector base(10, 7);
    const std::vector<std::pair<std::vector<std::uint32_t>, WordVector>> bad{
        {{3, 3}, {1, 1}}, {{4, 3}, {1, 1}}, {{10}, {1}}, {{3}, {0}}, {{3}, {1, 1}}};
    for (const auto& device : every_device()) {
        for (const auto& [index, mask] : bad) {
            Changes changes;
            EXPECT_DEATH(device->stage(base, index, mask, changes), "broken precondition");
        }
    }
}

}  // namespace
}  // namespace refit
