// What must hold for the catalog: one order, one address per word, one binary form, and limits
// that hold for hostile input.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/coords/catalog.hpp"
#include "tests/support/random_catalog.hpp"

namespace refit {
namespace {

constexpr std::uint64_t kHalf = std::uint64_t{1} << 47;

Catalog make_catalog(std::vector<TensorSpec> specs) {
    auto catalog = Catalog::make(std::move(specs));
    REFIT_ASSERT(catalog.has_value());
    return std::move(catalog).value();
}

Result<Catalog> one_tensor(std::string name, std::vector<std::uint64_t> shape) {
    std::vector<TensorSpec> specs;
    specs.push_back({std::move(name), WordType::bf16, std::move(shape)});
    return Catalog::make(std::move(specs));
}

void expect_refused(const Result<Catalog>& result, const std::string& part) {
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::invalid_input);
    EXPECT_NE(result.error().what.find(part), std::string::npos) << result.error().what;
}

TEST(Catalog, OrdersByNameByteWiseAndNumbersEveryWord) {
    const std::vector<std::string> sorted = {"B", "a", "a.10", "a.2", "a.b", "\xC3\xA9"};
    std::vector<TensorSpec> specs;
    for (const std::size_t i : {3u, 5u, 0u, 4u, 1u, 2u})
        specs.push_back({sorted[i], WordType::bf16, {i + 1, 2}});
    const Catalog catalog = make_catalog(specs);

    ASSERT_EQ(catalog.tensors().size(), 6u);
    std::uint64_t word = 0;
    for (std::uint32_t i = 0; i < 6; ++i) {
        EXPECT_EQ(catalog.tensor(i).name, sorted[i]);
        EXPECT_EQ(catalog.tensor(i).first_word, word);
        EXPECT_EQ(catalog.tensor(i).words, 2 * (i + 1));
        word += catalog.tensor(i).words;
    }
    EXPECT_EQ(catalog.words(), Words{word});
    EXPECT_EQ(word, 42u);

    std::ranges::reverse(specs);
    EXPECT_EQ(make_catalog(specs).id(), catalog.id());
}

TEST(Catalog, SeesEveryShapeAsRowsAndColumns) {
    struct Case {
        std::vector<std::uint64_t> shape;
        std::uint64_t rows, columns;
    };
    for (const Case& c : {Case{{}, 1, 1}, Case{{7}, 1, 7}, Case{{0}, 1, 0}, Case{{3, 5}, 3, 5},
                          Case{{2, 3, 5}, 6, 5}, Case{{3, 0, 5}, 0, 5}, Case{{0, 4}, 0, 4},
                          Case{{4, 0}, 4, 0}, Case{{2, 1, 2, 1, 2, 1, 2, 3}, 16, 3}}) {
        const auto catalog = one_tensor("t", c.shape);
        ASSERT_TRUE(catalog.has_value());
        const Tensor& tensor = catalog.value().tensor(0);
        EXPECT_EQ(tensor.rows, c.rows);
        EXPECT_EQ(tensor.columns, c.columns);
        EXPECT_EQ(tensor.words, c.rows * c.columns);
        EXPECT_EQ(tensor.shape, c.shape);
    }
}

TEST(Catalog, HoldsExactlyLessThanTwoToThe48Words) {
    EXPECT_TRUE(one_tensor("t", {2 * kHalf - 1}).has_value());
    expect_refused(one_tensor("t", {2 * kHalf}), "2^48");
    expect_refused(one_tensor("t", {kHalf, 2}), "2^48");
    expect_refused(one_tensor("t", {kHalf, kHalf}), "2^48");            // 2^94
    expect_refused(one_tensor("t", {1ull << 32, 1ull << 32}), "2^48");  // 0 mod 2^64
    expect_refused(one_tensor("t", {~0ull, ~0ull}), "2^48");
    expect_refused(one_tensor("t", {kHalf, 2, 0}), "2^48");
    expect_refused(one_tensor("t", {0, 2 * kHalf}), "2^48");
    EXPECT_TRUE(one_tensor("t", {0, kHalf, kHalf}).has_value());  // 0 words, 0 rows

    std::vector<TensorSpec> specs;
    specs.push_back({"a", WordType::bf16, {kHalf}});
    specs.push_back({"b", WordType::bf16, {kHalf - 1}});
    EXPECT_TRUE(Catalog::make(specs).has_value());
    specs[1].shape[0] += 1;
    expect_refused(Catalog::make(specs), "in all");
}

TEST(Catalog, RefusesBadNamesRanksTypesAndDuplicates) {
    expect_refused(one_tensor("", {1}), "0 bytes");
    EXPECT_TRUE(one_tensor(std::string(512, 'n'), {1}).has_value());
    expect_refused(one_tensor(std::string(513, 'n'), {1}), "513 bytes");
    EXPECT_TRUE(one_tensor("t", std::vector<std::uint64_t>(8, 1)).has_value());
    expect_refused(one_tensor("t", std::vector<std::uint64_t>(9, 1)), "9 dimensions");
    std::vector<TensorSpec> specs(2, TensorSpec{"twi\nce", WordType::bf16, {1}});
    expect_refused(Catalog::make(specs), "'twi\\x0ace' appears twice");
    specs.pop_back();
    specs[0].type = static_cast<WordType>(3);
    expect_refused(Catalog::make(specs), "16-bit type");
}

TEST(Catalog, RefusesMoreThanAMillionTensors) {
    std::vector<TensorSpec> specs((1u << 20) + 1);
    expect_refused(Catalog::make(std::move(specs)), "1048577 tensors");
}

TEST(Catalog, FindsEveryTensorAndNothingElse) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        const Catalog catalog = random_catalog(seed);
        for (std::uint32_t i = 0; i < catalog.tensors().size(); ++i) {
            const std::string& name = catalog.tensor(i).name;
            EXPECT_EQ(catalog.find(name), i);
            EXPECT_EQ(catalog.find(name + "x"), std::nullopt);
            EXPECT_EQ(catalog.find(name.substr(1)), std::nullopt);
        }
        EXPECT_EQ(catalog.find(""), std::nullopt);
    }
    EXPECT_EQ(make_catalog({}).find("a"), std::nullopt);
}

TEST(Catalog, HasTheBytesAndTheIdOfItsDescription) {
    // Written by hand from the header's description; the id is `sha256sum` of these bytes.
    const std::string bytes(
        "\x0F\0\0\0refit.catalog/1"
        "\x02\0\0\0"
        "\x01\0\0\0"
        "a"
        "\x01\x02"
        "\x02\0\0\0\0\0\0\0"
        "\x03\0\0\0\0\0\0\0"
        "\x02\0\0\0"
        "bc"
        "\x02\0",
        54);
    const Catalog catalog =
        make_catalog({{"bc", WordType::f16, {}}, {"a", WordType::bf16, {2, 3}}});
    EXPECT_EQ(as_text(catalog.serialize()), bytes);
    EXPECT_EQ(to_hex(catalog.id()),
              "c5850b89c08f48008dff84d5ae893272af9b111bcf0c079f813def06553e9a70");
}

TEST(Catalog, IdDependsOnNamesTypesAndShapes) {
    const TensorSpec spec{"a", WordType::bf16, {2, 3}};
    const Hash256 id = make_catalog({spec}).id();
    EXPECT_NE(make_catalog({{"b", spec.type, spec.shape}}).id(), id);
    EXPECT_NE(make_catalog({{"a", WordType::f16, spec.shape}}).id(), id);
    EXPECT_NE(make_catalog({{"a", spec.type, {3, 2}}}).id(), id);
    EXPECT_NE(make_catalog({{"a", spec.type, {6}}}).id(), id);
    EXPECT_NE(make_catalog({}).id(), id);
}

TEST(Catalog, ParsesWhatItSerializes) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        const Catalog catalog = random_catalog(seed);
        const auto read = Catalog::parse(catalog.serialize());
        ASSERT_TRUE(read.has_value());
        EXPECT_EQ(read.value().id(), catalog.id());
        EXPECT_EQ(read.value().words(), catalog.words());
        for (std::uint32_t i = 0; i < catalog.tensors().size(); ++i) {
            EXPECT_EQ(read.value().tensor(i).name, catalog.tensor(i).name);
            EXPECT_EQ(read.value().tensor(i).type, catalog.tensor(i).type);
            EXPECT_EQ(read.value().tensor(i).shape, catalog.tensor(i).shape);
            EXPECT_EQ(read.value().tensor(i).first_word, catalog.tensor(i).first_word);
        }
    }
    EXPECT_TRUE(Catalog::parse(make_catalog({}).serialize()).has_value());
}

TEST(Catalog, ParseRefusesEveryTruncationAndTrailingByte) {
    ByteVector bytes = random_catalog(1).serialize();
    for (std::size_t keep = 0; keep < bytes.size(); ++keep)
        EXPECT_FALSE(Catalog::parse(ByteSpan(bytes).first(keep)).has_value()) << "kept " << keep;
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(Catalog::parse(bytes).has_value());
}

TEST(Catalog, ParseOfAFlippedBitIsRefusedOrAnotherCatalogOfThoseBytes) {
    const Catalog catalog = random_catalog(2);
    const ByteVector good = catalog.serialize();
    std::size_t refused = 0, accepted = 0;
    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
        ByteVector bytes = good;
        bytes[bit / 8] ^= std::byte{1} << (bit % 8);
        const auto read = Catalog::parse(bytes);
        if (!read.has_value()) {
            ++refused;
            continue;
        }
        ++accepted;
        EXPECT_EQ(read.value().serialize(), bytes) << "bit " << bit;
        EXPECT_NE(read.value().id(), catalog.id()) << "bit " << bit;
    }
    EXPECT_GT(refused, 0u);
    EXPECT_GT(accepted, 0u);
}

TEST(Catalog, ParseRefusesAnyOrderButTheCanonicalOne) {
    for (const bool same : {false, true}) {
        ByteWriter writer;
        writer.write_text("refit.catalog/1");
        writer.write(std::uint32_t{2});
        for (const char* name : {"b", same ? "b" : "a"}) {
            writer.write_text(name);
            writer.write(std::uint8_t{1});
            writer.write(std::uint8_t{0});
        }
        const auto read = Catalog::parse(writer.bytes());
        ASSERT_FALSE(read.has_value());
        EXPECT_EQ(read.error().code, ErrorCode::corrupt);
        EXPECT_NE(read.error().what.find("order"), std::string::npos) << read.error().what;
    }
}

TEST(Catalog, ParseBelievesNoCount) {
    for (const std::uint32_t count : {1u, 1u << 20, (1u << 20) + 1, ~0u}) {
        ByteWriter writer;
        writer.write_text("refit.catalog/1");
        writer.write(count);
        writer.write(std::uint32_t{0});
        const auto read = Catalog::parse(writer.bytes());
        ASSERT_FALSE(read.has_value());
        EXPECT_EQ(read.error().code, ErrorCode::corrupt);
    }
}

TEST(TensorClass, ReplacesEveryAllDigitComponent) {
    EXPECT_EQ(tensor_class("model.layers.3.mlp.up_proj.weight"),
              "model.layers.*.mlp.up_proj.weight");
    EXPECT_EQ(tensor_class("model.layers.61.mlp.experts.255.down_proj.weight"),
              "model.layers.*.mlp.experts.*.down_proj.weight");
    EXPECT_EQ(tensor_class("0.a1.1a.22"), "*.a1.1a.*");
    EXPECT_EQ(tensor_class(".5."), ".*.");
    EXPECT_EQ(tensor_class(""), "");
}

TEST(TensorKind, IsTheLastComponentBeforeWeightOrBias) {
    EXPECT_EQ(tensor_kind("model.layers.3.mlp.up_proj.weight"), "up_proj");
    EXPECT_EQ(tensor_kind("model.layers.3.self_attn.q_proj.bias"), "q_proj");
    EXPECT_EQ(tensor_kind("lm_head.weight"), "lm_head");
    EXPECT_EQ(tensor_kind("model.mlp.e_score_correction_bias"), "e_score_correction_bias");
    EXPECT_EQ(tensor_kind("weight"), "weight");
    EXPECT_EQ(tensor_kind("a.weight.bias"), "weight");
    EXPECT_EQ(tensor_kind(""), "");
}

TEST(TinyTransformer, HasTheTensorsAndWordsOfItsSizes) {
    const Catalog catalog = tiny_transformer({.layers = 3, .hidden = 8});
    EXPECT_EQ(catalog.tensors().size(), 3u * 11 + 3);
    // Per layer: q, o 2 * 16 * 8; k, v 2 * 8 * 8; three MLP matrices 3 * 24 * 8; norms 2 * 4 + 2
    // * 8.
    EXPECT_EQ(catalog.words(), Words{3 * (256 + 128 + 576 + 24) + 2 * 40 * 8 + 8});
    EXPECT_TRUE(catalog.find("model.layers.2.self_attn.k_norm.weight").has_value());
}

}  // namespace
}  // namespace refit
