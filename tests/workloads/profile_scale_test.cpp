// Profiles on models of 30e9 and 1e12 words: each rate is hit over the whole model, and scales
// follow kind and depth. Rates are counted on a sample in which every class of tensors has its
// part.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

#include "engine/base/rng.hpp"
#include "tests/workloads/architecture_fixture.hpp"
#include "workloads/profile.hpp"

namespace refit {
namespace {

using test::catalog_of;
using test::shipped;

constexpr std::uint64_t kRows = 80;  // whole rounds of ten, and of sixteen, rows
constexpr std::uint64_t kColumns = 512;

/// Changed share of a block of rows that holds a given word.
double rate_of_block(const FieldTensor& field, const Tensor& tensor, std::uint64_t word) {
    const std::uint64_t first_row = word / tensor.columns / kRows * kRows;
    const std::uint64_t rows = std::min(kRows, tensor.rows - first_row);
    const std::uint64_t first_column = word % tensor.columns / kColumns * kColumns;
    const std::uint64_t columns = std::min(kColumns, tensor.columns - first_column);
    std::vector<std::uint16_t> base(columns);
    std::vector<std::uint16_t> next(columns);
    std::uint64_t changed = 0;
    for (std::uint64_t row = first_row; row < first_row + rows; ++row) {
        fill_words(field_levels().front().fill, field, row * tensor.columns + first_column, {},
                   base, next);
        for (std::uint64_t i = 0; i < columns; ++i) changed += base[i] != next[i] ? 1 : 0;
    }
    return static_cast<double>(changed) / static_cast<double>(rows * columns);
}

/// Blocks at equal distances along the words of all tensors that change, those of one class next to
/// one another.
double sampled_rate(const Catalog& catalog,
                    const std::vector<FieldTensor>& fields,
                    std::uint64_t blocks,
                    std::uint64_t seed) {
    std::vector<std::uint32_t> order;
    std::uint64_t words = 0;
    for (std::uint32_t id = 0; id < fields.size(); ++id) {
        if (fields[id].law == FieldLaw::still) continue;
        order.push_back(id);
        words += catalog.tensor(id).words;
    }
    const auto class_of = [&](std::uint32_t id) {
        const FieldTensor& f = fields[id];
        return std::tuple(f.around_one, f.row_spread, f.sigma, f.column_levels, id);
    };
    std::ranges::sort(order, {}, class_of);
    double sum = 0;
    std::size_t at = 0;
    std::uint64_t before = 0;  // words of the tensors left of order[at]
    for (std::uint64_t b = 0; b < blocks; ++b) {
        const std::uint64_t stride = words / blocks;
        const std::uint64_t place = b * stride + draw(seed, 1, b) % stride;
        while (before + catalog.tensor(order[at]).words <= place)
            before += catalog.tensor(order[at++]).words;
        sum += rate_of_block(fields[order[at]], catalog.tensor(order[at]), place - before);
    }
    return sum / static_cast<double>(blocks) * static_cast<double>(words) /
           static_cast<double>(catalog.words().count);
}

TEST(ProfilesAtScale, EveryRateIsHitOverTheWholeModel) {
    for (const char* model : {"qwen3-30b-a3b", "kimi-k2-1t", "gpt-oss-120b"}) {
        const Catalog catalog = catalog_of(shipped(model));
        for (const Profile& profile : profiles()) {
            for (const std::uint32_t per_million : {10'000u, 30'000u, 50'000u}) {
                const auto fields = solve_field(catalog, {.profile = profile,
                                                          .changed_per_million = per_million,
                                                          .seed = 17,
                                                          .by_depth = true});
                ASSERT_TRUE(fields.has_value()) << model << " " << fields.error().what;
                // 6 million words and more: at 1 %, 0.4 % is one standard deviation of the draws.
                const double rate = sampled_rate(catalog, fields.value(), 150, 17);
                const double asked = per_million * 1e-6;
                std::printf("%s %s %.4f: x%.4f\n", model, profile.name.data(), asked, rate / asked);
                EXPECT_NEAR(rate, asked, 0.02 * asked) << model << " " << profile.name;
            }
        }
    }
}

TEST(ProfilesAtScale, DeviationsRiseWithDepthAndOnlyWhenAsked) {
    const Catalog catalog = catalog_of(shipped("qwen3-30b-a3b"));
    const FieldSpec spec{.profile = *find_profile("adam")};
    FieldSpec deep = spec;
    deep.by_depth = true;
    const auto flat = solve_field(catalog, spec);
    const auto risen = solve_field(catalog, deep);
    ASSERT_TRUE(flat.has_value() && risen.has_value());
    EXPECT_EQ(flat.value().size(), catalog.tensors().size());
    std::map<bool, double> first;
    std::map<bool, double> last;
    for (std::uint32_t id = 0; id < catalog.tensors().size(); ++id) {
        const Tensor& tensor = catalog.tensor(id);
        const FieldTensor& field = risen.value()[id];
        EXPECT_EQ(field.key, flat.value()[id].key);
        if (tensor.name.find(".layers.") == std::string::npos) {
            EXPECT_EQ(field.sigma, flat.value()[id].sigma) << tensor.name;
        }
        ASSERT_TRUE(field.sigma >= 1 && field.sigma <= 15) << tensor.name;
        for (const bool depth : {false, true}) {
            const double sigma = depth ? field.sigma : flat.value()[id].sigma;
            if (tensor.name.find("layers.0.mlp.experts.") != std::string::npos)
                first[depth] += sigma;
            if (tensor.name.find("layers.47.mlp.experts.") != std::string::npos)
                last[depth] += sigma;
        }
    }
    EXPECT_NEAR(last[false] / first[false], 1, 0.03);
    EXPECT_NEAR(last[true] / first[true], 1.24, 0.04);
}

TEST(ProfilesAtScale, WhatIsAddedIsAroundZero) {
    const Catalog catalog = catalog_of(shipped("gpt-oss-120b"));
    const auto fields = make_field(catalog, *find_profile("adam"), 30'000, 1);
    const auto around_one = [&](const char* name) {
        return fields[catalog.find(name).value()].around_one;
    };
    EXPECT_TRUE(around_one("model.layers.0.input_layernorm.weight"));
    EXPECT_FALSE(around_one("model.layers.0.self_attn.q_proj.bias"));
    EXPECT_FALSE(around_one("model.layers.0.self_attn.sinks"));
    EXPECT_FALSE(around_one("model.layers.0.mlp.experts.down_proj_bias"));
}

}  // namespace
}  // namespace refit
