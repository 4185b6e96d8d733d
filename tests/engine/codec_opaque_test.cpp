// Opaque items: every tile comes back from its own bytes or the base's, hostile units are refused.
#include <gtest/gtest.h>

#include "engine/base/rng.hpp"
#include "engine/codec/opaque.hpp"

namespace refit {
namespace {

ByteVector random_bytes(Rng& rng, std::size_t size, std::uint64_t kinds) {
    ByteVector bytes(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.below(kinds));
    return bytes;
}

OpaqueItem item_of(std::string name, std::uint64_t bytes, bool has_base) {
    OpaqueItem item;
    item.name = std::move(name);
    item.bytes = bytes;
    item.has_base = has_base;
    return item;
}

TEST(Opaque, TilesCoverEveryByteOnce) {
    for (const std::uint64_t bytes :
         {std::uint64_t{0}, std::uint64_t{1}, kOpaqueTileBytes - 1, kOpaqueTileBytes,
          kOpaqueTileBytes + 1, 5 * kOpaqueTileBytes}) {
        const OpaqueItem item = item_of("t", bytes, false);
        std::uint64_t total = 0;
        for (std::uint64_t tile = 0; tile < item.tiles(); ++tile) {
            EXPECT_GT(item.tile_bytes(tile), 0u);
            EXPECT_LE(item.tile_bytes(tile), kOpaqueTileBytes);
            total += item.tile_bytes(tile);
        }
        EXPECT_EQ(total, bytes);
    }
}

TEST(Opaque, EveryModeGivesTheNextBytes) {
    Rng rng(7, 1);
    const ByteVector noise = random_bytes(rng, 5000, 256);
    const ByteVector plain = random_bytes(rng, 5000, 2);
    struct Case {
        const ByteVector& base;
        const ByteVector& next;
        OpaqueMode mode;
    };
    for (const Case& c :
         {Case{noise, noise, OpaqueMode::empty}, Case{plain, noise, OpaqueMode::raw},
          Case{noise, plain, OpaqueMode::zstd}}) {
        for (const bool has_base : {true, false}) {
            const OpaqueItem item = item_of("t", 5000, has_base);
            const ByteVector unit =
                encode_opaque_tile(3, 0, has_base ? ByteSpan(c.base) : ByteSpan(), c.next);
            const auto read = read_opaque_unit(unit, 3, 0, item);
            ASSERT_TRUE(read.has_value()) << read.error().what;
            EXPECT_EQ(read.value().bytes, unit.size());
            if (has_base) {
                EXPECT_EQ(read.value().mode, c.mode);
            }
            ByteVector out = has_base ? c.base : ByteVector(5000);
            ASSERT_TRUE(expand_opaque(read.value(), out).has_value());
            EXPECT_EQ(out, c.next);
            EXPECT_LE(unit.size(), 5000u + 13);
        }
    }
}

TEST(Opaque, UnitsThatAreNotDueAreRefused) {
    Rng rng(8, 1);
    const ByteVector next = random_bytes(rng, 100, 256);
    const OpaqueItem item = item_of("t", 100, true);
    const ByteVector raw = encode_opaque_tile(1, 0, {}, next);
    EXPECT_FALSE(read_opaque_unit(raw, 0, 0, item).has_value());
    EXPECT_FALSE(read_opaque_unit(raw, 1, 1, item).has_value());
    EXPECT_FALSE(read_opaque_unit(raw, 1, 0, item_of("t", 101, true)).has_value());
    for (std::size_t cut = 0; cut < raw.size(); ++cut)
        EXPECT_FALSE(read_opaque_unit(ByteSpan(raw).first(cut), 1, 0, item).has_value()) << cut;
    ByteVector unknown = raw;
    unknown[8] = std::byte{3};
    EXPECT_FALSE(read_opaque_unit(unknown, 1, 0, item).has_value());
    ByteVector full_but_empty = raw;
    full_but_empty[8] = std::byte{0};
    EXPECT_FALSE(read_opaque_unit(full_but_empty, 1, 0, item).has_value());
    const ByteVector empty = encode_opaque_tile(1, 0, next, next);
    EXPECT_TRUE(read_opaque_unit(empty, 1, 0, item).has_value());
    EXPECT_FALSE(read_opaque_unit(empty, 1, 0, item_of("t", 100, false)).has_value());
}

TEST(Opaque, TableComesBackAndEveryCutAndDisorderIsRefused) {
    std::vector<OpaqueItem> items{item_of("a", 5, true), item_of("b", 0, false)};
    items.push_back(item_of("a", 9, false));
    items.back().kind = OpaqueKind::file;
    items.back().hash = sha256({});
    items[0].changed_elements = 3;
    items[0].payload_bytes = 18;
    const ByteVector bytes = serialize_opaque(items);
    const auto parsed = parse_opaque(bytes);
    ASSERT_TRUE(parsed.has_value()) << parsed.error().what;
    EXPECT_EQ(parsed.value(), items);
    for (std::size_t cut = 0; cut < bytes.size(); ++cut)
        EXPECT_FALSE(parse_opaque(ByteSpan(bytes).first(cut)).has_value()) << cut;

    std::swap(items[0], items[1]);
    EXPECT_FALSE(parse_opaque(serialize_opaque(items)).has_value());
    items[0] = items[1];
    EXPECT_FALSE(parse_opaque(serialize_opaque(items)).has_value());  // one name twice
    items.resize(1);
    items[0].bytes = std::uint64_t{1} << 48;
    EXPECT_FALSE(parse_opaque(serialize_opaque(items)).has_value());

    ByteWriter huge;  // a count that only its own word supports
    huge.write_text("refit.opaque/1");
    huge.write(std::uint32_t{1} << 20);
    EXPECT_FALSE(parse_opaque(huge.bytes()).has_value());
}

}  // namespace
}  // namespace refit
