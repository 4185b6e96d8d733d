// What must hold for units, bounded bytes, hashes and randomness. Literals were computed apart
// from this code: by hand, from FIPS 180-4, or with another program.
#include <gtest/gtest.h>

#include <string>

#include "engine/base/bytes.hpp"
#include "engine/base/hash.hpp"
#include "engine/base/result.hpp"
#include "engine/base/rng.hpp"
#include "engine/base/units.hpp"

namespace refit {
namespace {

TEST(TransmitTime, RoundsUpAndHoldsProductsPast64Bits) {
    EXPECT_EQ(transmit_time(Bytes{0}, 10_Gbps), Nanoseconds{0});
    EXPECT_EQ(transmit_time(Bytes{1}, 10_Gbps), Nanoseconds{1});  // 0.8 ns
    EXPECT_EQ(transmit_time(Bytes{5}, 10_Gbps), Nanoseconds{4});
    EXPECT_EQ(transmit_time(Bytes{2'000'000'000'000}, 10_Gbps), Nanoseconds{1'600'000'000'000});
    // kimi-k2-1t at the published rate: 2,052.8 GB over 3.128 Gbit/s, just over 5250 s.
    EXPECT_EQ(transmit_time(size_of(1'026'408'232'448_words), BitsPerSecond{3'128'000'000}),
              Nanoseconds{5'250'169'986'947});
}

TEST(TransmitTime, RefusesRateZeroAndTimesPast63Bits) {
    EXPECT_DEATH((void)transmit_time(Bytes{1}, BitsPerSecond{0}), "broken invariant");
    EXPECT_DEATH((void)transmit_time(Bytes{~std::uint64_t{0}}, BitsPerSecond{1}),
                 "broken invariant");
}

TEST(ProcessTime, CountsBytesNotBits) {
    EXPECT_EQ(process_time(Bytes{3}, BytesPerSecond{1'000'000'000}), Nanoseconds{3});
    EXPECT_EQ(process_time(Bytes{1}, BytesPerSecond{3}), Nanoseconds{333'333'334});
}

TEST(Quantity, LiteralsAddScaleAndCompare) {
    EXPECT_EQ(1_KiB + 1_MiB + 1_GiB, Bytes{1024 + 1'048'576 + 1'073'741'824});
    EXPECT_EQ(2_s - 500_ms, Nanoseconds{1'500'000'000});
    EXPECT_EQ(3_words * 5, 15_words);
    EXPECT_LT(size_of(3_words), Bytes{7});
    EXPECT_EQ(to_seconds(1500_ms), 1.5);
}

TEST(ByteWriter, IsLittleEndianAndPrefixesBlocksWithTheirLength) {
    ByteWriter writer;
    writer.write(std::uint32_t{0x01020304});
    writer.write_text("ab");
    EXPECT_EQ(as_text(writer.bytes()), std::string_view("\x04\x03\x02\x01\x02\0\0\0ab", 10));
}

TEST(ByteReader, ReadsBackWhatTheWriterWrote) {
    ByteWriter writer;
    writer.write(std::uint8_t{7});
    writer.write(std::uint64_t{0xFEDCBA9876543210u});
    writer.write_text("layer");
    const ByteVector bytes = std::move(writer).take();
    ByteReader reader(bytes);
    EXPECT_EQ(reader.read<std::uint8_t>(), 7);
    EXPECT_EQ(reader.read<std::uint64_t>(), 0xFEDCBA9876543210u);
    EXPECT_EQ(reader.take_text(5), "layer");
    EXPECT_TRUE(reader.finish("the text").has_value());
}

TEST(ByteReader, FailsForGoodAtEveryTruncationAndYieldsZeros) {
    ByteWriter writer;
    writer.write(std::uint32_t{0xFFFFFFFF});
    writer.write_text("abc");
    writer.write(std::uint16_t{0xFFFF});
    const ByteVector bytes = std::move(writer).take();
    for (std::size_t keep = 0; keep < bytes.size(); ++keep) {
        ByteReader reader(ByteSpan(bytes).first(keep));
        const auto head = reader.read<std::uint32_t>();
        const std::string text = reader.take_text(3);
        EXPECT_EQ(reader.read<std::uint16_t>(), 0) << "kept " << keep;
        EXPECT_EQ(head, keep >= 4 ? 0xFFFFFFFF : 0) << "kept " << keep;
        EXPECT_EQ(text, keep >= 11 ? "abc" : "") << "kept " << keep;
        EXPECT_TRUE(reader.failed()) << "kept " << keep;
        EXPECT_EQ(reader.remaining(), 0u) << "kept " << keep;
        ASSERT_FALSE(reader.finish("it").has_value());
        EXPECT_EQ(reader.finish("it").error().code, ErrorCode::truncated);
    }
}

TEST(ByteReader, RefusesABlockOverItsLimitAndBytesLeftOver) {
    ByteWriter writer;
    writer.write_text("abcd");
    ByteReader over(writer.bytes());
    EXPECT_TRUE(over.take_block(3).empty());
    EXPECT_TRUE(over.failed());
    ByteReader within(writer.bytes());
    EXPECT_EQ(within.take_block(4).size(), 4u);
    EXPECT_FALSE(within.failed());

    ByteReader left(writer.bytes());
    (void)left.read<std::uint32_t>();
    ASSERT_FALSE(left.finish("it").has_value());
    EXPECT_EQ(left.finish("it").error().code, ErrorCode::corrupt);
    EXPECT_EQ(left.finish("it").error().what, "it has 4 bytes too many");
}

TEST(ByteReader, RefusesALengthNearTheTopOf64Bits) {
    const ByteVector bytes(16, std::byte{1});
    ByteReader reader(bytes);
    (void)reader.read<std::uint64_t>();
    EXPECT_TRUE(reader.take(~std::uint64_t{0}).empty());
    EXPECT_TRUE(reader.failed());
}

TEST(Sha256, GivesThePublishedDigests) {
    EXPECT_EQ(to_hex(sha256({})),
              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(to_hex(sha256(as_byte_span("abc"))),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(
        to_hex(sha256(as_byte_span("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"))),
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(to_hex(sha256(as_byte_span(std::string(1'000'000, 'a')))),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotCareHowBytesArrive) {
    const std::string text(300, 'x');
    for (std::size_t cut = 0; cut <= text.size(); cut += 37) {
        Sha256 hasher;
        hasher.update(as_byte_span(text).first(cut));
        hasher.update(as_byte_span(text).subspan(cut));
        EXPECT_EQ(hasher.finish(), sha256(as_byte_span(text))) << "cut at " << cut;
    }
}

TEST(Hash256, RoundTripsThroughHex) {
    const Hash256 hash = sha256(as_byte_span("abc"));
    const auto read = hash_from_hex(to_hex(hash));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read.value(), hash);
    EXPECT_EQ(short_hex(hash), "ba7816bf");
    EXPECT_FALSE(hash.is_zero());
    EXPECT_TRUE(Hash256{}.is_zero());
}

TEST(Hash256, RefusesHexOfAnotherLengthOrWithOtherLetters) {
    const std::string good = to_hex(Hash256{});
    ASSERT_TRUE(hash_from_hex(good).has_value());
    for (const std::string& bad : {std::string(), good.substr(1), good + "0", good + "00"})
        EXPECT_FALSE(hash_from_hex(bad).has_value()) << bad;
    for (const char letter : {'g', 'A', ' ', '-', '/', ':', '`', '\0'}) {
        for (const std::size_t at : {0u, 1u, 63u}) {
            std::string bad = good;
            bad[at] = letter;
            EXPECT_FALSE(hash_from_hex(bad).has_value())
                << "letter " << int{letter} << " at " << at;
        }
    }
}

TEST(Rng, DrawsFixedNumbers) {
    EXPECT_EQ(mix64(0x9E3779B97F4A7C15u), 0xE220A8397B1DCDAFu);  // SplitMix64 seeded with 0
    EXPECT_EQ(draw(0, 0, 0), 0x568A9B0B1A2C05ECu);
    EXPECT_EQ(draw(1, 2, 3), 0xB122FE6E54F918BDu);
    EXPECT_EQ(draw(~std::uint64_t{0}, 7, 1'000'000'007), 0xA024DEBF2E66F7FDu);
}

TEST(Rng, IsACursorOverOneStream) {
    Rng rng(5, 9);
    for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(rng.next(), draw(5, 9, i));
    Rng copy = rng;
    EXPECT_EQ(copy.next(), rng.next());
    EXPECT_NE(Rng(5, 9).next(), Rng(5, 10).next());
    EXPECT_NE(Rng(5, 9).next(), Rng(6, 9).next());
}

TEST(Rng, StaysBelowItsLimitAndReachesEveryValue) {
    Rng rng(1, 1);
    std::vector<int> seen(7);
    for (int i = 0; i < 7000; ++i) ++seen.at(rng.below(7));
    for (const int count : seen) EXPECT_NEAR(count, 1000, 200);
    EXPECT_DEATH((void)rng.below(0), "broken invariant");
}

TEST(Rng, ChanceIsPartsPerMillion) {
    Rng rng(2, 1);
    int hits = 0;
    for (int i = 0; i < 100'000; ++i) hits += rng.chance(30'000);
    EXPECT_NEAR(hits, 3000, 300);
    for (int i = 0; i < 100; ++i) {
        EXPECT_FALSE(rng.chance(0));
        EXPECT_TRUE(rng.chance(1'000'000));
    }
}

TEST(Result, KeepsTheInnermostFileName) {
    const Error inner = in_file({ErrorCode::corrupt, "bad"}, "a.rfd");
    EXPECT_EQ(inner.where, "a.rfd");
    EXPECT_EQ(in_file(inner, "b.toml").where, "a.rfd");
}

TEST(Result, TakingTheValueOfAnErrorIsABug) {
    const Result<int> failed = Error{ErrorCode::corrupt, "bad"};
    EXPECT_DEATH((void)failed.value(), "broken invariant");
}

}  // namespace
}  // namespace refit
