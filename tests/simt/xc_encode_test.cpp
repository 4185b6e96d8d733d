// xc_sample, xc_scan and xc_encode give the CPU backend's counts, lists and payloads under every
// schedule.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/device.hpp"
#include "tests/simt/xc_support.hpp"

namespace refit {
namespace {

struct Scanned {
    XcTile tile;
    XcCounts counts;
};

Scanned scan_of(Device& device, const XcCase& of) {
    Changes changes;
    device.diff(of.base, of.next, changes);
    Scanned scanned;
    device.xc_scan(of.base, changes, of.tables.context, scanned.tile, scanned.counts);
    return scanned;
}

/// Tiles somewhere in two arrays.
struct XcBatch {
    std::vector<XcCase> cases;
    std::vector<kernels::TileSpan> tiles;
    WordVector base;
    WordVector next;

    void add(TestRng& rng, XcCase of) {
        const std::size_t gap = rng.below(9);
        base.resize(base.size() + gap, 1);
        next.resize(next.size() + gap, 2);
        tiles.push_back({base.size(), of.base.size()});
        base.insert(base.end(), of.base.begin(), of.base.end());
        next.insert(next.end(), of.next.begin(), of.next.end());
        cases.push_back(std::move(of));
    }
};

XcBatch random_batch(TestRng& rng, std::initializer_list<std::size_t> lengths) {
    XcBatch batch;
    for (const std::size_t words : lengths) {
        const bool dense = rng.below(4) == 0;
        batch.add(rng, dense ? dense_xc_case(rng, words) : random_xc_case(rng, words, 40));
    }
    return batch;
}

/// Tile `t` of what a batch gave is what the CPU lists.
void expect_tile(const XcScanned& ours,
                 std::size_t segment,
                 std::size_t& entry,
                 const XcTile& want) {
    for (std::size_t s = 0; s < want.changed.size(); ++s, ++segment) {
        ASSERT_EQ(ours.changed[segment], want.changed[s]);
        ASSERT_EQ(ours.entries_at[segment], entry);
        const std::uint64_t* words = ours.words.data() + segment * kXcBuckets;
        ASSERT_TRUE(std::equal(want.words[s].begin(), want.words[s].end(), words)) << s;
        const std::size_t bytes = (ours.spans[segment].words + 7) / 8;
        ASSERT_TRUE(
            std::equal(ours.marks.begin() + static_cast<std::ptrdiff_t>(512 * segment),
                       ours.marks.begin() + static_cast<std::ptrdiff_t>(512 * segment + bytes),
                       want.bits.begin() + static_cast<std::ptrdiff_t>(512 * s)));
        entry += want.changed[s];
    }
    const auto first = static_cast<std::ptrdiff_t>(entry - want.base.size());
    ASSERT_TRUE(std::equal(want.base.begin(), want.base.end(), ours.base.begin() + first));
    ASSERT_TRUE(std::equal(want.step.begin(), want.step.end(), ours.step.begin() + first));
}

TEST(SimtXcScan, ListsAndCountsAsTheCpu) {
    const auto device = make_cpu_device(1);
    TestRng rng{91};
    for (const simt::Schedule& schedule : every_schedule()) {
        XcBatch batch = random_batch(rng, {0, 1, 5000, 255, 9000, 4096, 513, 3000});
        const XcContext context{7, 100};
        const XcScanned ours = SimtXc(schedule).scan(batch.base, batch.next, batch.tiles, context);
        XcCounts counts;
        std::size_t segment = 0;
        std::size_t entry = 0;
        for (XcCase& of : batch.cases) {
            of.tables.context = context;
            const Scanned want = scan_of(*device, of);
            expect_tile(ours, segment, entry, want.tile);
            if (testing::Test::HasFatalFailure()) return;
            segment += of.segments();
            counts.add(want.counts);
        }
        ASSERT_EQ(entry, ours.base.size());
        ASSERT_EQ(ours.counts.steps, counts.steps) << schedule_text(schedule);
    }
}

TEST(SimtXcScan, CountsWithAnyGrid) {
    TestRng rng{92};
    const XcCase of = random_xc_case(rng, 30000, 40);
    const kernels::TileSpan tile{0, of.base.size()};
    const XcScanned want = SimtXc({}).scan(of.base, of.next, {&tile, 1}, of.tables.context);
    for (const std::uint32_t blocks : {1u, 2u}) {
        const auto segments = static_cast<std::uint32_t>(want.spans.size());
        std::vector<unsigned long long> offsets(want.entries_at.begin(), want.entries_at.end());
        auto base = junk<std::uint16_t>(want.base.size());
        auto step = junk<std::uint16_t>(want.base.size());
        auto words = junk<std::uint64_t>(want.words.size());
        std::vector<std::uint32_t> counts(kernels::kXcCounts);
        simt::Queue queue;
        simt::launch(queue, kernels::xc_list_shape(segments, blocks), kernels::xc_list,
                     kernels::XcListInput{of.base.data(), of.next.data(), want.spans.data(),
                                          want.marks.data(), want.changed.data(), segments,
                                          of.tables.context},
                     kernels::XcLists{base.data(),
                                      step.data(),
                                      words.data(),
                                      counts.data(),
                                      {offsets.data(), nullptr, nullptr}});
        EXPECT_EQ(base, want.base);
        EXPECT_EQ(step, want.step);
        EXPECT_EQ(words, want.words);
        EXPECT_EQ(kernels::sum_xc_counts(counts).steps, want.counts.steps);
    }
}

TEST(SimtXcSample, CountsTheExponentsOfTheCpu) {
    const auto device = make_cpu_device(1);
    TestRng rng{93};
    for (const simt::Schedule& schedule : every_schedule()) {
        const XcBatch batch = random_batch(rng, {0, 1, 255, 256, 257, 17000, 5000});
        for (const std::uint8_t mantissa_bits : {std::uint8_t{7}, std::uint8_t{10}}) {
            XcExponents want{};
            for (const XcCase& of : batch.cases) device->xc_sample(of.base, mantissa_bits, want);
            ASSERT_EQ(SimtXc(schedule).sample(batch.base, batch.tiles, mantissa_bits), want);
        }
    }
}

TEST(SimtXcEncode, MakesThePayloadOfTheCpuAtEveryLength) {
    const auto device = make_cpu_device(1);
    std::size_t turn = 0;
    std::size_t coded = 0;
    for (const simt::Schedule& schedule : every_schedule()) {
        for (const std::size_t words :
             {0u, 1u, 31u, 130u, 255u, 256u, 257u, 700u, 4095u, 4096u, 4097u}) {
            TestRng rng{words * 100 + turn++};
            const std::uint64_t rates[] = {5, 30, 300, 1000};
            const XcCase of = random_xc_case(rng, words, rates[turn % 4]);
            const std::vector<std::byte> want = encode_xc(*device, of);
            ASSERT_EQ(SimtXc(schedule).encode(of), want)
                << words << ", " << schedule_text(schedule);
            coded += want.empty() ? 0 : 1;
        }
    }
    EXPECT_GT(coded, 80u);
    EXPECT_LT(coded, turn - 40);
}

TEST(SimtXcEncode, IsTheSameUnderEverySchedule) {
    const auto device = make_cpu_device(1);
    TestRng rng{94};
    const std::size_t words = 2 * kSegmentWords + 77;
    for (const XcCase& of : {random_xc_case(rng, words, 10), random_xc_case(rng, words, 900),
                             dense_xc_case(rng, words)}) {
        const std::vector<std::byte> want = encode_xc(*device, of);
        for (const simt::Schedule& schedule : every_schedule())
            ASSERT_EQ(SimtXc(schedule).encode(of), want) << schedule_text(schedule);
    }
}

/// Every 16th base word with steps of every class up and down, and with special next words.
TEST(SimtXcEncode, IsExactForSpecialWords) {
    const auto device = make_cpu_device(1);
    for (unsigned turn = 0; turn < kSpecialXcCases; ++turn) {
        const XcCase of = special_xc_case(turn);
        const std::vector<std::byte> want = encode_xc(*device, of);
        ASSERT_FALSE(want.empty());
        ASSERT_EQ(SimtXc(every_schedule()[turn % 21]).encode(of), want) << turn;
    }
}

/// `changed` words of `words` move by 3.
XcCase stepped_case(std::size_t words, std::size_t changed) {
    TestRng rng{words};
    XcCase of;
    of.base = random_words(rng, words);
    of.next = of.base;
    for (std::size_t i = 0; i < changed; ++i) of.next[i] = stepped(of.base[i], 3);
    of.tables = random_tables(rng, {7, 100}, true, 140);
    of.levels = random_levels(rng, of);
    return of;
}

/// The first number of changes for which a payload is no shorter than the plain words, and those
/// next to it: at many lengths, so that some payloads are exactly as long.
TEST(SimtXcEncode, GivesUpWhereTheCpuDoes) {
    const auto device = make_cpu_device(1);
    std::size_t borders = 0;
    for (std::size_t words = 100; words < 220; ++words) {
        std::size_t border = 0;
        while (border < words && !encode_xc(*device, stepped_case(words, border)).empty()) ++border;
        if (border == 0 || border == words) continue;
        ++borders;
        for (const std::size_t changed : {border - 1, border, border + 1}) {
            const XcCase of = stepped_case(words, changed);
            ASSERT_EQ(SimtXc(every_schedule()[words % 21]).encode(of), encode_xc(*device, of))
                << changed << " of " << words;
        }
    }
    EXPECT_GT(borders, 60u);
}

TEST(SimtXcEncode, ABatchEncodesEachTileApartAndDecodesAgain) {
    const auto device = make_cpu_device(1);
    TestRng rng{95};
    for (const simt::Schedule& schedule : every_schedule()) {
        XcBatch batch = random_batch(rng, {5000, 1, 0, 700, 4096, 255, 3000});
        std::vector<XcInput> inputs;
        for (std::size_t t = 0; t < batch.cases.size(); ++t)
            inputs.push_back({batch.tiles[t], &batch.cases[t].tables, batch.cases[t].levels});
        SimtXc xc(schedule);
        const XcScanned scanned = xc.scan(batch.base, batch.next, batch.tiles, {7, 100});
        const auto payloads = xc.encode_batch(batch.base, scanned, inputs);
        XcPayloads coded;
        for (std::size_t t = 0; t < batch.cases.size(); ++t) {
            const XcCase& of = batch.cases[t];
            ASSERT_EQ(payloads[t], encode_xc(*device, of)) << schedule_text(schedule);
            const auto changed =
                static_cast<std::uint32_t>(expected_changes(of.base, of.next).changed());
            coded.add(batch.tiles[t], payloads[t], changed, of.tables);
        }
        const XcDecoded decoded = xc.decode_batch(batch.base, coded);
        for (std::uint32_t t = 0; t < batch.cases.size(); ++t) {
            if (payloads[t].empty()) continue;
            ASSERT_EQ(decoded.faults[t], XcFault::none);
            ASSERT_EQ(changes_of(decoded.staged, t),
                      expected_changes(batch.cases[t].base, batch.cases[t].next));
        }
    }
}

}  // namespace
}  // namespace refit
