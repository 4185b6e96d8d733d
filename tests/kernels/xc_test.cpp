// xc: the table of odds, the division of the vector code, and that every dispatch level makes the
// payload of the plain reference and takes it back.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/kernels/xc_support.hpp"

namespace refit {
namespace {

/// 1 - exp(-2^(octaves - 20)).
long double hazard_at(long double octaves) { return -std::expm1(-std::exp2(octaves - 20)); }

TEST(XcHazard, IsTheFormula) {
    for (unsigned q = 0; q < 256; ++q) {
        const auto exact = std::round(std::ldexp(hazard_at(q / 8.0L), 14));
        EXPECT_EQ(xc_hazard(static_cast<std::uint8_t>(q)),
                  static_cast<std::uint16_t>(std::clamp(exact, 1.0L, 16383.0L)))
            << q;
    }
    EXPECT_EQ(xc_hazard(52), 1);
    EXPECT_EQ(xc_hazard(53), 2);
    EXPECT_EQ(xc_hazard(144), 3624);
    EXPECT_EQ(xc_hazard(185), 16381);
    EXPECT_EQ(xc_hazard(186), 16383);
}

/// Past q = 190 the probabilities differ by less than 2^-31, which is what a ratio is rounded to.
TEST(XcHazard, NearestIsTheInverseAndChangesHalfwayBetweenSteps) {
    constexpr std::uint64_t kAll = std::uint64_t{1} << 30;
    constexpr std::uint64_t kNear = 2;
    const auto ones_at = [](long double octaves) {
        return static_cast<std::uint64_t>(std::round(hazard_at(octaves) * kAll));
    };
    for (unsigned q = 0; q < 190; ++q) {
        EXPECT_EQ(xc_nearest_hazard(ones_at(q / 8.0L), kAll), q);
        const std::uint64_t middle = ones_at((q + 0.5L) / 8);
        EXPECT_EQ(xc_nearest_hazard(middle - kNear, kAll), q);
        EXPECT_EQ(xc_nearest_hazard(middle + kNear, kAll), q + 1);
    }
    EXPECT_EQ(xc_nearest_hazard(0, 1), 0);
    EXPECT_EQ(xc_nearest_hazard(0, kAll), 0);
    EXPECT_EQ(xc_hazard(xc_nearest_hazard(1, 1)), kXcOddsOne - 1);
    EXPECT_EQ(xc_nearest_hazard(3, 24), xc_nearest_hazard(1, 8));
}

TEST(XcHazard, LevelsMoveEveryBucketByHalfAnOctaveUpToTheEnds) {
    std::array<std::uint8_t, kXcBuckets> table{};
    for (std::size_t b = 0; b < kXcBuckets; ++b) table[b] = static_cast<std::uint8_t>(17 * b);
    for (int level = 1; level < 16; ++level) {
        const XcOdds odds = xc_odds(table, static_cast<unsigned>(level));
        for (std::size_t b = 0; b < kXcBuckets; ++b) {
            const int q = std::clamp(table[b] + 4 * (level - 8), 0, 255);
            EXPECT_EQ(odds[b], xc_hazard(static_cast<std::uint8_t>(q)));
        }
    }
}

/// Rounding is monotone, so what holds at both ends of a quotient's run holds within it.
TEST(XcDivision, IsExactInSinglePrecision) {
    std::uint64_t wrong = 0;
    for (std::uint32_t f = 1; f < kXcOddsOne; ++f) {
        for (std::uint32_t q = 0; q < 512; ++q) {
            for (const std::uint32_t x : {q * f, q * f + f - 1}) {
                const float quotient = static_cast<float>(x) / static_cast<float>(f);
                wrong += static_cast<std::uint32_t>(quotient) != q ? 1 : 0;
            }
        }
    }
    EXPECT_EQ(wrong, 0u);
}

TEST(XcOrder, IsMonotoneAndItsOwnInverse) {
    for (std::uint32_t word = 0; word < 0x10000; ++word) {
        const auto w = static_cast<std::uint16_t>(word);
        EXPECT_EQ(xc_ordinal(xc_ordinal(w)), w);
    }
    EXPECT_EQ(stepped(0x0000, -1), 0x8000);  // -0 lies right below +0
    EXPECT_EQ(stepped(0x3F80, 1), 0x3F81);
    EXPECT_EQ(stepped(0xBF80, 1), 0xBF7F);
    EXPECT_EQ(stepped(0x7FFF, 1), 0xFFFF);                     // round the end
    EXPECT_EQ(step_size(0x7F80, 0xFF80), 0x10000u - 0xFF01u);  // the infinities, over the end
    EXPECT_EQ(step_size(0x8000, 0x0000), 1u);
}

TEST(XcContext, BucketsAreAWindowOfExponents) {
    const XcContext bf16{7, 110};
    EXPECT_EQ(bf16.bucket(0x0000), 0u);
    EXPECT_EQ(bf16.bucket(0x807F), 0u);  // a subnormal
    EXPECT_EQ(bf16.bucket(0x0080), 1u);  // exponent 1
    EXPECT_EQ(bf16.bucket(111 << 7), 1u);
    EXPECT_EQ(bf16.bucket(112 << 7 | 0x8000), 2u);
    EXPECT_EQ(bf16.bucket(125 << 7), 15u);
    EXPECT_EQ(bf16.bucket(0x7F80), 15u);
    const XcContext f16{10, 3};
    EXPECT_EQ(f16.bucket(0x03FF), 0u);
    EXPECT_EQ(f16.bucket(4 << 10), 1u);
    EXPECT_EQ(f16.bucket(0xFC00), 15u);
}

class XcTest : public testing::Test {
protected:
    Device& plain() { return *devices_.back(); }

    /// Every level makes the same payload and gives back the list of diff(); its size is what the
    /// odds say. True when the tile was coded.
    bool check(const XcCase& of) {
        SCOPED_TRACE(testing::Message() << "a tile of " << of.base.size() << " words");
        const std::vector<std::byte> payload = encode_xc(plain(), of);
        expect_size(of, payload);
        Changes expected = expected_changes(of.base, of.next);
        const auto changed = static_cast<std::uint32_t>(expected.changed());
        for (const auto& device : devices_) {
            EXPECT_EQ(encode_xc(*device, of), payload) << device->detail();
            if (payload.empty()) continue;
            const auto fault = device->xc_decode(of.base, payload, changed, of.tables, decoded_);
            EXPECT_EQ(fault, XcFault::none) << device->detail();
            EXPECT_EQ(decoded_, expected) << device->detail();
        }
        return !payload.empty();
    }

    std::vector<std::unique_ptr<Device>> devices_ = every_device();

private:
    /// The states carry 15 bits each in and up to 23 out; what they gain is not in the bytes. The
    /// rounding of odds that are far from even takes or gives a hundredth.
    static void expect_size(const XcCase& of, const std::vector<std::byte>& payload) {
        const XcInformation told = xc_information(of);
        const std::size_t tail = told.raw > 480 ? (told.raw - 480 + 7) / 8 : 0;
        if (payload.empty()) {
            const auto least = told.decisions / 8 + static_cast<long double>(96 + tail);
            EXPECT_GT(least * 1.02L + 2, static_cast<long double>(2 * of.base.size()));
            return;
        }
        ASSERT_GE(payload.size(), 96 + tail);
        auto held = static_cast<long double>(8 * (payload.size() - 96 - tail));
        for (std::size_t lane = 0; lane < kXcLanes; ++lane) {
            std::uint32_t x = 0;
            for (std::size_t byte = 0; byte < 3; ++byte)
                x |= std::to_integer<std::uint32_t>(payload[3 * lane + byte]) << 8 * byte;
            ASSERT_TRUE(x >= kXcStateMin && x < kXcStateEnd) << x;
            held += std::log2(static_cast<long double>(x));
        }
        EXPECT_GE(held - 32 * 15, told.decisions * 0.98L - 2);
        EXPECT_LE(held - 32 * 16, told.decisions * 1.02L + 2);
    }

    Changes decoded_;
};

TEST_F(XcTest, EveryLevelMakesAndTakesTheSamePayloadAtEveryLength) {
    std::size_t coded = 0;
    for (std::size_t words = 0; words <= 700; ++words) {
        for (const std::uint64_t per_mille : {5u, 60u, 1000u}) {
            TestRng rng{words * 1000 + per_mille};
            coded += check(random_xc_case(rng, words, per_mille)) ? 1 : 0;
            if (HasFailure()) return;
        }
    }
    EXPECT_GT(coded, 700u);
}

TEST_F(XcTest, EveryLevelMakesAndTakesTheSamePayloadAcrossSegments) {
    std::size_t coded = 0;
    std::uint64_t seed = 0;
    for (const std::size_t words :
         {4093u, 4094u, 4095u, 4096u, 4097u, 4098u, 4099u, 8193u, 70000u}) {
        for (const std::uint64_t per_mille : {1u, 10u, 30u, 300u, 1000u}) {
            TestRng rng{++seed};
            coded += check(random_xc_case(rng, words, per_mille)) ? 1 : 0;
            if (HasFailure()) return;
        }
    }
    EXPECT_GT(coded, 30u);
}

/// More than 32 segments, most of them without a change: groups of levels and gaps between flags.
TEST_F(XcTest, EveryLevelTakesSegmentsThatDoNotChange) {
    TestRng rng{77};
    XcCase of = random_xc_case(rng, 40 * kSegmentWords + 5, 30);
    for (std::size_t i = 0; i < of.base.size(); ++i)
        if (i / kSegmentWords % 13 != 0) of.next[i] = of.base[i];
    of.next.back() = stepped(of.base.back(), 1);
    of.levels = random_levels(rng, of);
    EXPECT_EQ(std::ranges::count(of.levels, 0), 41 - 5);
    EXPECT_TRUE(check(of));
}

/// Every base word with steps of every class up and down, and with the most special next words.
TEST_F(XcTest, EveryLevelIsExactForSpecialWords) {
    for (const unsigned mantissa_bits : {7u, 10u}) {
        for (unsigned size_class = 0; size_class < 16; ++size_class) {
            TestRng rng{size_class + 16 * mantissa_bits};
            XcCase of;
            of.base.resize(65536);
            std::iota(of.base.begin(), of.base.end(), std::uint16_t{0});
            of.next = of.base;
            for (std::size_t i = size_class % 3; i < of.next.size(); i += 3)
                of.next[i] = stepped(of.base[i], random_step(rng, size_class));
            of.tables =
                random_tables(rng, {static_cast<std::uint8_t>(mantissa_bits), 12}, true, 150);
            for (std::size_t k = 1; k <= kXcStages; ++k)
                of.tables.stage[k - 1].fill(k <= size_class ? 180 : 60);
            of.levels = random_levels(rng, of);
            EXPECT_TRUE(check(of)) << "class " << size_class;
        }
    }
    constexpr std::uint16_t kSpecial[] = {0x0000, 0x8000, 0x0001, 0x807F, 0x7F80, 0xFF80,
                                          0x7F81, 0x7FC1, 0xFFFF, 0x7C00, 0x7C01, 0x3F80};
    for (const std::uint16_t special : kSpecial) {
        TestRng rng{special + 1u};
        XcCase of;
        of.base.resize(65536);
        std::iota(of.base.begin(), of.base.end(), std::uint16_t{0});
        of.next = of.base;
        for (std::size_t i = 1; i < of.next.size(); i += 4) of.next[i] = special;
        of.tables = random_tables(rng, {7, 110}, true, 150);
        of.tables.stage.fill(std::array<std::uint8_t, kXcBuckets>{});
        for (std::size_t k = 0; k < 13; ++k) of.tables.stage[k].fill(180);
        of.levels = random_levels(rng, of);
        EXPECT_TRUE(check(of)) << "next words " << special;
    }
}

/// All odds 1 in 2^14, and the first eight words of every group change: lane 0 pays 14 bits for
/// each, which is two bytes for three of four and one for the fourth, and its state comes back to
/// 2^15 after four. The other lanes gain 3 per unchanged word, and 2 per bit of a level.
TEST_F(XcTest, UnlikelyBitsTakeTheBytesOfTheClosedForm) {
    for (const std::size_t groups : {1u, 2u, 16u, 17u, 100u}) {
        XcCase of;
        of.base.assign(groups * kXcGroupWords, 0x3F80);
        of.next = of.base;
        for (std::size_t g = 0; g < groups; ++g)
            for (std::size_t i = 0; i < 8; ++i) of.next[g * kXcGroupWords + i] = 0x3F81;
        of.levels.assign(of.segments(), 15);
        of.tables.level_nodes.fill(255);
        EXPECT_TRUE(check(of)) << groups;

        std::vector<std::byte> expected;
        for (std::size_t lane = 0; lane < kXcLanes; ++lane) {
            std::size_t x = kXcStateMin + (lane == 0 ? 0 : 3 * 8 * groups);
            if (lane < of.levels.size()) x += 2 * 4;
            for (std::size_t byte = 0; byte < 3; ++byte)
                expected.push_back(static_cast<std::byte>(x >> 8 * byte));
        }
        const std::size_t raw = 8 * groups > 480 ? (8 * groups - 480 + 7) / 8 : 0;
        expected.resize(expected.size() + 14 * groups + raw);
        EXPECT_EQ(encode_xc(plain(), of), expected) << groups;
    }
}

TEST_F(XcTest, CountsAreTheSumsOfTheirComments) {
    TestRng rng{5};
    const XcCase of = random_xc_case(rng, 17 * kSegmentWords + 300, 40);
    const XcContext context = of.tables.context;
    XcCounts counts;
    XcExponents sample{};
    sample[3] = 1000;
    std::vector<XcBucketWords> words(of.segments());
    std::vector<std::uint64_t> sampled(of.segments());
    std::vector<std::uint32_t> changed(of.segments());
    for (std::size_t i = 0; i < of.base.size(); ++i) {
        const unsigned e = (of.base[i] & 0x7FFFu) >> context.mantissa_bits;
        const std::size_t s = i / kSegmentWords;
        if (s % 4 == 0 && i % kSegmentWords < 256) ++sample[e];
        if (i % 1024 < 512) {
            ++words[s][context.bucket(of.base[i])];
            ++sampled[s];
        }
        if (of.base[i] == of.next[i]) continue;
        ++changed[s];
        for (unsigned k = 0; step_size(of.base[i], of.next[i]) >> k != 0; ++k) ++counts.steps[k][e];
    }
    for (std::size_t s = 0; s < of.segments(); ++s)
        for (std::uint64_t& found : words[s]) found = found * of.segment(s).size() / sampled[s];
    Changes changes;
    plain().diff(of.base, of.next, changes);
    for (const auto& device : devices_) {
        SCOPED_TRACE(device->detail());
        XcTile tile;
        tile.base.assign(9, 9);
        XcCounts found;
        found.steps[2].fill(7);
        device->xc_scan(of.base, changes, context, tile, found);
        EXPECT_EQ(found.steps, counts.steps);
        EXPECT_EQ(tile.base.size(), changes.changed());
        EXPECT_EQ(tile.changed, changed);
        EXPECT_EQ(tile.words, words);
        XcExponents exponents{};
        exponents[3] = 1000;
        device->xc_sample(of.base, context.mantissa_bits, exponents);
        EXPECT_EQ(exponents, sample);
    }
}

/// What all levels make of a payload: refused, or a list of exactly `changed` entries that says
/// what diff() would say of the words it leads to.
bool accepts(std::span<const std::unique_ptr<Device>> devices,
             const XcCase& of,
             std::span<const std::byte> payload,
             std::uint32_t changed) {
    Changes changes;
    const XcFault fault = devices.back()->xc_decode(of.base, payload, changed, of.tables, changes);
    for (const auto& device : devices.first(devices.size() - 1)) {
        Changes same;
        EXPECT_EQ(device->xc_decode(of.base, payload, changed, of.tables, same), fault);
        if (fault != XcFault::none) continue;
        EXPECT_EQ(same, changes) << device->detail();
    }
    if (fault != XcFault::none) return false;
    EXPECT_EQ(changes.changed(), changed);
    WordVector next = of.base;
    std::size_t position = 0;
    std::size_t word = 0;
    for (const SegmentChanges& segment : changes.segments) {
        for (std::size_t k = 0; k < segment.stored; ++k) {
            const std::size_t at = segment.dense ? k : changes.positions.at(position++);
            next.at(std::size_t{segment.segment} * kSegmentWords + at) = changes.words.at(word++);
        }
    }
    EXPECT_EQ(changes, expected_changes(of.base, next));
    return true;
}

TEST_F(XcTest, TruncationsAreRefusedAndFlipsRefusedOrWellFormed) {
    for (const std::size_t words : {130u, 9000u}) {
        TestRng rng{words};
        const XcCase of = random_xc_case(rng, words, 40);
        std::vector<std::byte> payload = encode_xc(plain(), of);
        ASSERT_FALSE(payload.empty());
        const auto changed =
            static_cast<std::uint32_t>(expected_changes(of.base, of.next).changed());
        const std::size_t stride = words < 1000 ? 1 : 37;
        EXPECT_TRUE(accepts(devices_, of, payload, changed));
        EXPECT_FALSE(accepts(devices_, of, payload, changed - 1));
        EXPECT_FALSE(accepts(devices_, of, payload, changed + 1));
        EXPECT_FALSE(accepts(devices_, of, payload, 0xFFFF'FFFF));
        for (std::size_t keep = 0; keep < payload.size(); keep += stride)
            EXPECT_FALSE(accepts(devices_, of, std::span(payload).first(keep), changed));
        std::size_t accepted = 0;
        for (std::size_t bit = 0; bit < 8 * payload.size(); bit += stride) {
            const auto flip = static_cast<std::byte>(1u << bit % 8);
            payload[bit / 8] ^= flip;
            accepted += accepts(devices_, of, payload, changed) ? 1 : 0;
            payload[bit / 8] ^= flip;
        }
        EXPECT_LT(accepted, payload.size());
        payload.push_back(std::byte{0});
        EXPECT_FALSE(accepts(devices_, of, payload, changed));
    }
}

TEST_F(XcTest, NoiseIsRefusedOrWellFormed) {
    for (std::uint64_t seed = 0; seed < 3000 && !HasFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        TestRng rng{seed};
        XcCase of;
        of.base = random_words(rng, rng.below(600) + (seed % 8 == 0 ? 4000 : 0));
        of.tables = random_tables(rng, {7, 100}, true, 100 + static_cast<int>(rng.below(140)));
        std::vector<std::byte> payload(rng.below(300) + (seed % 2 == 0 ? 600 : 0));
        for (std::size_t i = 0; i < payload.size(); ++i) {
            const bool top = i < 96 && i % 3 == 2;  // of a state: mostly in its range
            payload[i] = static_cast<std::byte>(top ? 1 + rng.below(127) : rng.next());
        }
        accepts(devices_, of, payload, static_cast<std::uint32_t>(rng.below(of.base.size() + 2)));
    }
}

}  // namespace
}  // namespace refit
