// What must hold for architectures: the totals, counted two ways and as others have published
// them, and the names and shapes of the families' own files.
#include "workloads/architecture.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/workloads/architecture_fixture.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::catalog_of;
using test::shape_of;
using test::shipped;
using test::shipped_folder;

std::vector<std::string> shipped_names() {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(shipped_folder()))
        names.insert(entry.path().stem().string());
    return {names.begin(), names.end()};
}

using Shape = std::vector<std::uint64_t>;

TEST(Architectures, AreTwelveUnderTheirOwnNames) {
    const auto names = shipped_names();
    EXPECT_EQ(names.size(), 12u);
    for (const std::string& name : names) {
        const Architecture architecture = shipped(name);
        EXPECT_EQ(architecture.name, name);
        EXPECT_EQ(architecture.recalled, architecture.source.find("recalled") != std::string::npos);
    }
}

TEST(Architectures, TensorsGiveTheTotalsOfTheFileAndOfTheClosedForm) {
    for (const std::string& name : shipped_names()) {
        const Architecture architecture = shipped(name);
        const ArchitectureTotals sums = totals(architecture);
        const Catalog catalog = catalog_of(architecture);
        EXPECT_EQ(catalog.words().count, sums.all.parameters) << name;
        EXPECT_EQ(catalog.tensors().size(), sums.all.tensors) << name;
        const Catalog whole = catalog_of(architecture, MtpLayers::included);
        EXPECT_EQ(whole.words().count, sums.all.parameters + sums.mtp.parameters) << name;
        EXPECT_EQ(whole.tensors().size(), sums.all.tensors + sums.mtp.tensors) << name;
        PartTotals parts;
        for (const PartTotals& part : sums.parts) {
            parts.parameters += part.parameters;
            parts.active += part.active;
            parts.tensors += part.tensors;
        }
        EXPECT_EQ(parts.parameters, sums.all.parameters) << name;
        EXPECT_EQ(parts.active, sums.all.active) << name;
        EXPECT_EQ(parts.tensors, sums.all.tensors) << name;
    }
}

TEST(Architectures, TotalsAreThoseOfTheReference) {
    std::ifstream file(fs::path(REFIT_SOURCE_DIR) / "../shared/reference/architectures.json");
    if (!file) GTEST_SKIP() << "../shared/reference/architectures.json is not here";
    int compared = 0;
    const json reference = json::parse(file);
    for (const json& row : reference["architectures"]) {
        const std::string name = row["id"];
        const Architecture architecture = shipped(name);
        const ArchitectureTotals sums = totals(architecture);
        const json& computed = row["computed"];
        EXPECT_EQ(sums.all.parameters, computed["params"]) << name;
        EXPECT_EQ(sums.all.active, computed["active_with_embeddings"]) << name;
        EXPECT_EQ(sums.all.tensors, computed["tensors"]) << name;
        EXPECT_EQ(sums.mtp.parameters, computed["params_mtp"]) << name;
        EXPECT_EQ(sums.mtp.tensors, computed["tensors_mtp"]) << name;
        EXPECT_EQ(architecture.experts.has_value(), row["kind"] == "moe") << name;
        EXPECT_EQ(architecture.published_billion, row["published"]["params_b"]) << name;
        EXPECT_EQ(architecture.published_active_billion, row["published"]["active_b"]) << name;
        const double error = static_cast<double>(sums.all.parameters) / 1e9 /
                                 row["published"]["params_b"].get<double>() -
                             1;
        EXPECT_NEAR(error, row["rel_err_vs_published"].get<double>(), 0.00006) << name;
        EXPECT_LT(std::abs(error), 0.007) << name;
        const auto& experts = sums.parts[static_cast<std::size_t>(ModelPart::experts)];
        EXPECT_NEAR(
            static_cast<double>(experts.parameters) / static_cast<double>(sums.all.parameters),
            computed["expert_share"].get<double>(), 0.003)  // there with the shared ones
            << name;
        ++compared;
    }
    EXPECT_EQ(compared, 12);
}

TEST(Architectures, SafetensorsTotalsOfTwoFamiliesAreExact) {
    EXPECT_EQ(totals(shipped("llama-3.3-70b")).all.parameters, 70'553'706'496u);
    EXPECT_EQ(totals(shipped("llama-3.1-405b")).all.parameters, 405'853'388'800u);
    EXPECT_EQ(totals(shipped("kimi-k2-1t")).all.parameters, 1'026'408'232'448u);
}

TEST(Architectures, DenseTensorsHaveTheNamesOfTheirFamily) {
    const Catalog qwen = catalog_of(shipped("qwen3-0.6b"));
    EXPECT_EQ(shape_of(qwen, "model.embed_tokens.weight"), (Shape{151936, 1024}));
    EXPECT_FALSE(qwen.find("lm_head.weight").has_value());  // tied
    EXPECT_EQ(shape_of(qwen, "model.norm.weight"), (Shape{1024}));
    const std::string layer = "model.layers.27.";
    EXPECT_EQ(shape_of(qwen, layer + "self_attn.q_proj.weight"), (Shape{2048, 1024}));
    EXPECT_EQ(shape_of(qwen, layer + "self_attn.k_proj.weight"), (Shape{1024, 1024}));
    EXPECT_EQ(shape_of(qwen, layer + "self_attn.v_proj.weight"), (Shape{1024, 1024}));
    EXPECT_EQ(shape_of(qwen, layer + "self_attn.o_proj.weight"), (Shape{1024, 2048}));
    EXPECT_EQ(shape_of(qwen, layer + "self_attn.q_norm.weight"), (Shape{128}));
    EXPECT_EQ(shape_of(qwen, layer + "self_attn.k_norm.weight"), (Shape{128}));
    EXPECT_EQ(shape_of(qwen, layer + "input_layernorm.weight"), (Shape{1024}));
    EXPECT_EQ(shape_of(qwen, layer + "post_attention_layernorm.weight"), (Shape{1024}));
    EXPECT_EQ(shape_of(qwen, layer + "mlp.gate_proj.weight"), (Shape{3072, 1024}));
    EXPECT_EQ(shape_of(qwen, layer + "mlp.up_proj.weight"), (Shape{3072, 1024}));
    EXPECT_EQ(shape_of(qwen, layer + "mlp.down_proj.weight"), (Shape{1024, 3072}));
    EXPECT_FALSE(qwen.find("model.layers.28.input_layernorm.weight").has_value());
    const Catalog llama = catalog_of(shipped("llama-3.3-70b"));
    EXPECT_EQ(shape_of(llama, "lm_head.weight"), (Shape{128256, 8192}));
    EXPECT_FALSE(llama.find("model.layers.0.self_attn.q_norm.weight").has_value());
}

TEST(Architectures, ExpertTensorsHaveTheNamesOfTheirFamily) {
    const Catalog qwen = catalog_of(shipped("qwen3-30b-a3b"));
    EXPECT_EQ(shape_of(qwen, "model.layers.0.mlp.gate.weight"), (Shape{128, 2048}));
    EXPECT_EQ(shape_of(qwen, "model.layers.47.mlp.experts.127.down_proj.weight"),
              (Shape{2048, 768}));
    EXPECT_FALSE(qwen.find("model.layers.0.mlp.experts.128.up_proj.weight").has_value());

    const Catalog glm = catalog_of(shipped("glm-4.5-355b"));
    EXPECT_EQ(shape_of(glm, "model.layers.2.mlp.gate_proj.weight"), (Shape{12288, 5120}));
    EXPECT_FALSE(glm.find("model.layers.3.mlp.gate_proj.weight").has_value());
    EXPECT_EQ(shape_of(glm, "model.layers.3.mlp.gate.e_score_correction_bias"), (Shape{160}));
    EXPECT_EQ(shape_of(glm, "model.layers.3.mlp.shared_experts.up_proj.weight"),
              (Shape{1536, 5120}));
    EXPECT_EQ(shape_of(glm, "model.layers.0.self_attn.k_proj.bias"), (Shape{1024}));
    EXPECT_FALSE(glm.find("model.layers.0.self_attn.o_proj.bias").has_value());

    const Catalog oss = catalog_of(shipped("gpt-oss-120b"));
    const std::string mlp = "model.layers.35.mlp.";
    EXPECT_EQ(shape_of(oss, mlp + "router.weight"), (Shape{128, 2880}));
    EXPECT_EQ(shape_of(oss, mlp + "router.bias"), (Shape{128}));
    EXPECT_EQ(shape_of(oss, mlp + "experts.gate_up_proj"), (Shape{128, 2880, 5760}));
    EXPECT_EQ(shape_of(oss, mlp + "experts.gate_up_proj_bias"), (Shape{128, 5760}));
    EXPECT_EQ(shape_of(oss, mlp + "experts.down_proj"), (Shape{128, 2880, 2880}));
    EXPECT_EQ(shape_of(oss, mlp + "experts.down_proj_bias"), (Shape{128, 2880}));
    EXPECT_EQ(shape_of(oss, "model.layers.0.self_attn.sinks"), (Shape{64}));
    EXPECT_EQ(shape_of(oss, "model.layers.0.self_attn.o_proj.bias"), (Shape{2880}));
}

TEST(Architectures, LatentAttentionHasTheNamesOfDeepSeek) {
    const Architecture architecture = shipped("deepseek-v3-671b");
    const Catalog catalog = catalog_of(architecture, MtpLayers::included);
    const std::string layer = "model.layers.60.self_attn.";
    EXPECT_EQ(shape_of(catalog, layer + "q_a_proj.weight"), (Shape{1536, 7168}));
    EXPECT_EQ(shape_of(catalog, layer + "q_a_layernorm.weight"), (Shape{1536}));
    EXPECT_EQ(shape_of(catalog, layer + "q_b_proj.weight"), (Shape{24576, 1536}));
    EXPECT_EQ(shape_of(catalog, layer + "kv_a_proj_with_mqa.weight"), (Shape{576, 7168}));
    EXPECT_EQ(shape_of(catalog, layer + "kv_a_layernorm.weight"), (Shape{512}));
    EXPECT_EQ(shape_of(catalog, layer + "kv_b_proj.weight"), (Shape{32768, 512}));
    EXPECT_EQ(shape_of(catalog, layer + "o_proj.weight"), (Shape{7168, 16384}));
    EXPECT_EQ(shape_of(catalog, "model.layers.61.eh_proj.weight"), (Shape{7168, 14336}));
    EXPECT_EQ(shape_of(catalog, "model.layers.61.shared_head.norm.weight"), (Shape{7168}));
    EXPECT_EQ(shape_of(catalog, "model.layers.61.mlp.experts.255.up_proj.weight"),
              (Shape{2048, 7168}));
    EXPECT_FALSE(catalog_of(architecture).find("model.layers.61.eh_proj.weight").has_value());
}

/// One multiplication per active word but those that enter none, and but the embedding.
TEST(Architectures, ProductsOfATokenAreItsActiveMatrices) {
    for (const std::string& name : shipped_names()) {
        const Architecture architecture = shipped(name);
        std::uint64_t products = 0;
        for (const GemmShape& shape : gemm_shapes(architecture))
            products += shape.rows * shape.columns * shape.count * shape.layers;
        // From the tensors: all of rank two and more, an expert as often as it is drawn.
        std::uint64_t expected = 0;
        std::uint64_t expert_words = 0;
        const Catalog catalog = catalog_of(architecture);
        for (const Tensor& tensor : catalog.tensors()) {
            const bool embedding = tensor.name == "model.embed_tokens.weight";
            if (tensor.shape.size() < 2 || tensor.name.ends_with("_bias")) continue;
            if (embedding && !architecture.tied_embeddings) continue;
            const bool expert = tensor.name.find(".experts.") != std::string::npos;
            (expert ? expert_words : expected) += tensor.words;
        }
        if (architecture.experts)
            expected +=
                expert_words / architecture.experts->count * architecture.experts->per_token;
        EXPECT_EQ(products, expected) << name;
    }
    std::map<std::string, GemmShape> shapes;
    for (const GemmShape& shape : gemm_shapes(shipped("gpt-oss-120b"))) shapes[shape.name] = shape;
    const GemmShape& fused = shapes.at("mlp.experts.gate_up_proj");
    EXPECT_EQ(fused.rows, 5760u);
    EXPECT_EQ(fused.columns, 2880u);
    EXPECT_EQ(fused.count, 4u);
    EXPECT_EQ(fused.layers, 36u);
    EXPECT_EQ(shapes.at("lm_head").layers, 1u);
    EXPECT_EQ(shapes.count("mlp.gate_proj"), 0u);
}

TEST(MakeCatalog, RefusesNumbersThatDoNotGoTogether) {
    Architecture architecture = shipped("qwen3-8b");
    architecture.kv_heads = 5;
    const auto catalog = make_catalog(architecture);
    ASSERT_FALSE(catalog.has_value());
    EXPECT_EQ(catalog.error().code, ErrorCode::invalid_input);
}

}  // namespace
}  // namespace refit
