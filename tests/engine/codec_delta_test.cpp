// Units and parts: grouped as stated, refused on another base, resumable to the same bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <tuple>

#include "tests/engine/codec_fixture.hpp"

namespace refit {
namespace {

using test::DeltaOptions;
using test::Sample;
using test::WordVector;

struct Decoder {
    const Sample& sample;
    std::unique_ptr<Device> device = make_cpu_device(1);
    Grid grid{sample.catalog};
    int reads = 0;

    Result<DecodedUnit> operator()(std::string_view codec,
                                   UnitRange range,
                                   ByteSpan bytes,
                                   const WordVector& base) {
        const MemoryWeights weights(sample.catalog, base);
        const UnitDecoder decoder(*device, *find_codec(codec).value(),
                                  DeltaContext{sample.catalog, grid, test::kSalt});
        const BaseReader read_base = [&](std::uint32_t tile, std::vector<std::uint16_t>& copy) {
            ++reads;
            copy.resize(grid.tile(tile).words);
            weights.read_tile(grid.tile(tile), copy);
            return std::span<const std::uint16_t>(copy);
        };
        DecodedUnit unit;
        REFIT_CHECK(decoder.decode(range, bytes, read_base, unit));
        return unit;
    }
};

DeltaOptions options_for(const Codec& codec) {
    DeltaOptions options;
    options.codec = codec.name();
    return options;
}

TEST(Units, AreTheLongestRunsOfWholeTilesThatFit) {
    const Catalog catalog = test::make_catalog({{"a", WordType::bf16, {100}},
                                                {"b", WordType::bf16, {60}},
                                                {"c", WordType::bf16, {41}},
                                                {"d", WordType::bf16, {300}},
                                                {"e", WordType::bf16, {5}}});
    const auto sizes = [&](std::uint64_t unit_words) {
        std::vector<std::uint32_t> counts;
        std::uint32_t next = 0;
        for (const UnitRange unit : make_units(Grid(catalog), unit_words)) {
            EXPECT_EQ(unit.first_tile, next);
            next += unit.tile_count;
            counts.push_back(unit.tile_count);
        }
        EXPECT_EQ(next, 5u);
        return counts;
    };
    EXPECT_EQ(sizes(1), (std::vector<std::uint32_t>{1, 1, 1, 1, 1}));
    EXPECT_EQ(sizes(160), (std::vector<std::uint32_t>{2, 1, 1, 1}));
    EXPECT_EQ(sizes(201), (std::vector<std::uint32_t>{3, 1, 1}));
    EXPECT_EQ(sizes(506), (std::vector<std::uint32_t>{5}));
    EXPECT_TRUE(make_units(Grid(test::make_catalog({})), 10).empty());
}

TEST(Unit, DecodesToTheNextWordsAndSaysHowLongItWas) {
    const Sample sample = test::small_sample();
    Decoder decode{sample};
    for (const auto& codec : builtin_codecs()) {
        const auto units = test::encode_units(*decode.device, sample, options_for(*codec));
        ASSERT_EQ(units.size(), 2u);
        ByteVector bytes = units[0].bytes;
        bytes.insert(bytes.end(), units[1].bytes.begin(), units[1].bytes.end());
        const auto unit = decode(codec->name(), {0, 2}, bytes, sample.base);
        ASSERT_TRUE(unit.has_value()) << unit.error().what;
        EXPECT_EQ(unit.value().bytes, units[0].bytes.size());
        EXPECT_EQ(unit.value().tiles[1].changes.changed(), 0u);
        EXPECT_EQ(unit.value().tiles[0].changes.changed(), units[0].changed_words);
        EXPECT_EQ(unit.value().tiles[0].next_digest, units[0].next_digests[0]);
    }
}

TEST(Unit, RefusesAnotherBaseBeforeItDecodesAnything) {
    const Sample sample = test::small_sample();
    Decoder decode{sample};
    for (const auto& codec : builtin_codecs()) {
        const auto unit = test::encode_units(*decode.device, sample, options_for(*codec))[0];
        ByteVector damaged = unit.bytes;  // a body that cannot decode: the base must speak first
        damaged.back() ^= std::byte{0xFF};
        for (const std::size_t word : {0u, 119u, 120u, 159u}) {
            WordVector base = sample.base;
            base[word] ^= 0x8000u;
            const auto decoded = decode(codec->name(), {0, 2}, damaged, base);
            ASSERT_FALSE(decoded.has_value());
            EXPECT_EQ(decoded.error().code, ErrorCode::wrong_base) << decoded.error().what;
        }
    }
}

TEST(Unit, ReadsNoBaseForAHeaderThatCannotBe) {
    const Sample sample = test::small_sample();
    Decoder decode{sample};
    const auto unit = test::encode_units(*decode.device, sample, DeltaOptions{})[0];
    EXPECT_FALSE(decode("gap-xor-zstd", {1, 2}, unit.bytes, sample.base).has_value());
    EXPECT_FALSE(decode("gap-xor-zstd", {0, 1}, unit.bytes, sample.base).has_value());
    ByteVector bytes = unit.bytes;
    bytes[8] = std::byte{3};  // the first tile's mode
    EXPECT_FALSE(decode("gap-xor-zstd", {0, 2}, bytes, sample.base).has_value());
    EXPECT_EQ(decode.reads, 0);
}

TEST(Unit, EveryTruncationAndBitFlipIsRefusedOrExact) {
    const Sample sample = test::small_sample();
    Decoder decode{sample};
    for (const auto& codec : builtin_codecs()) {
        SCOPED_TRACE(codec->name());
        const auto unit = test::encode_units(*decode.device, sample, options_for(*codec))[0];
        const auto exact = decode(codec->name(), {0, 2}, unit.bytes, sample.base);
        ASSERT_TRUE(exact.has_value());
        for (std::size_t keep = 0; keep < unit.bytes.size(); ++keep) {
            EXPECT_FALSE(
                decode(codec->name(), {0, 2}, ByteSpan(unit.bytes).first(keep), sample.base)
                    .has_value());
        }
        for (std::size_t bit = 0; bit < 8 * unit.bytes.size(); ++bit) {
            ByteVector damaged = unit.bytes;
            damaged[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
            const auto decoded = decode(codec->name(), {0, 2}, damaged, sample.base);
            if (!decoded.has_value()) continue;
            for (std::size_t i = 0; i < 2; ++i) {
                ASSERT_EQ(decoded.value().tiles[i].changes, exact.value().tiles[i].changes)
                    << "bit " << bit;
            }
        }
    }
}

TEST(Unit, AnchorDecodesAgainstNothing) {
    Sample sample = test::small_sample();
    sample.base.assign(sample.base.size(), 0);
    Decoder decode{sample};
    const auto unit = test::encode_units(*decode.device, sample, DeltaOptions{})[0];
    EXPECT_EQ(unit.base_digests, (std::vector<std::uint64_t>{0, 0}));
    EXPECT_TRUE(decode("gap-xor-zstd", {0, 2}, unit.bytes, {}).has_value());
}

/// Weights that never let their words be viewed, and count what they are asked for.
class CopiedWeights final : public Weights {
public:
    explicit CopiedWeights(const Weights& from) : from_(from) {}
    void read(std::uint32_t tensor,
              std::uint64_t first,
              std::span<std::uint16_t> out) const override {
        if (++reads == throw_at) throw MachineError("the disk is gone");
        from_.read(tensor, first, out);
    }
    mutable std::atomic<int> reads = 0;
    int throw_at = -1;

private:
    const Weights& from_;
};

/// A catalog with tiles of one piece and of several.
struct Batch {
    Catalog catalog = test::make_catalog({{"embed", WordType::bf16, {700, 131}},
                                          {"layers.0.norm", WordType::bf16, {257}},
                                          {"layers.1.norm", WordType::bf16, {257}},
                                          {"layers.0.up", WordType::bf16, {33, 129}},
                                          {"layers.1.up", WordType::bf16, {33, 129}},
                                          {"layers.2.up", WordType::f16, {33, 129}},
                                          {"wide", WordType::bf16, {2, 530'000}}});
    Grid grid{catalog};
    DeltaContext context{catalog, grid, test::kSalt};
    WordVector base_words;
    WordVector next_words;

    explicit Batch(std::uint64_t seed) {
        Rng rng(seed, 5);
        std::tie(base_words, next_words) = test::random_words(rng, catalog.words().count, 20'000);
        // One tensor unchanged, one changed all over.
        const Tensor& same = catalog.tensor(*catalog.find("layers.0.up"));
        std::copy_n(base_words.begin() + static_cast<std::ptrdiff_t>(same.first_word), same.words,
                    next_words.begin() + static_cast<std::ptrdiff_t>(same.first_word));
        const Tensor& all = catalog.tensor(*catalog.find("layers.2.up"));
        for (std::uint64_t i = all.first_word; i < all.first_word + all.words; ++i)
            next_words[i] = static_cast<std::uint16_t>(base_words[i] ^ 5u);
    }
};

void expect_same(const EncodedUnit& a, const EncodedUnit& b, const std::string& what) {
    EXPECT_EQ(a.bytes, b.bytes) << what;
    EXPECT_EQ(a.changed_words, b.changed_words) << what;
    EXPECT_EQ(a.changed, b.changed) << what;
    EXPECT_EQ(a.base_digests, b.base_digests) << what;
    EXPECT_EQ(a.next_digests, b.next_digests) << what;
}

TEST(EncodeUnits, GivesTheBytesOfUnitsOneByOneForEveryCodecAndLaneCount) {
    const Batch batch(7);
    const MemoryWeights base(batch.catalog, batch.base_words);
    const MemoryWeights next(batch.catalog, batch.next_words);
    const CopiedWeights copied(base);
    const auto units = make_units(batch.grid, 20'000);
    ASSERT_GE(units.size(), 5u);
    const auto plain = make_cpu_device(1, "scalar");
    for (const auto& codec : builtin_codecs()) {
        std::vector<EncodedUnit> single;
        for (const UnitRange range : units)
            single.push_back(encode_unit(*plain, *codec, batch.context, range, base, next));
        for (const unsigned lanes : {1u, 2u, 5u}) {
            const auto device = make_cpu_device(lanes);
            const std::string what =
                std::string(codec->name()) + ", " + std::to_string(lanes) + " lanes";
            const auto encoded = encode_units(*device, *codec, batch.context, units, base, next);
            ASSERT_EQ(encoded.size(), units.size());
            for (std::size_t u = 0; u < units.size(); ++u) expect_same(encoded[u], single[u], what);
            UnitEncoder encoder(*device, *codec, batch.context);
            std::vector<EncodedUnit> part;                // used again, with whatever is in it
            for (std::size_t u = 0; u < units.size();) {  // batches of 1, 2, 3, ... over again
                const std::size_t count = std::min(1 + u % 3, units.size() - u);
                const auto some = std::span(units).subspan(u, count);
                encoder.encode(some, copied, next, part);
                ASSERT_EQ(part.size(), count);
                for (std::size_t k = 0; k < count; ++k) expect_same(part[k], single[u + k], what);
                u += count;
            }
        }
    }
    EXPECT_GT(copied.reads, 0);
}

TEST(EncodeUnits, OfNoUnitsIsNothing) {
    const Batch batch(8);
    const MemoryWeights nothing(batch.catalog, {});
    const auto device = make_cpu_device(2);
    const Codec& codec = *find_codec("full").value();
    EXPECT_TRUE(encode_units(*device, codec, batch.context, {}, nothing, nothing).empty());
}

TEST(UnitEncoder, ThrowsWhatReadingThrowsAndGoesOnAfterwards) {
    const Batch batch(9);
    const MemoryWeights base(batch.catalog, batch.base_words);
    const MemoryWeights next(batch.catalog, batch.next_words);
    const auto units = make_units(batch.grid, 20'000);
    const Codec& codec = *find_codec("index-value").value();
    const auto device = make_cpu_device(3);
    const auto expected = encode_units(*device, codec, batch.context, units, base, next);
    UnitEncoder encoder(*device, codec, batch.context);
    for (const int at : {1, 2, 4}) {
        CopiedWeights failing(next);
        failing.throw_at = at;
        EXPECT_THROW(encoder.encode(units, base, failing), MachineError);
        const auto encoded = encoder.encode(units, base, next);
        for (std::size_t u = 0; u < units.size(); ++u)
            expect_same(encoded[u], expected[u], "after an error");
    }
}

TEST(UnitEncoder, CountsTimeByStage) {
    const Batch batch(10);
    const MemoryWeights base(batch.catalog, batch.base_words);
    const auto units = make_units(batch.grid, 20'000);
    const auto tiles = static_cast<std::int64_t>(batch.grid.tiles().size());
    const Codec& codec = *find_codec("xor-zstd").value();
    const auto device = make_cpu_device(1);
    std::int64_t ticks = 0;
    // The clock ticks once a call, and each stage of a tile or unit lies between two calls.
    UnitEncoder encoder(*device, codec, batch.context, [&] { return Nanoseconds{++ticks}; });
    EXPECT_EQ(encoder.times().read, Nanoseconds{0});
    for (std::int64_t batches = 1; batches <= 2; ++batches) {
        encoder.encode(units, base, base);
        EXPECT_EQ(encoder.times().read, Nanoseconds{batches * tiles});
        EXPECT_EQ(encoder.times().scan, Nanoseconds{batches * tiles});
        EXPECT_EQ(encoder.times().code,
                  Nanoseconds{batches * static_cast<std::int64_t>(units.size())});
    }
    UnitEncoder without(*device, codec, batch.context);
    without.encode(units, base, base);
    EXPECT_EQ(without.times().scan, Nanoseconds{0});
}

TEST(MemoryWeights, LetsWholeTilesBeViewedWhereTheyLie) {
    const Batch batch(11);
    const MemoryWeights weights(batch.catalog, batch.base_words);
    const MemoryWeights zero(batch.catalog, {});
    int viewed = 0;
    for (const Tile& tile : batch.grid.tiles()) {
        WordVector words(tile.words);
        weights.read_tile(tile, words);
        const auto view = weights.view_tile(tile);
        EXPECT_EQ(view.empty(), tile.pieces.size() > 1);
        if (!view.empty()) {
            EXPECT_TRUE(std::ranges::equal(view, words));
            ++viewed;
        }
        EXPECT_TRUE(zero.view_tile(tile).empty());
    }
    EXPECT_GE(viewed, 3);
}

OpenRecord plain_open(std::uint32_t chunk_bytes) {
    OpenRecord open;
    open.codec = "full";
    open.unit_words = 1;
    open.chunk_bytes = chunk_bytes;
    return open;
}

TEST(PartBuilder, ClosesAtTheFirstUnitWithEnoughBytesOrAtTheEnd) {
    PartBuilder builder(plain_open(10), 3);
    EXPECT_FALSE(builder.add(ByteVector(29)).has_value());
    const auto first = builder.add(ByteVector(1));
    ASSERT_TRUE(first.has_value());
    EXPECT_EQ(first->payload.size(), 30u);
    EXPECT_EQ(first->record.chunks.size(), 3u);
    const auto second = builder.add(ByteVector(47, std::byte{9}));
    ASSERT_TRUE(second.has_value());
    EXPECT_EQ(second->record.first_unit, 2u);
    EXPECT_EQ(second->record.first_chunk, 3u);
    EXPECT_EQ(second->record.chunks.back().bytes, 7u);
    EXPECT_EQ(second->chunk(4, 10).size(), 7u);
    EXPECT_EQ(second->record.chunks[4].hash, sha256(ByteVector(7, std::byte{9})));
    EXPECT_EQ(second->record.payload, sha256(second->payload));
    EXPECT_FALSE(builder.flush().has_value());
    EXPECT_FALSE(builder.add(ByteVector(1)).has_value());
    const auto last = builder.flush();
    ASSERT_TRUE(last.has_value());
    EXPECT_EQ(last->record.unit_count, 1u);
    EXPECT_EQ(last->record.first_unit, 3u);
    for (std::size_t i = 0; i < 3; ++i) {
        const std::vector<PartRecord> before(
            builder.parts().begin(), builder.parts().begin() + static_cast<std::ptrdiff_t>(i));
        EXPECT_TRUE(check_part(builder.open(), before, builder.parts()[i]).has_value());
    }
}

TEST(PartBuilder, ResumesAfterAnyDurablePartToTheSameLog) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Rng rng(seed, 2);
        std::vector<ByteVector> units;
        for (int i = 0; i < 30; ++i)
            units.emplace_back(1 + rng.below(40), static_cast<std::byte>(rng.next()));
        const auto finish = [&](PartBuilder builder) {
            while (builder.next_unit() < units.size()) builder.add(units[builder.next_unit()]);
            builder.flush();
            return builder.parts();
        };
        const auto whole = finish(PartBuilder(plain_open(7), 4));
        for (std::size_t durable = 0; durable <= whole.size(); ++durable) {
            const std::vector<PartRecord> kept(
                whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(durable));
            EXPECT_EQ(finish(PartBuilder(plain_open(7), 4, kept)), whole);
        }
    }
}

TEST(PartBuilder, SizesThatCouldPassTheChunkLimitAreRefusedBeforehand) {
    EXPECT_TRUE(check_part_size(std::uint64_t{16} << 20, 1024, 64).has_value());
    EXPECT_TRUE(check_part_size(kUnitWordsMax, 8 << 20, 64).has_value());
    EXPECT_FALSE(check_part_size(kUnitWordsMax, 1024, 64).has_value());
    EXPECT_FALSE(check_part_size(1, 1, 1).has_value());
    EXPECT_FALSE(check_part_size(1024, 1024, kChunksPerPartMax).has_value());
    EXPECT_FALSE(check_part_size(0, 1024, 64).has_value());
    EXPECT_FALSE(check_part_size(1024, 0, 64).has_value());
    EXPECT_FALSE(check_part_size(1024, 1024, 0).has_value());
}

}  // namespace
}  // namespace refit
