// xc_decode gives the CPU backend's staging list, or its fault, under every schedule.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/device.hpp"
#include "tests/simt/xc_support.hpp"

namespace refit {
namespace {

class SimtXcDecode : public testing::Test {
protected:
    /// What the CPU and the kernels make of a payload is the same; true when it was taken.
    bool same(const XcCase& of,
              std::span<const std::byte> payload,
              std::uint32_t changed,
              const simt::Schedule& schedule) {
        // Exactly the bytes there are, so that the address sanitizer sees the one behind.
        const std::vector<std::byte> bytes(payload.begin(), payload.end());
        const XcTables tables = tables_read(of.tables);
        Changes want;
        Changes ours;
        const XcFault fault = device_->xc_decode(of.base, bytes, changed, tables, want);
        EXPECT_EQ(SimtXc(schedule).decode(of.base, bytes, changed, tables, ours), fault)
            << schedule_text(schedule);
        EXPECT_EQ(ours, want) << schedule_text(schedule);
        ++faults_[static_cast<std::size_t>(fault)];
        return fault == XcFault::none;
    }

    std::unique_ptr<Device> device_ = make_cpu_device(1);
    std::vector<simt::Schedule> schedules_ = every_schedule();
    std::array<std::size_t, 3> faults_{};
};

std::uint32_t changed_words(const XcCase& of) {
    std::uint32_t changed = 0;
    for (std::size_t i = 0; i < of.base.size(); ++i) changed += of.base[i] != of.next[i] ? 1 : 0;
    return changed;
}

/// One schedule after the other, a few lengths each.
TEST_F(SimtXcDecode, GivesTheListOfTheCpuAtEveryLength) {
    std::size_t coded = 0;
    for (const simt::Schedule& schedule : schedules_) {
        for (const std::size_t words : {0u, 1u, 31u, 255u, 256u, 257u, 700u, 4095u, 4096u, 4097u}) {
            TestRng rng{words * 100 + coded};
            const XcCase of = random_xc_case(rng, words, coded % 3 == 0 ? 300 : 30);
            const std::vector<std::byte> payload = encode_xc(*device_, of);
            if (payload.empty()) continue;
            ASSERT_TRUE(same(of, payload, changed_words(of), schedule)) << words;
            ++coded;
        }
    }
    EXPECT_GT(coded, 100u);
}

TEST_F(SimtXcDecode, IsTheSameUnderEverySchedule) {
    TestRng rng{7};
    const std::size_t words = 2 * kSegmentWords + 77;
    for (const XcCase& of : {random_xc_case(rng, words, 10), dense_xc_case(rng, words),
                             dense_xc_case(rng, 2100), dense_xc_case(rng, words)}) {
        const std::vector<std::byte> payload = encode_xc(*device_, of);
        ASSERT_FALSE(payload.empty());
        for (const simt::Schedule& schedule : schedules_)
            ASSERT_TRUE(same(of, payload, changed_words(of), schedule));
    }
}

/// More than 32 segments, most of them without a change: groups of levels and gaps between flags.
TEST_F(SimtXcDecode, TakesSegmentsThatDoNotChange) {
    TestRng rng{77};
    XcCase of = random_xc_case(rng, 40 * kSegmentWords + 5, 30);
    for (std::size_t i = 0; i < of.base.size(); ++i)
        if (i / kSegmentWords % 13 != 0) of.next[i] = of.base[i];
    of.next.back() = stepped(of.base.back(), 1);
    of.levels = random_levels(rng, of);
    const std::vector<std::byte> payload = encode_xc(*device_, of);
    for (const simt::Schedule& schedule : {schedules_[0], schedules_[8], schedules_[20]})
        EXPECT_TRUE(same(of, payload, changed_words(of), schedule));
}

TEST_F(SimtXcDecode, IsExactForSpecialWords) {
    for (unsigned turn = 0; turn < kSpecialXcCases; ++turn) {
        const XcCase of = special_xc_case(turn);
        const std::vector<std::byte> payload = encode_xc(*device_, of);
        ASSERT_FALSE(payload.empty());
        ASSERT_TRUE(same(of, payload, changed_words(of), schedules_[turn % schedules_.size()]));
    }
}

TEST_F(SimtXcDecode, ABatchDecodesEachTileApartAndFaultsStayWithTheirTile) {
    TestRng rng{78};
    for (const simt::Schedule& schedule : schedules_) {
        XcPayloads payloads;
        WordVector base;
        std::vector<Changes> want;
        std::vector<XcFault> faults;
        for (const std::size_t words : {300u, 5000u, 1u, 0u, 700u, 4096u}) {
            const XcCase of = random_xc_case(rng, words, 40);
            std::vector<std::byte> payload = encode_xc(*device_, of);
            if (rng.below(3) == 0) payload.resize(payload.size() - payload.size() / 10);
            base.resize(base.size() + rng.below(9));
            payloads.add({base.size(), words}, payload, changed_words(of), of.tables);
            base.insert(base.end(), of.base.begin(), of.base.end());
            faults.push_back(device_->xc_decode(of.base, payload, changed_words(of), of.tables,
                                                want.emplace_back()));
        }
        const XcDecoded decoded = SimtXc(schedule).decode_batch(base, payloads);
        ASSERT_EQ(decoded.faults, faults) << schedule_text(schedule);
        for (std::uint32_t t = 0; t < want.size(); ++t)
            ASSERT_EQ(changes_of(decoded.staged, t), want[t]) << schedule_text(schedule);
    }
}

TEST_F(SimtXcDecode, TruncationsAndFlipsHaveTheFaultsOfTheCpu) {
    for (const std::size_t words : {130u, 4500u}) {
        TestRng rng{words};
        const XcCase of = random_xc_case(rng, words, 40);
        std::vector<std::byte> payload = encode_xc(*device_, of);
        ASSERT_FALSE(payload.empty());
        const std::uint32_t changed = changed_words(of);
        const std::size_t stride = words < 1000 ? 3 : 61;
        std::size_t turn = 0;
        const auto schedule = [&] { return schedules_[turn++ % schedules_.size()]; };
        EXPECT_TRUE(same(of, payload, changed, schedule()));
        for (const std::uint32_t other : {changed - 1, changed + 1, 0u, 0xFFFF'FFFFu})
            EXPECT_FALSE(same(of, payload, other, schedule()));
        for (std::size_t keep = 0; keep < payload.size(); keep += stride)
            EXPECT_FALSE(same(of, std::span(payload).first(keep), changed, schedule()));
        for (std::size_t bit = 0; bit < 8 * payload.size() && !HasFailure(); bit += 3 * stride) {
            const auto flip = static_cast<std::byte>(1u << bit % 8);
            payload[bit / 8] ^= flip;
            same(of, payload, changed, schedule());
            payload[bit / 8] ^= flip;
        }
        payload.push_back(std::byte{0});
        EXPECT_FALSE(same(of, payload, changed, schedule()));
    }
    EXPECT_GT(faults_[static_cast<std::size_t>(XcFault::truncated)], 10u);
    EXPECT_GT(faults_[static_cast<std::size_t>(XcFault::corrupt)], 10u);
}

/// What flips hardly ever reach: each check of the end, and the order of the checks.
TEST_F(SimtXcDecode, EveryCheckRefusesWhatTheCpuRefuses) {
    TestRng rng{79};
    XcCase of = dense_xc_case(rng, 1000);
    of.tables.stages = 0;
    of.tables.flags.fill(255);
    of.levels = {15};
    const std::vector<std::byte> payload = encode_xc(*device_, of);
    ASSERT_FALSE(payload.empty());
    const std::uint32_t changed = changed_words(of);
    ASSERT_NE(changed % 8, 0u) << "the last raw byte has bits to spare";
    std::vector<std::byte> bad = payload;
    bad.back() |= std::byte{0x80};
    EXPECT_FALSE(same(of, bad, changed, schedules_[0])) << "raw bits behind the last";
    std::size_t refused = 0;
    for (std::size_t lane = 0; lane < kXcLanes; ++lane) {
        bad = payload;  // the state ends above 2^16, if it takes the same way
        const std::uint32_t middle = std::to_integer<std::uint32_t>(bad[3 * lane + 1]) + 0x80;
        bad[3 * lane + 1] = static_cast<std::byte>(middle);
        bad[3 * lane + 2] = static_cast<std::byte>(
            std::to_integer<std::uint32_t>(bad[3 * lane + 2]) + (middle >> 8));
        refused += same(of, bad, changed, schedules_[lane % schedules_.size()]) ? 0 : 1;
    }
    EXPECT_GT(refused, 20u);
    const std::span<const std::byte> none;
    EXPECT_FALSE(same(of, none, 1001, schedules_[0])) << "corrupt, though truncated too";
    EXPECT_FALSE(same(of, none, 1000, schedules_[0]));

    of.next = of.base;  // a level, but no change
    of.tables.flags.fill(60);
    EXPECT_FALSE(same(of, encode_xc(*device_, of), 0, schedules_[0]));
    of.levels = {0};
    EXPECT_TRUE(same(of, encode_xc(*device_, of), 0, schedules_[0]));

    of = random_xc_case(rng, 2 * kSegmentWords, 40);
    const std::vector<std::byte> whole = encode_xc(*device_, of);
    ASSERT_FALSE(whole.empty());
    for (std::size_t keep = 96; keep < whole.size(); keep += 41)  // more changes than stated
        EXPECT_FALSE(same(of, std::span(whole).first(keep), 5, schedules_[keep % 21])) << keep;
}

TEST_F(SimtXcDecode, NoiseHasTheFaultsOfTheCpu) {
    for (std::uint64_t seed = 0; seed < 400 && !HasFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        TestRng rng{seed};
        XcCase of;
        of.base = random_words(rng, rng.below(600) + (seed % 16 == 0 ? 4000 : 0));
        of.tables = random_tables(rng, {7, 100}, true, 100 + static_cast<int>(rng.below(140)));
        std::vector<std::byte> payload(rng.below(300) + (seed % 2 == 0 ? 600 : 0));
        for (std::size_t i = 0; i < payload.size(); ++i) {
            const bool top = i < 96 && i % 3 == 2;  // of a state: mostly in its range
            payload[i] = static_cast<std::byte>(top ? 1 + rng.below(127) : rng.next());
        }
        same(of, payload, static_cast<std::uint32_t>(rng.below(of.base.size() + 2)),
             schedules_[seed % schedules_.size()]);
    }
}

TEST(XcPlan, TakesAnyPayloadThatAnswersForItself) {
    kernels::XcPayload hostile{{0, 10}, 0, ~std::uint64_t{0}, ~std::uint32_t{0}, 0};
    const kernels::XcPlan plan = kernels::plan_xc_decode({&hostile, 1});
    EXPECT_EQ(plan.entries, 10u);
    EXPECT_EQ(plan.tiles[0].payload_bytes, 0x7FFF'FFFFu);
    EXPECT_EQ(plan.tiles[0].changed, ~std::uint32_t{0});
}

}  // namespace
}  // namespace refit
