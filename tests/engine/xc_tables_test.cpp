// The tables of xc and cf, and what the encoder decides with them.
#include "engine/codec/xc_tables.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "engine/base/rng.hpp"
#include "engine/codec/codec.hpp"
#include "tests/engine/codec_fixture.hpp"

namespace refit {
namespace {

using test::WordVector;

XcTables random_tables(Rng& rng, bool contextual) {
    XcTables tables;
    tables.contextual = contextual;
    const auto byte = [&] { return static_cast<std::uint8_t>(1 + rng.below(255)); };
    if (contextual)
        tables.context = {rng.below(2) == 0 ? std::uint8_t{7} : std::uint8_t{10}, byte()};
    for (std::size_t node = 1; node < kXcLevels; ++node) tables.level_nodes[node] = byte();
    tables.stages = static_cast<std::uint8_t>(rng.below(kXcStages + 1));
    for (auto& q : tables.flags) q = byte();
    for (std::size_t k = 0; k < tables.stages; ++k) {
        const std::size_t first = rng.below(kXcBuckets);
        const std::size_t last = first + rng.below(kXcBuckets - first);
        for (std::size_t b = first; b <= last; ++b) tables.stage[k][b] = byte();
    }
    if (contextual) return tables;
    tables.flags.fill(tables.flags[0]);
    for (std::size_t k = 0; k < tables.stages; ++k) tables.stage[k].fill(byte());
    return tables;
}

TEST(XcTables, SurviveTheirBytesAndNoFewer) {
    Rng rng(5, 0);
    for (int i = 0; i < 200; ++i) {
        const bool contextual = i % 2 == 0;
        const XcTables tables = random_tables(rng, contextual);
        ByteVector bytes;
        write_xc_tables(tables, bytes);
        ByteReader reader(bytes);
        const auto read = read_xc_tables(reader, contextual);
        ASSERT_TRUE(read.has_value()) << read.error().what;
        EXPECT_TRUE(read.value() == tables) << i;
        EXPECT_EQ(reader.remaining(), 0u);
        for (std::size_t size = 0; size < bytes.size(); ++size) {
            ByteReader cut(ByteSpan(bytes).first(size));
            EXPECT_FALSE(read_xc_tables(cut, contextual).has_value()) << size;
        }
    }
}

TEST(XcTables, RefuseWhatNoEncoderWrites) {
    ByteVector bytes;
    write_xc_tables(XcTables{}, bytes);
    const auto read = [](ByteVector damaged, std::size_t at, unsigned value, bool contextual) {
        damaged[at] = static_cast<std::byte>(value);
        damaged.resize(damaged.size() + 400);
        ByteReader reader(damaged);
        return read_xc_tables(reader, contextual).has_value();
    };
    EXPECT_TRUE(read(bytes, 0, 7, true));
    EXPECT_TRUE(read(bytes, 0, 10, true));
    for (const unsigned bits : {0u, 6u, 8u, 16u, 255u}) EXPECT_FALSE(read(bytes, 0, bits, true));
    EXPECT_FALSE(read(bytes, 0, 7, false));
    const std::size_t stages = 2 + 15 + 16;
    EXPECT_TRUE(read(bytes, stages, 15, true));
    EXPECT_FALSE(read(bytes, stages, 16, true));
    bytes[stages] = std::byte{1};
    bytes.push_back(std::byte{0x43});  // from bucket 4 to bucket 3
    EXPECT_FALSE(read(bytes, stages + 1, 0x43, true));
    EXPECT_TRUE(read(bytes, stages + 1, 0x44, true));
}

TEST(XcTables, OddsAreTheRatesTheyWereMadeFrom) {
    XcCounts counts;
    XcBucketWords words{};
    const XcContext context{7, 106};
    // Bucket b has 2^20 words, of which 2^b changed; half of those by more than one step.
    for (std::uint32_t b = 1; b < kXcBuckets; ++b) {
        words[b] = 1u << 20;
        counts.steps[0][106 + b] = 1u << b;
        counts.steps[1][106 + b] = 1u << (b - 1);
    }
    const XcTables tables = fit_xc_tables(counts, context, words, true);
    EXPECT_EQ(tables.stages, 1);
    for (std::uint32_t b = 6; b < kXcBuckets; ++b) {
        const double rate = std::ldexp(1.0, static_cast<int>(b) - 20);
        EXPECT_NEAR(xc_hazard(tables.flags[b]) / 16384.0, rate, 0.05 * rate + 1.0 / 16384) << b;
        EXPECT_NEAR(xc_hazard(tables.stage[0][b]) / 16384.0, 0.5, 0.05) << b;
    }
    const XcTables blind = fit_xc_tables(counts, context, words, false);
    const double mean = 65534.0 / (15 << 20);
    EXPECT_NEAR(xc_hazard(blind.flags[3]) / 16384.0, mean, 0.05 * mean + 1.0 / 16384);
}

TEST(XcTables, ExpectWhatTheOddsOfTheWordsAddUpTo) {
    XcTables tables;
    for (std::size_t b = 0; b < kXcBuckets; ++b)
        tables.flags[b] = static_cast<std::uint8_t>(90 + 3 * b);
    XcTile tile;
    tile.changed = {5, 0, 4096};
    tile.words.resize(3);
    tile.words[0][2] = 7;
    tile.words[0][15] = 4089;
    tile.words[2].fill(256);
    const XcOdds odds = xc_odds(tables.flags);
    const std::vector<XcSegment> segments = expect_xc(tile, tables);
    ASSERT_EQ(segments.size(), 3u);
    EXPECT_EQ(segments[0].changed, 5u);
    EXPECT_EQ(segments[0].expected, 7u * odds[2] + 4089u * odds[15]);
    EXPECT_EQ(segments[1].changed, 0u);
    EXPECT_EQ(segments[1].expected, 0u);
    EXPECT_EQ(segments[2].changed, 4096u);
    EXPECT_EQ(segments[2].expected, 256 * std::accumulate(odds.begin(), odds.end(), 0ull));
}

TEST(XcTables, WindowLeavesAtMostOneWordIn32Above) {
    XcExponents sample{};
    sample[100] = 31 * 64;
    sample[120] = 2 * 31;
    EXPECT_EQ(fit_xc_context(sample, 7), (XcContext{7, 100 - 15}));
    sample[120] = 2 * 32 + 1;
    EXPECT_EQ(fit_xc_context(sample, 7), (XcContext{7, 120 - 15}));
    EXPECT_EQ(fit_xc_context(XcExponents{}, 10), (XcContext{10, 1}));
}

TEST(XcLevels, FollowTheRateOfTheSegment) {
    const auto level_of = [](std::uint64_t expected, std::uint32_t changed) {
        std::vector<std::uint8_t> levels;
        const XcSegment segment{expected * kXcOddsOne, changed};
        choose_xc_levels(std::span(&segment, 1), XcLevelCosts{}, levels);
        return unsigned{levels.at(0)};
    };
    EXPECT_EQ(level_of(100, 0), 0u);
    EXPECT_EQ(level_of(100, 100), kXcMiddleLevel);
    EXPECT_EQ(level_of(100, 200), kXcMiddleLevel + 2);  // two levels are an octave
    EXPECT_EQ(level_of(100, 50), kXcMiddleLevel - 2);
    EXPECT_EQ(level_of(10, 4096), kXcLevels - 1);
    EXPECT_EQ(level_of(4000, 1), 1u);
    EXPECT_EQ(level_of(0, 5), kXcLevels - 1);
}

TEST(XcLevels, AreOnlyChosenWhereTheyPayForThemselves) {
    std::vector<XcSegment> segments(100, XcSegment{100 * kXcOddsOne, 100});
    segments[7] = {100 * kXcOddsOne, 130};   // a few bits to win, more to say so
    segments[9] = {100 * kXcOddsOne, 1000};  // hundreds
    std::vector<std::uint8_t> first;
    choose_xc_levels(segments, XcLevelCosts{}, first);
    EXPECT_NE(first[7], kXcMiddleLevel);
    std::vector<std::uint8_t> second;
    choose_xc_levels(segments, xc_level_costs(first), second);
    EXPECT_EQ(second[7], kXcMiddleLevel);
    EXPECT_GT(second[9], kXcMiddleLevel + 4);
}

TEST(XcLevels, NodesHaveTheSharesOfTheirLevels) {
    std::vector<std::uint8_t> levels(300, 8);
    levels.insert(levels.end(), 100, 3);
    const auto nodes = fit_xc_nodes(levels);
    EXPECT_NEAR(xc_hazard(nodes[1]) / 16384.0, 0.75, 0.04);  // 8 and above
    EXPECT_LT(xc_hazard(nodes[3]) / 16384.0, 0.01);          // 12 and above
    EXPECT_GT(xc_hazard(nodes[5]) / 16384.0, 0.0);
}

/// The body of one tile.
ByteVector body_of(std::string_view codec,
                   const WordVector& base,
                   const WordVector& next,
                   WordType type,
                   TileMode& mode) {
    const auto device = make_cpu_device(1);
    Changes changes;
    device->diff(base, next, changes);
    const TileDiff diff{base, next, &changes, type};
    const Codec& found = *find_codec(codec).value();
    mode = found.choose_mode(diff);
    ByteVector body;
    found.encode(*device, std::span(&diff, 1), std::span(&mode, 1), body);
    return body;
}

TEST(Xc, ATileLongerThanItsWordsTurnsRaw) {
    for (const std::size_t words : {1u, 40u, 47u, 48u, 60u, 100u}) {
        WordVector base(words, 0x3C00);
        WordVector next = base;
        next[words / 2] = 0x3C01;
        TileMode mode{};
        const ByteVector body = body_of("xc", base, next, WordType::bf16, mode);
        EXPECT_EQ(mode == TileMode::raw, body.size() == 2 * words) << words;
        EXPECT_TRUE(mode == TileMode::raw || words > 48) << words;
        EXPECT_TRUE(mode == TileMode::coded || words < 100) << words;
    }
}

TEST(Xc, LooksAtTheExponentOfTheType) {
    // Halves of one scale, and a rate that doubles with each step of their exponent downwards.
    Rng rng(3, 0);
    WordVector base(200'000);
    WordVector next(base.size());
    for (std::size_t i = 0; i < base.size(); ++i) {
        const auto exponent = static_cast<unsigned>(4 + rng.below(10));
        base[i] = static_cast<std::uint16_t>(exponent << 10 | rng.below(1024));
        const bool changes = rng.below(1u << exponent) < 8;
        next[i] = static_cast<std::uint16_t>(base[i] + (changes ? 1 : 0));
    }
    TileMode mode{};
    const ByteVector as_half = body_of("xc", base, next, WordType::f16, mode);
    EXPECT_EQ(as_half[0], std::byte{10});
    const ByteVector as_bf16 = body_of("xc", base, next, WordType::bf16, mode);
    EXPECT_EQ(as_bf16[0], std::byte{7});
    EXPECT_LT(20 * as_half.size(), 19 * as_bf16.size());
}

}  // namespace
}  // namespace refit
