// The simt backend behind the Device port: every operation gives what the CPU backend gives, and
// so do whole units of every codec.
#include <gtest/gtest.h>

#include "kernels/simt/simt_device.hpp"
#include "tests/simt/xc_support.hpp"

namespace refit {
namespace {

constexpr std::size_t kLengths[] = {0, 1, 7, 255, 4095, 4096, 4097, 9000};

struct Devices {
    std::unique_ptr<Device> cpu = make_cpu_device(1);
    std::unique_ptr<Device> simt = make_simt_device(1, {simt::Order::random, 3, 2});
};

/// A rank that holds every second row of a tile of rows of 50 words, but for the last four columns.
Placement half_of(std::size_t words) {
    Placement p;
    p.tile_words = words;
    p.columns = 50;
    p.row_count = (words + 99) / 100;
    p.row_step = 2;
    p.col_count = 46;
    p.local_row_stride = 46;
    p.tensor = 9;
    return p;
}

void expect_same_tile(const XcTile& cpu, const XcTile& simt) {
    EXPECT_EQ(cpu.bits, simt.bits);
    EXPECT_EQ(cpu.changed, simt.changed);
    EXPECT_EQ(cpu.words, simt.words);
    EXPECT_EQ(cpu.base, simt.base);
    EXPECT_EQ(cpu.step, simt.step);
}

TEST(SimtDevice, SaysWhatItIs) {
    const auto device = make_simt_device(2);
    EXPECT_EQ(device->name(), "simt");
    EXPECT_EQ(device->lanes(), 2u);
    EXPECT_NE(device->detail().find("host executor"), std::string::npos);
}

TEST(SimtDevice, ListsDigestsAndRankMemoryAreThoseOfTheCpu) {
    Devices devices;
    TestRng rng{5};
    for (const std::size_t words : kLengths) {
        const XcCase of = random_xc_case(rng, words, 40);
        const Placement p = half_of(words);
        const std::size_t held = p.row_count * p.local_row_stride;
        Changes cpu;
        Changes simt;
        devices.cpu->diff(of.base, of.next, cpu);
        devices.simt->diff(of.base, of.next, simt);
        EXPECT_EQ(cpu, simt) << words;

        std::vector<std::uint16_t> rank(held, 0x1234);
        std::vector<std::uint16_t> other = rank;
        devices.cpu->scatter(of.base, {&p, 1}, rank);
        devices.simt->scatter(of.base, {&p, 1}, other);
        EXPECT_EQ(rank, other) << words;
        const std::uint64_t before = devices.cpu->digest(rank, {&p, 1}, 77);
        EXPECT_EQ(devices.simt->digest(rank, {&p, 1}, 77), before);
        devices.cpu->overwrite(rank, cpu, {&p, 1});
        devices.simt->overwrite(other, cpu, {&p, 1});
        EXPECT_EQ(rank, other) << words;
        EXPECT_EQ(before + devices.simt->digest_change(of.base, cpu, {&p, 1}, 77),
                  devices.cpu->digest(rank, {&p, 1}, 77));

        std::vector<std::uint16_t> back(words, 0xABCD);
        std::vector<std::uint16_t> again = back;
        devices.cpu->gather(rank, {&p, 1}, back);
        devices.simt->gather(rank, {&p, 1}, again);
        EXPECT_EQ(back, again) << words;
    }
}

TEST(SimtDevice, BothDigestsAndTheListComeTogether) {
    Devices devices;
    TestRng rng{6};
    const XcCase of = random_xc_case(rng, 9000, 40);
    const Placement p = half_of(9000);
    Changes cpu;
    Changes simt;
    EXPECT_EQ(devices.cpu->diff_and_digest(of.base, of.next, {&p, 1}, 5, cpu),
              devices.simt->diff_and_digest(of.base, of.next, {&p, 1}, 5, simt));
    EXPECT_EQ(cpu, simt);
}

TEST(SimtDevice, MasksAreStagedAsTheCpuDoes) {
    Devices devices;
    TestRng rng{7};
    const auto base = random_words(rng, 9000);
    std::vector<std::uint32_t> index;
    std::vector<std::uint16_t> mask;
    // The second segment is dense.
    for (std::uint32_t i = 0; i < base.size(); i += i / kSegmentWords == 1 ? 1 : 37) {
        index.push_back(i);
        mask.push_back(static_cast<std::uint16_t>(rng.word() | 1u));
    }
    Changes cpu;
    Changes simt;
    devices.cpu->stage(base, index, mask, cpu);
    devices.simt->stage(base, index, mask, simt);
    EXPECT_EQ(cpu, simt);
    EXPECT_TRUE(cpu.segments[1].dense);
}

TEST(SimtDevice, PayloadsAreThoseOfTheCpuAndAreReadAgain) {
    Devices devices;
    TestRng rng{8};
    for (const std::size_t words : kLengths) {
        XcCase of = words == 4097 ? dense_xc_case(rng, words) : random_xc_case(rng, words, 60);
        Changes changes;
        devices.cpu->diff(of.base, of.next, changes);
        XcTile cpu;
        XcTile simt;
        XcCounts cpu_counts;
        XcCounts simt_counts;
        XcExponents cpu_sample{};
        XcExponents simt_sample{};
        devices.cpu->xc_sample(of.base, of.tables.context.mantissa_bits, cpu_sample);
        devices.simt->xc_sample(of.base, of.tables.context.mantissa_bits, simt_sample);
        EXPECT_EQ(cpu_sample, simt_sample);
        devices.cpu->xc_scan(of.base, changes, of.tables.context, cpu, cpu_counts);
        devices.simt->xc_scan(of.base, changes, of.tables.context, simt, simt_counts);
        expect_same_tile(cpu, simt);
        EXPECT_EQ(cpu_counts.steps, simt_counts.steps);

        std::vector<std::byte> payload = {std::byte{1}};
        std::vector<std::byte> other = payload;
        const bool coded = devices.cpu->xc_encode(of.base, cpu, of.tables, of.levels, payload);
        EXPECT_EQ(devices.simt->xc_encode(of.base, cpu, of.tables, of.levels, other), coded);
        EXPECT_EQ(payload, other) << words;
        if (!coded) continue;
        const auto bytes = std::span(payload).subspan(1);
        const auto changed = static_cast<std::uint32_t>(changes.changed());
        Changes out;
        EXPECT_EQ(devices.simt->xc_decode(of.base, bytes, changed, tables_read(of.tables), out),
                  XcFault::none);
        EXPECT_EQ(out, changes);
        // Cut short: the same fault, and nothing staged of it.
        for (std::size_t length = 0; length < bytes.size(); length += 1 + bytes.size() / 9) {
            Changes none;
            EXPECT_EQ(devices.simt->xc_decode(of.base, bytes.first(length), changed,
                                              tables_read(of.tables), out),
                      devices.cpu->xc_decode(of.base, bytes.first(length), changed,
                                             tables_read(of.tables), none));
        }
    }
}

}  // namespace
}  // namespace refit
