// stage gives the CPU backend's staging list under every schedule.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/device.hpp"
#include "tests/kernels/support.hpp"
#include "tests/simt/support.hpp"

namespace refit {
namespace {

struct MaskedCase {
    WordVector base;
    std::vector<std::uint32_t> index;
    WordVector mask;

    kernels::TileMasks tile(std::uint64_t first) const {
        return {{first, base.size()}, index, mask};
    }
};

/// `first` words change, then each with a probability in 1000.
MaskedCase random_masks(TestRng& rng, std::size_t words, std::size_t first, std::uint64_t rate) {
    MaskedCase of{random_words(rng, words), {}, {}};
    for (std::uint32_t i = 0; i < words; ++i) {
        if (i >= first && rng.below(1000) >= rate) continue;
        of.index.push_back(i);
        of.mask.push_back(rng.mask());
    }
    return of;
}

Changes wanted(Device& device, const MaskedCase& of) {
    Changes changes;
    device.stage(of.base, of.index, of.mask, changes);
    return changes;
}

TEST(SimtStage, GivesTheListOfTheCpu) {
    const auto device = make_cpu_device(1);
    TestRng rng{81};
    for (const std::size_t words : {0u, 1u, 2u, 31u, 33u, 4095u, 4096u, 4097u, 13000u}) {
        for (const std::size_t first : {0u, 1u, 2048u, 2049u, 20000u}) {
            const MaskedCase of = random_masks(rng, words, first, first == 0 ? 0 : 20);
            const Changes want = wanted(*device, of);
            const kernels::TileMasks tile = of.tile(0);
            for (const simt::Schedule& schedule : every_schedule())
                ASSERT_EQ(changes_of(SimtKernels(schedule).stage_batch(of.base, {&tile, 1}), 0),
                          want)
                    << first << " of " << words << ", " << schedule_text(schedule);
        }
    }
}

TEST(SimtStage, ABatchIsTheListOfEachTile) {
    const auto device = make_cpu_device(1);
    TestRng rng{82};
    for (const simt::Schedule& schedule : every_schedule()) {
        std::vector<MaskedCase> cases;
        WordVector base;
        std::vector<std::uint64_t> firsts;
        for (const std::size_t words : {5000u, 1u, 0u, 9000u, 17u, 4096u}) {
            base.resize(base.size() + rng.below(9));
            cases.push_back(random_masks(rng, words, words == 9000 ? 3000 : 0, 30));
            firsts.push_back(base.size());
            base.insert(base.end(), cases.back().base.begin(), cases.back().base.end());
        }
        std::vector<kernels::TileMasks> tiles;
        for (std::size_t t = 0; t < cases.size(); ++t) tiles.push_back(cases[t].tile(firsts[t]));
        const StagedArrays staged = SimtKernels(schedule).stage_batch(base, tiles);
        for (std::uint32_t t = 0; t < cases.size(); ++t)
            ASSERT_EQ(changes_of(staged, t), wanted(*device, cases[t])) << schedule_text(schedule);
    }
}

TEST(SimtStage, ReachesEveryWordFromEveryWord) {
    const auto device = make_cpu_device(1);
    for (const std::uint16_t mask : WordVector{0x0001, 0x8000, 0x7F80, 0xFFFF, 0x5A5A}) {
        MaskedCase of;
        for (std::uint32_t i = 0; i < 65536; ++i) {
            of.base.push_back(static_cast<std::uint16_t>(i));
            of.index.push_back(i);
            of.mask.push_back(mask);
        }
        const kernels::TileMasks tile = of.tile(0);
        SimtKernels kernels({simt::Order::random, mask, 2});
        ASSERT_EQ(changes_of(kernels.stage_batch(of.base, {&tile, 1}), 0), wanted(*device, of));
    }
}

TEST(SimtStageDeathTest, RefusesIndicesThatAreNotAscendingOrOutside) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const std::vector<MaskedCase> bad{{WordVector(10, 7), {3, 3}, {1, 1}},
                                      {WordVector(10, 7), {4, 3}, {1, 1}},
                                      {WordVector(10, 7), {10}, {1}},
                                      {WordVector(10, 7), {3}, {0}},
                                      {WordVector(10, 7), {3}, {1, 1}}};
    for (const MaskedCase& of : bad) {
        const kernels::TileMasks tile = of.tile(0);
        EXPECT_DEATH(kernels::plan_masks({&tile, 1}), "broken precondition");
    }
}

}  // namespace
}  // namespace refit
