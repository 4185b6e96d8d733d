// The manifest log: what it says comes back, what disagrees is refused, ids cover everything.
#include <gtest/gtest.h>

#include "tests/engine/codec_fixture.hpp"

namespace refit {
namespace {

Hash256 hash_of(std::string_view text) { return sha256(as_byte_span(text)); }

OpenRecord sample_open() {
    OpenRecord open;
    open.catalog = hash_of("catalog");
    open.grid = hash_of("grid");
    open.codec = "gap-xor-zstd";
    open.salt = 0x0102030405060708;
    open.number = 7;
    open.attempt = 2;
    open.base_version = hash_of("base");
    open.base_delta = hash_of("delta 6");
    open.unit_words = 1 << 20;
    open.chunk_bytes = 10;
    return open;
}

/// Three units of 25, 3 and 40 bytes in parts of at least two chunks of 10.
Manifest sample_manifest() {
    PartBuilder builder(sample_open(), 2);
    for (const std::size_t bytes : {25u, 3u, 40u})
        builder.add(ByteVector(bytes, static_cast<std::byte>(bytes)));
    EXPECT_FALSE(builder.flush().has_value());
    Manifest manifest{builder.open(), builder.parts(), {}};
    manifest.seal = make_seal(manifest.open, manifest.parts, 99, hash_of("next"));
    return manifest;
}

template <class Record>
void expect_only_exact_bytes_parse(const Record& record, const ByteVector& bytes) {
    const auto same = Record::parse(bytes);
    ASSERT_TRUE(same.has_value()) << same.error().what;
    EXPECT_EQ(same.value().serialize(), record.serialize());
    for (std::size_t keep = 0; keep < bytes.size(); ++keep) {
        const auto parsed = Record::parse(ByteSpan(bytes).first(keep));
        ASSERT_FALSE(parsed.has_value()) << "kept " << keep;
        EXPECT_EQ(parsed.error().code, ErrorCode::truncated) << "kept " << keep;
    }
    ByteVector longer = bytes;
    longer.push_back(std::byte{0});
    const auto parsed = Record::parse(longer);
    ASSERT_FALSE(parsed.has_value());
    EXPECT_EQ(parsed.error().code, ErrorCode::corrupt);
}

TEST(Manifest, RecordsComeBackAndEveryTruncationIsRefused) {
    const Manifest manifest = sample_manifest();
    EXPECT_EQ(OpenRecord::parse(manifest.open.serialize()).value(), manifest.open);
    EXPECT_EQ(PartRecord::parse(manifest.parts[1].serialize()).value(), manifest.parts[1]);
    EXPECT_EQ(SealRecord::parse(manifest.seal.serialize()).value(), manifest.seal);
    expect_only_exact_bytes_parse(manifest.open, manifest.open.serialize());
    expect_only_exact_bytes_parse(manifest.parts[1], manifest.parts[1].serialize());
    expect_only_exact_bytes_parse(manifest.seal, manifest.seal.serialize());
    expect_only_exact_bytes_parse(manifest, manifest.serialize());
}

TEST(Manifest, EveryBitFlipIsRefusedOrChangesTheSealedId) {
    const Manifest manifest = sample_manifest();
    const ByteVector bytes = manifest.serialize();
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        ByteVector damaged = bytes;
        damaged[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
        const auto parsed = Manifest::parse(damaged);
        if (parsed.has_value()) {
            ASSERT_NE(parsed.value().sealed_id(), manifest.sealed_id()) << "bit " << bit;
        }
    }
}

TEST(Manifest, OpenRecordsOverALimitAreRefused) {
    const auto refused = [](auto change) {
        OpenRecord open = sample_open();
        change(open);
        const auto parsed = OpenRecord::parse(open.serialize());
        return !parsed.has_value() && parsed.error().code != ErrorCode::invalid_input;
    };
    EXPECT_FALSE(refused([](OpenRecord&) {}));
    EXPECT_FALSE(refused([](OpenRecord& o) { o.codec = std::string(64, 'x'); }));
    EXPECT_TRUE(refused([](OpenRecord& o) { o.codec = std::string(65, 'x'); }));
    EXPECT_TRUE(refused([](OpenRecord& o) { o.codec.clear(); }));
    EXPECT_TRUE(refused([](OpenRecord& o) { o.codec = "../full"; }));
    EXPECT_TRUE(refused([](OpenRecord& o) { o.chunk_bytes = 0; }));
    EXPECT_FALSE(refused([](OpenRecord& o) { o.chunk_bytes = 1 << 30; }));
    EXPECT_TRUE(refused([](OpenRecord& o) { o.chunk_bytes = (1 << 30) + 1; }));
    EXPECT_TRUE(refused([](OpenRecord& o) { o.unit_words = 0; }));
    EXPECT_TRUE(refused([](OpenRecord& o) { o.unit_words = kUnitWordsMax + 1; }));
    EXPECT_TRUE(refused([](OpenRecord& o) { o.base_version = {}; }));
    EXPECT_FALSE(refused([](OpenRecord& o) { o.base_version = o.base_delta = {}; }));
}

TEST(Manifest, PartsThatCannotBeAreRefused) {
    PartRecord part = sample_manifest().parts[0];
    const auto refused = [](PartRecord changed) {
        return !PartRecord::parse(changed.serialize()).has_value();
    };
    EXPECT_FALSE(refused(part));
    PartRecord uneven = part;
    uneven.chunks[1].bytes = 9;
    EXPECT_TRUE(refused(uneven));
    PartRecord empty_chunk = part;
    empty_chunk.chunks.back().bytes = 0;
    EXPECT_TRUE(refused(empty_chunk));
    PartRecord no_units = part;
    no_units.unit_count = 0;
    EXPECT_TRUE(refused(no_units));
    PartRecord overflow = part;
    overflow.first_chunk = 0xFFFF'FFFE;
    EXPECT_TRUE(refused(overflow));

    ByteVector bytes = part.serialize();
    const std::size_t count_at = bytes.size() - 36 * part.chunks.size() - 4;
    for (const std::uint32_t count : {kChunksPerPartMax, kChunksPerPartMax + 1, 0xFFFF'FFFFu}) {
        std::memcpy(bytes.data() + count_at, &count, sizeof(count));
        EXPECT_FALSE(PartRecord::parse(bytes).has_value()) << count;
    }
}

TEST(Manifest, ChainsByHashAndNumbersThrough) {
    const Manifest manifest = sample_manifest();
    ASSERT_EQ(manifest.parts.size(), 2u);
    const std::vector<PartRecord> first{manifest.parts[0]};
    const PartRecord& second = manifest.parts[1];
    EXPECT_TRUE(check_part(manifest.open, first, second).has_value());
    EXPECT_FALSE(check_part(manifest.open, {}, second).has_value());
    const auto refused = [&](auto change) {
        PartRecord part = second;
        change(part);
        return !check_part(manifest.open, first, part).has_value();
    };
    EXPECT_TRUE(refused([](PartRecord& p) { p.index = 2; }));
    EXPECT_TRUE(refused([](PartRecord& p) { p.previous.bytes[31] ^= 1; }));
    EXPECT_TRUE(refused([](PartRecord& p) { ++p.first_unit; }));
    EXPECT_TRUE(refused([](PartRecord& p) { ++p.first_chunk; }));
    EXPECT_TRUE(refused([](PartRecord& p) { p.chunks.back().bytes = 11; }));
    OpenRecord other = manifest.open;
    other.attempt = 3;
    EXPECT_FALSE(check_part(other, {}, manifest.parts[0]).has_value());

    const auto seal_refused = [&](auto change) {
        SealRecord seal = manifest.seal;
        change(seal);
        return !check_seal(manifest.open, manifest.parts, seal).has_value();
    };
    EXPECT_FALSE(seal_refused([](SealRecord&) {}));
    EXPECT_TRUE(seal_refused([](SealRecord& s) { s.previous.bytes[0] ^= 1; }));
    EXPECT_TRUE(seal_refused([](SealRecord& s) { ++s.parts; }));
    EXPECT_TRUE(seal_refused([](SealRecord& s) { ++s.units; }));
    EXPECT_TRUE(seal_refused([](SealRecord& s) { ++s.chunks; }));
    EXPECT_TRUE(seal_refused([](SealRecord& s) { --s.payload_bytes; }));
}

TEST(Manifest, VersionIdIsTheHashOfCatalogSaltAndDigests) {
    const std::vector<std::uint64_t> digests{1, 0xFFEEDDCCBBAA9988};
    ByteWriter writer;
    writer.write(hash_of("catalog").bytes);
    writer.write(std::uint64_t{5});
    writer.write(digests[0]);
    writer.write(digests[1]);
    EXPECT_EQ(version_id(hash_of("catalog"), 5, digests), sha256(writer.bytes()));
}

}  // namespace
}  // namespace refit
