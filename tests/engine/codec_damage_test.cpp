// A damaged delta is refused or decodes to exactly the next words: every truncation, every flip of
// one bit, of a reference delta of every codec.
//
// Method     The file as it lies on a disk, where hashes see the damage; then the units behind all
//            hashes, as a hostile sender could hash them anew, where only the checks of the
//            decoder and the digests are left.
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>

#include "tests/engine/codec_fixture.hpp"

namespace refit {
namespace {

using test::Sample;
using test::WordVector;

/// Tiles of every kind: sparse, unchanged, wholly changed, one change only, and a crowd of small
/// tensors in one tile.
Sample reference_sample() {
    Rng rng(44, 0);
    Sample sample{test::make_catalog({{"a.weight", WordType::bf16, {30, 32}},
                                      {"b.weight", WordType::bf16, {90}},
                                      {"c.weight", WordType::f16, {9, 10}},
                                      {"d.weight", WordType::bf16, {130}},
                                      {"layers.0.bias", WordType::bf16, {40}},
                                      {"layers.1.bias", WordType::bf16, {50}},
                                      {"z.weight", WordType::bf16, {400}}}),
                  {},
                  {}};
    const std::pair<std::size_t, std::uint64_t> parts[] = {
        {960, 60'000}, {90, 0}, {90, 1'000'000}, {130, 0}, {90, 100'000}, {400, 300'000}};
    for (const auto& [words, per_million] : parts) {
        const auto [base, next] = test::random_words(rng, words, per_million);
        sample.base.insert(sample.base.end(), base.begin(), base.end());
        sample.next.insert(sample.next.end(), next.begin(), next.end());
    }
    sample.next[1200] ^= 0x8000;  // a word of d.weight: its sign alone
    return sample;
}

test::DeltaOptions reference_options(const Codec& codec) {
    test::DeltaOptions options;
    options.codec = codec.name();
    options.unit_words = 400;
    options.chunk_bytes = 128;
    options.chunks_per_part = 3;
    const ByteSpan stored = as_byte_span("a");
    const std::string header(300, ' ');
    const ByteSpan packed = as_byte_span(header);
    options.attachments = {{"config.json", {stored.begin(), stored.end()}},
                           {"header", {packed.begin(), packed.end()}}};
    return options;
}

struct Verdicts {
    std::size_t refused = 0;
    std::size_t exact = 0;
    std::size_t wrong = 0;
};

using Decode = std::function<Result<WordVector>(ByteSpan)>;

/// Every prefix and every flip of one bit through `decode`, which must give `next` or an error.
Verdicts damage(ByteVector bytes, const WordVector& next, const Decode& decode) {
    Verdicts verdicts;
    const auto judge = [&](ByteSpan damaged) {
        const auto result = decode(damaged);
        if (!result.has_value()) {
            ++verdicts.refused;
        } else if (result.value() == next) {
            ++verdicts.exact;
        } else {
            ++verdicts.wrong;
        }
    };
    for (std::size_t keep = 0; keep < bytes.size(); ++keep) judge(ByteSpan(bytes).first(keep));
    EXPECT_EQ(verdicts.refused, bytes.size()) << "a prefix was taken for the whole";
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        const auto flip = static_cast<std::byte>(1u << (bit % 8));
        bytes[bit / 8] ^= flip;
        judge(bytes);
        bytes[bit / 8] ^= flip;
    }
    EXPECT_EQ(verdicts.wrong, 0u);
    EXPECT_EQ(verdicts.refused + verdicts.exact, 9 * bytes.size());
    return verdicts;
}

TEST(Damage, EveryTruncationAndBitFlipOfAFileIsRefusedOrExact) {
    const auto device = make_cpu_device(1);
    const Sample sample = reference_sample();
    for (const auto& codec : builtin_codecs()) {
        SCOPED_TRACE(codec->name());
        const ByteVector file = test::encode_rfd(*device, sample, reference_options(*codec));
        EXPECT_GE(file.size(), 1u << 10);
        EXPECT_LE(file.size(), 8u << 10);
        const Decode decode = [&](ByteSpan bytes) -> Result<WordVector> {
            REFIT_TRY(reader, RfdReader::parse({bytes.begin(), bytes.end()}));
            return test::decode_rfd(*device, reader, sample.base);
        };
        const auto whole = decode(file);
        ASSERT_TRUE(whole.has_value()) << whole.error().what;
        ASSERT_EQ(whole.value(), sample.next);
        const auto reader = RfdReader::parse(file);
        EXPECT_GE(reader.value().manifest().parts.size(), 2u);
        EXPECT_EQ(reader.value().attachments().size(), 2u);
        const Verdicts verdicts = damage(file, sample.next, decode);
        std::printf("%-12s file of %zu bytes: %zu refused, %zu exact\n",
                    std::string(codec->name()).c_str(), file.size(), verdicts.refused,
                    verdicts.exact);
    }
}

TEST(Damage, EveryTruncationAndBitFlipBehindTheHashesIsRefusedOrExact) {
    const auto device = make_cpu_device(1);
    const Sample sample = reference_sample();
    const Grid grid(sample.catalog);
    const DeltaContext context{sample.catalog, grid, test::kSalt};
    const MemoryWeights weights(sample.catalog, sample.base);
    for (const auto& codec : builtin_codecs()) {
        SCOPED_TRACE(codec->name());
        const test::DeltaOptions options = reference_options(*codec);
        const std::vector<UnitRange> units = make_units(grid, options.unit_words);
        EXPECT_GE(units.size(), 3u);
        ByteVector payload;
        for (const EncodedUnit& unit : test::encode_units(*device, sample, options))
            payload.insert(payload.end(), unit.bytes.begin(), unit.bytes.end());
        const Decode decode = [&](ByteSpan bytes) -> Result<WordVector> {
            WordVector next = sample.base;
            REFIT_CHECK(
                test::decode_payload(*device, context, *codec, units, bytes, {&weights, &next}));
            return next;
        };
        const auto whole = decode(payload);
        ASSERT_TRUE(whole.has_value()) << whole.error().what;
        ASSERT_EQ(whole.value(), sample.next);
        const Verdicts verdicts = damage(payload, sample.next, decode);
        std::printf("%-12s units of %zu bytes: %zu refused, %zu exact\n",
                    std::string(codec->name()).c_str(), payload.size(), verdicts.refused,
                    verdicts.exact);
    }
}

}  // namespace
}  // namespace refit
