// Bytes from outside: every decoder refuses what breaks its format and never leaves its tile.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "engine/codec/body.hpp"
#include "engine/codec/zstd_frame.hpp"
#include "tests/engine/codec_fixture.hpp"

namespace refit {
namespace {

using test::WordVector;

ByteSpan bytes_of(const WordVector& words) { return std::as_bytes(std::span(words)); }

Status decode_one(std::string_view codec,
                  const WordVector& base,
                  TileMode mode,
                  std::uint32_t changed,
                  ByteSpan body) {
    const auto device = make_cpu_device(1);
    const TileBase tile{base, mode, changed};
    std::vector<Changes> changes(1);
    return find_codec(codec).value()->decode(*device, body, std::span(&tile, 1), changes);
}

void expect_refused(const Status& status, ErrorCode code, std::string_view part) {
    ASSERT_FALSE(status.has_value()) << "accepted what should say: " << part;
    EXPECT_EQ(status.error().code, code) << status.error().what;
    EXPECT_NE(status.error().what.find(part), std::string::npos) << status.error().what;
}

/// A u32 number of values, when it is given, and streams.
ByteVector body_of(std::optional<std::size_t> count, std::initializer_list<ByteSpan> streams) {
    ByteWriter writer;
    if (count.has_value()) writer.write(static_cast<std::uint32_t>(*count));
    ByteVector body = std::move(writer).take();
    for (const ByteSpan stream : streams) append_stream(stream, 3, body);
    return body;
}

ByteVector gap_body(const WordVector& gaps, const WordVector& masks) {
    return body_of(gaps.size(), {bytes_of(gaps), bytes_of(masks)});
}

using Octets = std::vector<std::uint8_t>;

ByteSpan bytes_of(const Octets& octets) { return std::as_bytes(std::span(octets)); }

ByteVector index_body(const std::vector<std::uint32_t>& index, const WordVector& words) {
    ByteWriter writer;
    for (const std::uint32_t position : index) writer.write(position);
    for (const std::uint16_t word : words) writer.write(word);
    return std::move(writer).take();
}

TEST(ZstdFrame, GivesBackExactlyTheKnownSize) {
    Rng rng(1, 0);
    for (const std::size_t size : {0u, 1u, 100u, 100'000u}) {
        ByteVector bytes(size);
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.below(4));
        ByteVector frame;
        append_zstd_frame(bytes, 3, frame);
        ByteVector out(size);
        ASSERT_TRUE(read_zstd_frame(frame, out, "it").has_value());
        EXPECT_EQ(out, bytes);
        ByteVector longer(size + 1);
        EXPECT_FALSE(read_zstd_frame(frame, longer, "it").has_value());
        for (std::size_t keep = 0; keep < std::min<std::size_t>(frame.size(), 300); ++keep)
            EXPECT_FALSE(read_zstd_frame(ByteSpan(frame).first(keep), out, "it").has_value());
        ByteVector twice = frame;
        twice.insert(twice.end(), frame.begin(), frame.end());
        expect_refused(read_zstd_frame(twice, out, "it"), ErrorCode::corrupt, "does not end");
    }
}

TEST(ZstdFrame, RefusesWindowsOver128MiBDictionariesAndSkippableFrames) {
    // Magic, a descriptor with a 1-byte window and an 8-byte size, the window, the size, and one
    // last block of RLE: a valid frame of 1 << `log` bytes as long as the window allows it.
    const auto frame = [](std::uint8_t descriptor, std::uint8_t window) {
        ByteWriter writer;
        writer.write(std::uint32_t{0xFD2FB528});
        writer.write(descriptor);
        writer.write(window);
        writer.write(std::uint64_t{100});
        const std::uint32_t block = 1u | (1u << 1) | (100u << 3);
        writer.write(static_cast<std::uint16_t>(block));
        writer.write(static_cast<std::uint8_t>(block >> 16));
        writer.write(std::uint8_t{7});
        return std::move(writer).take();
    };
    ByteVector out(100);
    EXPECT_TRUE(read_zstd_frame(frame(0xC0, 17 << 3), out, "it").has_value());
    EXPECT_EQ(out, ByteVector(100, std::byte{7}));
    expect_refused(read_zstd_frame(frame(0xC0, (17 << 3) | 1), out, "it"), ErrorCode::corrupt,
                   "window");
    expect_refused(read_zstd_frame(frame(0xC0, 18 << 3), out, "it"), ErrorCode::corrupt, "window");
    expect_refused(read_zstd_frame(frame(0xC1, 0), out, "it"), ErrorCode::corrupt, "dictionary");
    ByteWriter skippable;
    skippable.write(std::uint32_t{0x184D2A50});
    skippable.write(std::uint32_t{4});
    skippable.write(std::uint32_t{0});
    expect_refused(read_zstd_frame(skippable.bytes(), out, "it"), ErrorCode::corrupt, "magic");
}

TEST(Codec, RefusesCountsAndModesThatCannotBe) {
    const WordVector base(10, 5);
    for (const char* codec : {"gap-xor-zstd", "xor-zstd", "planes-zstd", "coo-zstd", "bitmask-zstd",
                              "index-value", "xc", "cf"}) {
        SCOPED_TRACE(codec);
        expect_refused(decode_one(codec, base, TileMode::coded, 11, {}), ErrorCode::corrupt,
                       "claims 11 changes");
        expect_refused(decode_one(codec, base, TileMode::empty, 1, {}), ErrorCode::corrupt,
                       "disagree");
        expect_refused(decode_one(codec, base, TileMode::coded, 0, {}), ErrorCode::corrupt,
                       "disagree");
        expect_refused(decode_one(codec, base, TileMode::empty, 0, bytes_of(base)),
                       ErrorCode::corrupt, "20 bytes too many");
        expect_refused(decode_one(codec, base, TileMode::coded, 1, {}), ErrorCode::truncated,
                       "cut short");
    }
    for (const char* codec :
         {"gap-xor-zstd", "coo-zstd", "bitmask-zstd", "index-value", "xc", "cf"}) {
        SCOPED_TRACE(codec);
        WordVector next = base;
        next[3] = 6;
        EXPECT_TRUE(decode_one(codec, base, TileMode::raw, 1, bytes_of(next)).has_value());
        expect_refused(decode_one(codec, base, TileMode::raw, 1, {}), ErrorCode::truncated, "raw");
        expect_refused(decode_one(codec, base, TileMode::raw, 1, bytes_of(base)),
                       ErrorCode::corrupt, "0 changes where 1");
    }
    for (const char* codec : {"xor-zstd", "planes-zstd"}) {
        const WordVector next(10, 6);
        expect_refused(decode_one(codec, base, TileMode::raw, 10, bytes_of(next)),
                       ErrorCode::corrupt, "never sends raw tiles");
    }
    expect_refused(decode_one("full", base, TileMode::coded, 1, {}), ErrorCode::corrupt, "raw");
    expect_refused(decode_one("full", base, TileMode::empty, 0, {}), ErrorCode::corrupt, "raw");
    expect_refused(decode_one("full-zstd", base, TileMode::raw, 0, {}), ErrorCode::corrupt, "code");
    expect_refused(decode_one("full-zstd", base, TileMode::coded, 0, {}), ErrorCode::truncated,
                   "cut short");
}

TEST(GapXor, RefusesListsThatLeaveTheTileOrSayNothing) {
    const WordVector base(10, 5);
    const auto decode = [&](const WordVector& gaps, const WordVector& masks) {
        return decode_one("gap-xor-zstd", base, TileMode::coded, 2, gap_body(gaps, masks));
    };
    EXPECT_TRUE(decode({0, 8}, {1, 1}).has_value());
    expect_refused(decode({0, 9}, {1, 1}), ErrorCode::corrupt, "a gap leads to position 10");
    expect_refused(decode({0xFFFE, 0}, {1, 1}), ErrorCode::corrupt, "position 65534");
    expect_refused(decode({0, 8}, {1, 0}), ErrorCode::corrupt, "equals its base");
    expect_refused(decode({0}, {1, 1}), ErrorCode::corrupt, "end too early");
    expect_refused(decode({0, 0xFFFF}, {1, 1}), ErrorCode::corrupt, "end too early");
    expect_refused(decode({0, 1, 2}, {1, 1}), ErrorCode::corrupt, "3 gaps for 2");
    expect_refused(decode({0, 8}, {1}), ErrorCode::corrupt, "holds 2 bytes where 4");
    const WordVector wide(70'000, 5);
    expect_refused(decode_one("gap-xor-zstd", wide, TileMode::coded, 1, gap_body({3, 0xFFFF}, {1})),
                   ErrorCode::corrupt, "1 gaps are left over");
}

TEST(IndexValue, RefusesListsThatDoNotAscendOrSayNothing) {
    const WordVector base(10, 5);
    const auto decode = [&](const std::vector<std::uint32_t>& index, const WordVector& words) {
        return decode_one("index-value", base, TileMode::coded, 2, index_body(index, words));
    };
    EXPECT_TRUE(decode({0, 9}, {1, 2}).has_value());
    expect_refused(decode({0, 10}, {1, 2}), ErrorCode::corrupt, "position 10 lies outside");
    expect_refused(decode({0, 0xFFFF'FFFF}, {1, 2}), ErrorCode::corrupt, "outside");
    expect_refused(decode({0xFFFF'FFFF, 0}, {1, 2}), ErrorCode::corrupt, "do not ascend");
    expect_refused(decode({3, 3}, {1, 2}), ErrorCode::corrupt, "do not ascend");
    expect_refused(decode({4, 3}, {1, 2}), ErrorCode::corrupt, "do not ascend");
    expect_refused(decode({0, 9}, {1, 5}), ErrorCode::corrupt, "equals its base");
    expect_refused(decode({0, 9}, {1}), ErrorCode::truncated, "cut short");
    expect_refused(decode({0, 9}, {1, 2, 3}), ErrorCode::corrupt, "too many");
}

TEST(XorZstd, RefusesAnotherCountOrSizeThanAnnounced) {
    const WordVector base(6, 5);
    const auto decode = [&](const WordVector& dense) {
        return decode_one("xor-zstd", base, TileMode::coded, 2, body_of({}, {bytes_of(dense)}));
    };
    EXPECT_TRUE(decode({0, 1, 0, 0, 0, 1}).has_value());
    expect_refused(decode({0, 1, 0, 0, 0, 0}), ErrorCode::corrupt, "1 changes of 2");
    expect_refused(decode({0, 1, 1, 0, 0, 1}), ErrorCode::corrupt, "3 changes of 2");
    expect_refused(decode({0, 1, 1, 0, 0}), ErrorCode::corrupt, "holds 10 bytes where 12");
}

TEST(PlanesZstd, RefusesAnotherCountOrSizeThanAnnounced) {
    const WordVector base(3, 5);
    const auto decode = [&](const Octets& planes) {
        return decode_one("planes-zstd", base, TileMode::coded, 2, body_of({}, {bytes_of(planes)}));
    };
    EXPECT_TRUE(decode({0, 1, 0, 0, 0, 1}).has_value());
    EXPECT_TRUE(decode({0, 1, 1, 0, 0, 1}).has_value());
    expect_refused(decode({0, 1, 0, 0, 1, 0}), ErrorCode::corrupt, "1 changes of 2");
    expect_refused(decode({0, 1, 1, 1, 0, 0}), ErrorCode::corrupt, "3 changes of 2");
    expect_refused(decode({0, 1, 1, 0, 0}), ErrorCode::corrupt, "holds 5 bytes where 6");
}

TEST(CooZstd, RefusesListsThatLeaveTheTileOrSayNothing) {
    const WordVector base(4100, 5);
    const auto decode = [&](const Octets& steps, const WordVector& columns,
                            const WordVector& words) {
        return decode_one(
            "coo-zstd", base, TileMode::coded, 2,
            body_of(steps.size(), {bytes_of(steps), bytes_of(columns), bytes_of(words)}));
    };
    EXPECT_TRUE(decode({0, 1}, {4095, 3}, {1, 1}).has_value());
    EXPECT_TRUE(decode({0, 0}, {0, 4095}, {1, 1}).has_value());
    expect_refused(decode({0, 1}, {4095, 4}, {1, 1}), ErrorCode::corrupt, "position 4100");
    expect_refused(decode({0, 2}, {0, 0}, {1, 1}), ErrorCode::corrupt, "position 8192");
    expect_refused(decode({0, 254}, {0, 0}, {1, 1}), ErrorCode::corrupt, "position 1040384");
    expect_refused(decode({0, 0}, {1, 4095}, {1, 1}), ErrorCode::corrupt, "column 4096");
    expect_refused(decode({0, 0}, {1, 0xFFFF}, {1, 1}), ErrorCode::corrupt, "column 65536");
    expect_refused(decode({0, 0}, {1, 0}, {1, 1}), ErrorCode::corrupt, "do not ascend");
    expect_refused(decode({0, 1}, {4, 3}, {1, 5}), ErrorCode::corrupt, "equals its base");
    expect_refused(decode({0}, {4, 3}, {1, 1}), ErrorCode::corrupt, "end too early");
    expect_refused(decode({0, 0xFF}, {4, 3}, {1, 1}), ErrorCode::corrupt, "end too early");
    expect_refused(decode({0, 1, 0}, {4, 3}, {1, 1}), ErrorCode::corrupt, "3 row steps for 2");
    expect_refused(decode({0, 1}, {4}, {1, 1}), ErrorCode::corrupt, "holds 2 bytes where 4");
    expect_refused(decode({0, 1}, {4, 3}, {1, 1, 1}), ErrorCode::corrupt, "6 bytes where 4");
    const WordVector wide(256 * 4096, 5);
    const auto decode_wide = [&](const Octets& steps) {
        const WordVector column{9};
        const WordVector word{1};
        return decode_one(
            "coo-zstd", wide, TileMode::coded, 1,
            body_of(steps.size(), {bytes_of(steps), bytes_of(column), bytes_of(word)}));
    };
    EXPECT_TRUE(decode_wide({0xFF, 0}).has_value());
    expect_refused(decode_wide({0xFF, 1}), ErrorCode::corrupt, "position 1048585");
    expect_refused(decode_wide({3, 0xFF}), ErrorCode::corrupt, "1 row steps are left over");
}

TEST(BitmaskZstd, RefusesBitsThatLeaveTheTileOrSayNothing) {
    const WordVector base(10, 5);
    const auto decode = [&](const Octets& bits, const WordVector& words) {
        return decode_one("bitmask-zstd", base, TileMode::coded, 2,
                          body_of({}, {bytes_of(bits), bytes_of(words)}));
    };
    EXPECT_TRUE(decode({1, 2}, {1, 2}).has_value());
    expect_refused(decode({1, 4}, {1, 2}), ErrorCode::corrupt, "bit 10 is set");
    expect_refused(decode({1, 0x80}, {1, 2}), ErrorCode::corrupt, "bit 15 is set");
    expect_refused(decode({1, 3}, {1, 2}), ErrorCode::corrupt, "3 changes of 2");
    expect_refused(decode({1, 0}, {1, 2}), ErrorCode::corrupt, "1 changes of 2");
    expect_refused(decode({1, 2}, {1, 5}), ErrorCode::corrupt, "equals its base");
    expect_refused(decode({3}, {1, 2}), ErrorCode::corrupt, "holds 1 bytes where 2");
    expect_refused(decode({1, 2, 0}, {1, 2}), ErrorCode::corrupt, "holds 3 bytes where 2");
    expect_refused(decode({1, 2}, {1}), ErrorCode::corrupt, "holds 2 bytes where 4");
}

/// A body that holds one coded tile of 100 words, of which word 40 changes.
ByteVector xc_body(const char* codec) {
    const auto device = make_cpu_device(1);
    const WordVector base(100, 5);
    WordVector next = base;
    next[40] = 7;
    Changes changes;
    device->diff(base, next, changes);
    const TileDiff tile{base, next, &changes};
    TileMode mode = TileMode::coded;
    ByteVector body;
    find_codec(codec).value()->encode(*device, std::span(&tile, 1), std::span(&mode, 1), body);
    EXPECT_EQ(mode, TileMode::coded);
    return body;
}

TEST(Xc, RefusesTablesThatSayNothingOrTooMuch) {
    const WordVector base(100, 5);
    for (const char* codec : {"xc", "cf"}) {
        SCOPED_TRACE(codec);
        const bool contextual = codec == std::string_view("xc");
        const ByteVector body = xc_body(codec);
        const auto decode = [&](std::size_t at, unsigned value) {
            ByteVector changed = body;
            changed.at(at) = static_cast<std::byte>(value);
            return decode_one(codec, base, TileMode::coded, 1, changed);
        };
        const std::size_t stages = contextual ? 2 + 15 + 16 : 1 + 15 + 1;
        ASSERT_EQ(std::to_integer<int>(body.at(stages)), 1);  // a step of 2: one stage
        EXPECT_TRUE(decode(stages, 1).has_value());
        for (const unsigned bits : {0u, 6u, 7u, 8u, 10u, 255u}) {
            if (bits == (contextual ? 7 : 0) || (bits == 10 && contextual)) continue;
            expect_refused(decode(0, bits), ErrorCode::corrupt, "mantissa bits");
        }
        expect_refused(decode(stages, 16), ErrorCode::corrupt, "16 stages");
        expect_refused(decode(stages, 255), ErrorCode::corrupt, "255 stages");
        EXPECT_FALSE(decode(stages, 0).has_value());
        if (contextual) {
            ASSERT_EQ(std::to_integer<int>(body.at(stages + 1)), 0);  // the bucket of subnormals
            expect_refused(decode(stages + 1, 0x10), ErrorCode::corrupt, "end before they begin");
        }
        for (std::size_t keep = 0; keep < stages; ++keep) {
            expect_refused(decode_one(codec, base, TileMode::coded, 1, ByteSpan(body).first(keep)),
                           ErrorCode::truncated, "cut short");
        }
    }
}

TEST(Xc, RefusesPayloadsOfAnotherSizeThanStated) {
    const WordVector base(100, 5);
    for (const char* codec : {"xc", "cf"}) {
        SCOPED_TRACE(codec);
        const ByteVector body = xc_body(codec);
        const std::size_t size_at = codec == std::string_view("xc") ? 2 + 15 + 16 + 3 : 1 + 15 + 3;
        const auto size = std::to_integer<unsigned>(body.at(size_at));
        ASSERT_EQ(size, body.size() - size_at - 4);
        const auto decode = [&](unsigned stated) {
            ByteVector changed = body;
            changed[size_at] = static_cast<std::byte>(stated);
            return decode_one(codec, base, TileMode::coded, 1, changed);
        };
        EXPECT_TRUE(decode(size).has_value());
        expect_refused(decode(size + 1), ErrorCode::truncated, "cut short");
        expect_refused(decode(size - 1), ErrorCode::corrupt, "1 bytes too many");
        expect_refused(decode(0), ErrorCode::corrupt, "too many");
        expect_refused(decode_one(codec, base, TileMode::coded, 2, body), ErrorCode::corrupt,
                       "does not decode");
        ByteVector no_state = body;
        no_state[size_at + 4 + 1] = std::byte{0x7F};  // the first state: below 2^15
        no_state[size_at + 4 + 2] = std::byte{0};
        expect_refused(decode_one(codec, base, TileMode::coded, 1, no_state), ErrorCode::corrupt,
                       "does not decode");
    }
}

/// Two coded tiles share the streams: what one has too much must not make up for the other.
TEST(Codec, RefusesChangesCountedInTheNeighbourTile) {
    const auto device = make_cpu_device(1);
    const WordVector base(10, 5);
    const TileBase tiles[] = {{base, TileMode::coded, 1}, {base, TileMode::coded, 2}};
    const auto decode = [&](std::string_view codec, const ByteVector& body) {
        std::vector<Changes> changes(2);
        return find_codec(codec).value()->decode(*device, body, tiles, changes);
    };
    const WordVector words{1, 2, 3};
    const auto bits = [&](const Octets& mask) {
        return decode("bitmask-zstd", body_of({}, {bytes_of(mask), bytes_of(words)}));
    };
    EXPECT_TRUE(bits({1, 0, 1, 1}).has_value());
    expect_refused(bits({1, 1, 1, 0}), ErrorCode::corrupt, "2 changes of 1");
    const auto dense = [&](WordVector masks) {
        masks.resize(20);
        return decode("xor-zstd", body_of({}, {bytes_of(masks)}));
    };
    EXPECT_TRUE(dense({0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1}).has_value());
    expect_refused(dense({0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1}), ErrorCode::corrupt, "2 changes of 1");
}

TEST(Codec, RefusesBytesBehindTheLastStream) {
    const auto device = make_cpu_device(1);
    const WordVector base(100, 5);
    WordVector next = base;
    next[40] = 6;
    Changes changes;
    device->diff(base, next, changes);
    const TileDiff tile{base, next, &changes};
    for (const auto& codec : builtin_codecs()) {
        TileMode mode = codec->choose_mode(tile);
        ByteVector body;
        codec->encode(*device, std::span(&tile, 1), std::span(&mode, 1), body);
        ASSERT_TRUE(decode_one(codec->name(), base, mode, 1, body).has_value());
        body.push_back(std::byte{0});
        expect_refused(decode_one(codec->name(), base, mode, 1, body), ErrorCode::corrupt,
                       "1 bytes too many");
    }
}

/// A staged list that Device::overwrite may follow: inside the tile, ascending, consistent.
void expect_well_formed(const Changes& changes, std::size_t tile_words) {
    std::size_t positions = 0;
    std::size_t words = 0;
    std::uint64_t next_segment = 0;
    for (const SegmentChanges& segment : changes.segments) {
        ASSERT_GE(segment.segment, next_segment);
        next_segment = std::uint64_t{segment.segment} + 1;
        const std::uint64_t first = std::uint64_t{segment.segment} * kSegmentWords;
        ASSERT_LT(first, tile_words);
        const std::uint64_t length = std::min<std::uint64_t>(kSegmentWords, tile_words - first);
        if (segment.dense) {
            ASSERT_EQ(segment.stored, length);
        } else {
            for (std::size_t k = 0; k < segment.stored; ++k)
                ASSERT_LT(changes.positions.at(positions + k), length);
            positions += segment.stored;
        }
        words += segment.stored;
    }
    ASSERT_EQ(positions, changes.positions.size());
    ASSERT_EQ(words, changes.words.size());
}

/// Damages a body in every way of one bit, every truncation, and seeded bursts; no digest guards
/// it here, so a decoder may accept other changes, but only well-formed ones.
TEST(Codec, StaysInsideTheTileWhateverTheBody) {
    const auto device = make_cpu_device(1);
    Rng rng(9, 0);
    const auto [base, next] = test::random_words(rng, 3000, 20'000);
    const auto [raw_base, raw_next] = test::random_words(rng, 40, 1'000'000);
    for (const auto& codec : builtin_codecs()) {
        SCOPED_TRACE(codec->name());
        std::vector<Changes> changes(2);
        device->diff(base, next, changes[0]);
        device->diff(raw_base, raw_next, changes[1]);
        const TileDiff diffs[] = {{base, next, &changes[0]}, {raw_base, raw_next, &changes[1]}};
        TileMode modes[] = {codec->choose_mode(diffs[0]), codec->choose_mode(diffs[1])};
        ByteVector body;
        codec->encode(*device, diffs, modes, body);
        const TileBase tiles[] = {
            {base, modes[0], static_cast<std::uint32_t>(changes[0].changed())},
            {raw_base, modes[1], static_cast<std::uint32_t>(changes[1].changed())}};
        const auto check = [&](ByteSpan damaged) {
            std::vector<Changes> decoded(2);
            if (!codec->decode(*device, damaged, tiles, decoded).has_value()) return false;
            for (std::size_t i = 0; i < 2; ++i) {
                EXPECT_EQ(decoded[i].changed(), tiles[i].changed);
                expect_well_formed(decoded[i], tiles[i].base.size());
            }
            return true;
        };
        ASSERT_TRUE(check(body));
        for (std::size_t keep = 0; keep < body.size(); ++keep)
            EXPECT_FALSE(check(ByteSpan(body).first(keep))) << "kept " << keep;
        for (std::size_t bit = 0; bit < 8 * body.size(); ++bit) {
            ByteVector damaged = body;
            damaged[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
            check(damaged);
        }
        for (int burst = 0; burst < 2000; ++burst) {
            ByteVector damaged = body;
            for (std::uint64_t n = 1 + rng.below(8); n > 0; --n)
                damaged[rng.below(damaged.size())] = static_cast<std::byte>(rng.next());
            check(damaged);
        }
    }
}

}  // namespace
}  // namespace refit
