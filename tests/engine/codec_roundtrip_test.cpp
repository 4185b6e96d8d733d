// What every codec of the one list must hold: exact for all bits, the same bytes always, no
// explosion.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "engine/codec/zstd_frame.hpp"
#include "tests/engine/codec_fixture.hpp"

namespace refit {
namespace {

using test::WordVector;

struct Tiles {
    std::vector<WordVector> base;
    std::vector<WordVector> next;
};

struct Coded {
    ByteVector body;
    std::vector<TileMode> modes;
    std::vector<Changes> changes;
};

Coded encode(Device& device, const Codec& codec, const Tiles& tiles) {
    Coded coded;
    coded.changes.resize(tiles.base.size());
    std::vector<TileDiff> diffs;
    for (std::size_t i = 0; i < tiles.base.size(); ++i) {
        device.diff(tiles.base[i], tiles.next[i], coded.changes[i]);
        diffs.push_back(TileDiff{tiles.base[i], tiles.next[i], &coded.changes[i]});
        coded.modes.push_back(codec.choose_mode(diffs.back()));
    }
    codec.encode(device, diffs, coded.modes, coded.body);
    return coded;
}

/// Decoding must give the very staging lists that diff() gave, or the words would differ.
void expect_round_trip(Device& device, const Codec& codec, const Tiles& tiles) {
    const Coded coded = encode(device, codec, tiles);
    std::vector<TileBase> bases;
    for (std::size_t i = 0; i < tiles.base.size(); ++i) {
        bases.push_back(TileBase{tiles.base[i], coded.modes[i],
                                 static_cast<std::uint32_t>(coded.changes[i].changed())});
    }
    std::vector<Changes> decoded(bases.size());
    const Status status = codec.decode(device, coded.body, bases, decoded);
    ASSERT_TRUE(status.has_value()) << codec.name() << ": " << status.error().what;
    for (std::size_t i = 0; i < bases.size(); ++i)
        ASSERT_EQ(decoded[i], coded.changes[i]) << codec.name() << ", tile " << i;
}

void expect_round_trip_everywhere(Device& device, const Tiles& tiles) {
    for (const auto& codec : builtin_codecs()) expect_round_trip(device, *codec, tiles);
}

TEST(Codec, ListHasEveryNameOnceAndFindsIt) {
    std::vector<std::string_view> names;
    for (const auto& codec : builtin_codecs()) {
        names.push_back(codec->name());
        EXPECT_EQ(find_codec(codec->name()).value(), codec.get());
        EXPECT_FALSE(codec->summary().empty());
    }
    std::ranges::sort(names);
    EXPECT_EQ(names, (std::vector<std::string_view>{"bitmask-zstd", "cf", "coo-zstd", "full",
                                                    "full-zstd", "gap-xor-zstd", "index-value",
                                                    "planes-zstd", "xc", "xor-zstd"}));
    const auto unknown = find_codec("gzip");
    ASSERT_FALSE(unknown.has_value());
    EXPECT_EQ(unknown.error().code, ErrorCode::invalid_input);
    EXPECT_NE(unknown.error().what.find("full-zstd"), std::string::npos);
}

TEST(Codec, RoundTripsRandomTilesAtEveryRateAndLength) {
    const auto device = make_cpu_device(1);
    std::vector<std::size_t> lengths(70);
    std::iota(lengths.begin(), lengths.end(), std::size_t{1});
    lengths.insert(lengths.end(), {4095, 4096, 4097, 8200, 65535, 65536, 65537, 131075});
    std::uint64_t seed = 0;
    for (const std::uint64_t per_million : {0u, 10'000u, 30'000u, 500'000u, 1'000'000u}) {
        for (const std::size_t length : lengths) {
            SCOPED_TRACE(testing::Message() << "seed " << seed);
            Rng rng(seed++, 0);
            auto [base, next] = test::random_words(rng, length, per_million);
            expect_round_trip_everywhere(*device, Tiles{{base}, {next}});
            if (HasFatalFailure()) return;
        }
    }
}

TEST(Codec, RoundTripsUnitsOfManyTilesInEveryMode) {
    const auto device = make_cpu_device(2);
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Rng rng(seed, 1);
        Tiles tiles;
        for (std::uint64_t t = rng.below(12); t > 0; --t) {
            const std::uint64_t rates[] = {0, 300, 30'000, 600'000, 1'000'000};
            auto [base, next] = test::random_words(rng, 1 + rng.below(9000), rates[rng.below(5)]);
            tiles.base.push_back(std::move(base));
            tiles.next.push_back(std::move(next));
        }
        expect_round_trip_everywhere(*device, tiles);
        if (HasFatalFailure()) return;
    }
}

TEST(Codec, RoundTripsEveryNextWordAgainstSpecialBases) {
    const auto device = make_cpu_device(1);
    // 0, -0, 1, inf, a quiet and a signalling NaN, the largest subnormal, all ones.
    for (const std::uint16_t special : std::initializer_list<std::uint16_t>{
             0x0000, 0x8000, 0x3F80, 0x7F80, 0x7FC1, 0xFF81, 0x007F, 0xFFFF}) {
        SCOPED_TRACE(testing::Message() << "base " << special);
        WordVector base(65536, special);
        WordVector next(65536);
        std::iota(next.begin(), next.end(), std::uint16_t{0});
        expect_round_trip_everywhere(*device, Tiles{{base}, {next}});
        // The same changes, but few enough that no codec falls back to raw words.
        WordVector sparse_base(4 * base.size(), special);
        WordVector sparse_next = sparse_base;
        for (std::size_t i = 0; i < next.size(); ++i) sparse_next[4 * i + 3] = next[i];
        expect_round_trip_everywhere(*device, Tiles{{sparse_base}, {sparse_next}});
        if (HasFatalFailure()) return;
    }
}

TEST(Codec, TakesRawWordsExactlyWhereItsStreamsWouldNotBeShorter) {
    const auto device = make_cpu_device(1);
    const auto mode = [&](std::string_view codec, std::size_t words, std::size_t changed) {
        const WordVector base(words, 7);
        WordVector next = base;
        for (std::size_t i = 0; i < changed; ++i) next[i] = 8;
        Changes changes;
        device->diff(base, next, changes);
        return find_codec(codec).value()->choose_mode(TileDiff{base, next, &changes});
    };
    EXPECT_EQ(mode("gap-xor-zstd", 100, 0), TileMode::empty);
    EXPECT_EQ(mode("gap-xor-zstd", 100, 49), TileMode::coded);
    EXPECT_EQ(mode("gap-xor-zstd", 100, 50), TileMode::raw);
    EXPECT_EQ(mode("index-value", 100, 33), TileMode::coded);
    EXPECT_EQ(mode("index-value", 99, 33), TileMode::raw);
    EXPECT_EQ(mode("coo-zstd", 100, 39), TileMode::coded);
    EXPECT_EQ(mode("coo-zstd", 100, 40), TileMode::raw);
    EXPECT_EQ(mode("bitmask-zstd", 100, 93), TileMode::coded);  // 13 + 186 of 200 bytes
    EXPECT_EQ(mode("bitmask-zstd", 100, 94), TileMode::raw);
    EXPECT_EQ(mode("bitmask-zstd", 96, 90), TileMode::raw);  // 12 + 180 of 192 bytes
    for (const char* dense : {"xor-zstd", "planes-zstd"}) {
        EXPECT_EQ(mode(dense, 100, 100), TileMode::coded);
        EXPECT_EQ(mode(dense, 100, 0), TileMode::empty);
    }
    EXPECT_EQ(mode("full", 100, 0), TileMode::raw);
    EXPECT_EQ(mode("full-zstd", 100, 0), TileMode::coded);
}

TEST(Codec, SizesAreTheClosedFormsWithoutCompression) {
    const auto device = make_cpu_device(1);
    Rng rng(3, 0);
    auto [base, next] = test::random_words(rng, 10'000, 0);
    for (std::size_t i = 0; i < 900; ++i) next[11 * i] = static_cast<std::uint16_t>(~base[11 * i]);
    const Tiles tiles{{base, base}, {next, base}};
    EXPECT_EQ(encode(*device, *find_codec("full").value(), tiles).body.size(), 40'000u);
    EXPECT_EQ(encode(*device, *find_codec("index-value").value(), tiles).body.size(), 5'400u);
}

/// Rates on both sides of every codec's change to raw words: 1/3, 2/5, 1/2, 15/16.
TEST(Codec, NeverTakesMoreThan16BitsAndOneHundredthPerWord) {
    const auto device = make_cpu_device(1);
    Rng rng(4, 0);
    for (const std::uint64_t per_million :
         {300'000u, 330'000u, 340'000u, 396'000u, 405'000u, 496'000u, 505'000u, 700'000u, 934'000u,
          940'000u, 1'000'000u}) {
        const auto [base, next] = test::random_words(rng, 131'072, per_million);
        for (const auto& codec : builtin_codecs()) {
            const Coded coded = encode(*device, *codec, Tiles{{base}, {next}});
            EXPECT_LE(8.0 * static_cast<double>(coded.body.size()),
                      16.01 * static_cast<double>(base.size()))
                << codec->name() << " at " << per_million << " changes per million words";
        }
    }
}

TEST(Codec, UnchangedUnitsTakeNoBytesUnlessEverythingIsSent) {
    const auto device = make_cpu_device(1);
    const WordVector words(5000, 0x7FC0);
    const Tiles tiles{{words, words}, {words, words}};
    for (const auto& codec : builtin_codecs()) {
        const bool full = codec->name().starts_with("full");
        EXPECT_EQ(encode(*device, *codec, tiles).body.empty(), !full) << codec->name();
    }
}

/// The next stream of a body, as `count` values.
template <class Value>
std::vector<Value> take_stream(ByteReader& reader, std::size_t count) {
    std::vector<Value> values(count);
    const ByteSpan frame = reader.take_block(0xFFFF'FFFFu);
    EXPECT_TRUE(
        read_zstd_frame(frame, std::as_writable_bytes(std::span(values)), "it").has_value());
    return values;
}

TEST(Codec, GapsEscapeAtExactly65535SkippedWords) {
    const auto device = make_cpu_device(1);
    const WordVector base(300'000, 1);
    WordVector next = base;
    // Skipped before each: 0, 65534, 65535, 131069, then one less than three escapes.
    for (const std::size_t at : {0u, 65'535u, 131'071u, 262'141u}) next[at] = 3;
    const Codec& codec = *find_codec("gap-xor-zstd").value();
    const Coded coded = encode(*device, codec, Tiles{{base}, {next}});
    ByteReader reader(coded.body);
    const WordVector expected{0, 65'534, 0xFFFF, 0, 0xFFFF, 65'534};
    ASSERT_EQ(reader.read<std::uint32_t>(), expected.size());
    EXPECT_EQ(take_stream<std::uint16_t>(reader, expected.size()), expected);
    expect_round_trip(*device, codec, Tiles{{base}, {next}});
}

TEST(Codec, RowStepsEscapeAtExactly255Rows) {
    const auto device = make_cpu_device(1);
    constexpr std::size_t kRow = 4096;
    const WordVector base(1200 * kRow, 1);
    WordVector next = base;
    // Rows 0, 0, 254, 509, 1020: steps of 0, 254, 255 and of two escapes and one.
    for (const std::size_t at :
         {std::size_t{7}, kRow - 1, 254 * kRow, 509 * kRow + 3, 1020 * kRow + 4095})
        next[at] = 3;
    const Codec& codec = *find_codec("coo-zstd").value();
    const Coded coded = encode(*device, codec, Tiles{{base}, {next}});
    ByteReader reader(coded.body);
    const std::vector<std::uint8_t> steps{0, 0, 254, 0xFF, 0, 0xFF, 0xFF, 1};
    ASSERT_EQ(reader.read<std::uint32_t>(), steps.size());
    EXPECT_EQ(take_stream<std::uint8_t>(reader, steps.size()), steps);
    EXPECT_EQ(take_stream<std::uint16_t>(reader, 5), (WordVector{7, 4088, 0, 3, 4095}));
    EXPECT_EQ(take_stream<std::uint16_t>(reader, 5), WordVector(5, 3));
    expect_round_trip(*device, codec, Tiles{{base}, {next}});
}

TEST(Codec, PlanesAndBitsFollowTheTilesOfTheUnit) {
    const auto device = make_cpu_device(1);
    const WordVector base(20, 0x0100);
    WordVector low = base;
    WordVector high = base;
    low[0] = 0x0102;
    low[9] = 0x0103;
    high[11] = 0x0400;
    const Tiles tiles{{base, base, base}, {low, base, high}};

    const Coded planes = encode(*device, *find_codec("planes-zstd").value(), tiles);
    std::vector<std::uint8_t> expected(80);
    expected[0] = 0x02;
    expected[9] = 0x03;
    expected[40 + 20 + 11] = 0x05;  // the unchanged tile between them has no bytes
    ByteReader reader(planes.body);
    EXPECT_EQ(take_stream<std::uint8_t>(reader, 80), expected);
    EXPECT_TRUE(reader.finish("it").has_value());

    const Coded bits = encode(*device, *find_codec("bitmask-zstd").value(), tiles);
    reader = ByteReader(bits.body);
    EXPECT_EQ(take_stream<std::uint8_t>(reader, 6), (std::vector<std::uint8_t>{1, 2, 0, 0, 8, 0}));
    EXPECT_EQ(take_stream<std::uint16_t>(reader, 3), (WordVector{0x0102, 0x0103, 0x0400}));
    EXPECT_TRUE(reader.finish("it").has_value());
}

TEST(Codec, UnitBytesAreTheSameForEveryThreadCountAndRun) {
    const test::Sample sample = test::small_sample();
    for (const auto& codec : builtin_codecs()) {
        test::DeltaOptions options;
        options.codec = codec->name();
        const auto first_device = make_cpu_device(1);
        const ByteVector first = test::encode_rfd(*first_device, sample, options);
        for (const unsigned threads : {1u, 2u, 4u}) {
            const auto device = make_cpu_device(threads);
            EXPECT_EQ(test::encode_rfd(*device, sample, options), first)
                << codec->name() << " with " << threads << " threads";
        }
    }
}

}  // namespace
}  // namespace refit
