// What must hold for files that describe an architecture: the right catalog for a good one, one
// line for every bad one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
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

using Shape = std::vector<std::uint64_t>;

/// A file of this test alone, gone when it ends.
class ScratchFile {
public:
    explicit ScratchFile(const std::string& text, const std::string& name = "config.json") {
        const auto* const info = testing::UnitTest::GetInstance()->current_test_info();
        folder_ = fs::temp_directory_path() /
                  ("refit_architecture_" + std::string(info->name()) + std::to_string(getpid()));
        fs::create_directories(folder_);
        std::ofstream(path(name), std::ios::binary) << text;
        name_ = name;
    }
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;
    ~ScratchFile() { fs::remove_all(folder_); }

    fs::path path() const { return path(name_); }

private:
    fs::path path(const std::string& name) const { return folder_ / name; }

    fs::path folder_;
    std::string name_;
};

void expect_one_line(const Error& error, ErrorCode code, const std::string& part) {
    EXPECT_EQ(error.code, code) << error.what;
    EXPECT_NE(error.what.find(part), std::string::npos) << error.what;
    EXPECT_EQ(error.what.find('\n'), std::string::npos) << error.what;
    EXPECT_LT(error.what.size(), 300u);
    EXPECT_FALSE(error.where.empty());
}

json llama_config() {
    return {{"model_type", "llama"},     {"hidden_size", 8192},
            {"num_hidden_layers", 80},   {"num_attention_heads", 64},
            {"num_key_value_heads", 8},  {"intermediate_size", 28672},
            {"vocab_size", 128256},      {"tie_word_embeddings", false},
            {"mlp_bias", false},         {"rope_scaling", {{"factor", 8.0}}},
            {"eos_token_id", {1, 2, 3}}, {"rms_norm_eps", 1e-05},
            {"pretraining_tp", 1},       {"head_dim", nullptr}};
}

json qwen3_moe_config() {
    return {{"model_type", "qwen3_moe"}, {"hidden_size", 2048},
            {"num_hidden_layers", 48},   {"num_attention_heads", 32},
            {"num_key_value_heads", 4},  {"head_dim", 128},
            {"intermediate_size", 6144}, {"moe_intermediate_size", 768},
            {"num_experts", 128},        {"num_experts_per_tok", 8},
            {"decoder_sparse_step", 1},  {"mlp_only_layers", json::array()},
            {"vocab_size", 151936},      {"attention_bias", false}};
}

json gpt_oss_config() {
    return {{"model_type", "gpt_oss"},   {"hidden_size", 2880},      {"num_hidden_layers", 36},
            {"num_attention_heads", 64}, {"num_key_value_heads", 8}, {"head_dim", 64},
            {"intermediate_size", 2880}, {"num_local_experts", 128}, {"num_experts_per_tok", 4},
            {"experts_per_token", 4},    {"vocab_size", 201088},     {"attention_bias", true}};
}

json deepseek_config() {
    return {{"model_type", "deepseek_v3"},   {"hidden_size", 7168},
            {"num_hidden_layers", 61},       {"num_attention_heads", 128},
            {"num_key_value_heads", 128},    {"intermediate_size", 18432},
            {"moe_intermediate_size", 2048}, {"n_routed_experts", 256},
            {"num_experts_per_tok", 8},      {"n_shared_experts", 1},
            {"first_k_dense_replace", 3},    {"moe_layer_freq", 1},
            {"vocab_size", 129280},          {"q_lora_rank", 1536},
            {"kv_lora_rank", 512},           {"qk_nope_head_dim", 128},
            {"qk_rope_head_dim", 64},        {"v_head_dim", 128},
            {"topk_method", "noaux_tc"},     {"num_nextn_predict_layers", 1}};
}

json glm_config() {
    return {{"model_type", "glm4_moe"},   {"hidden_size", 5120},
            {"num_hidden_layers", 92},    {"num_attention_heads", 96},
            {"num_key_value_heads", 8},   {"head_dim", 128},
            {"intermediate_size", 12288}, {"moe_intermediate_size", 1536},
            {"n_routed_experts", 160},    {"num_experts_per_tok", 8},
            {"n_shared_experts", 1},      {"first_k_dense_replace", 3},
            {"vocab_size", 151552},       {"attention_bias", true},
            {"use_qk_norm", true},        {"num_nextn_predict_layers", 1}};
}

json dense_qwen_config(const std::string& type) {
    return {{"model_type", type},        {"hidden_size", 4096},       {"num_hidden_layers", 36},
            {"num_attention_heads", 32}, {"num_key_value_heads", 8},  {"head_dim", 128},
            {"vocab_size", 151936},      {"intermediate_size", 12288}};
}

Result<Architecture> read_config(const std::string& text) {
    const ScratchFile file(text);
    return architecture_of_config(file.path());
}

TEST(ConfigJson, GivesTheCatalogOfTheShippedFile) {
    json kimi = deepseek_config();
    kimi.update({{"model_type", "kimi_k2"},
                 {"num_attention_heads", 64},
                 {"num_key_value_heads", 64},
                 {"n_routed_experts", 384},
                 {"first_k_dense_replace", 1},
                 {"vocab_size", 163840},
                 {"num_nextn_predict_layers", 0}});
    const std::pair<json, std::string> pairs[] = {{llama_config(), "llama-3.3-70b"},
                                                  {qwen3_moe_config(), "qwen3-30b-a3b"},
                                                  {gpt_oss_config(), "gpt-oss-120b"},
                                                  {deepseek_config(), "deepseek-v3-671b"},
                                                  {glm_config(), "glm-4.5-355b"},
                                                  {dense_qwen_config("qwen3"), "qwen3-8b"},
                                                  {kimi, "kimi-k2-1t"}};
    for (const auto& [config, name] : pairs) {
        const auto read = read_config(config.dump());
        ASSERT_TRUE(read.has_value()) << name << ": " << read.error().what;
        EXPECT_EQ(catalog_of(read.value(), MtpLayers::included).id(),
                  catalog_of(shipped(name), MtpLayers::included).id())
            << name;
    }
}

TEST(ConfigJson, HasTheBiasesOfItsFamily) {
    const auto bias = [](const json& config) {
        const auto read = read_config(config.dump());
        EXPECT_TRUE(read.has_value()) << read.error().what;
        return read.value().attention_bias;
    };
    EXPECT_EQ(bias(dense_qwen_config("qwen2")), AttentionBias::qkv);
    EXPECT_EQ(bias(dense_qwen_config("qwen3")), AttentionBias::none);
    json biased = llama_config();
    biased["attention_bias"] = true;
    EXPECT_EQ(bias(biased), AttentionBias::qkvo);
    json plain = deepseek_config();
    plain["q_lora_rank"] = nullptr;
    const auto read = read_config(plain.dump());
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(shape_of(catalog_of(read.value()), "model.layers.0.self_attn.q_proj.weight"),
              (Shape{24576, 7168}));
}

TEST(ConfigJson, MissingFieldsAreNamedEach) {
    for (const json& whole :
         {llama_config(), qwen3_moe_config(), gpt_oss_config(), deepseek_config()}) {
        const std::set<std::string> may_lack{"tie_word_embeddings",
                                             "mlp_bias",
                                             "rope_scaling",
                                             "eos_token_id",
                                             "rms_norm_eps",
                                             "pretraining_tp",
                                             "head_dim",
                                             "num_key_value_heads",
                                             "decoder_sparse_step",
                                             "mlp_only_layers",
                                             "attention_bias",
                                             "experts_per_token",
                                             "n_shared_experts",
                                             "first_k_dense_replace",
                                             "moe_layer_freq",
                                             "q_lora_rank",
                                             "topk_method",
                                             "num_nextn_predict_layers"};
        for (const auto& [key, value] : whole.items()) {
            json config = whole;
            config.erase(key);
            const auto read = read_config(config.dump());
            // 64 heads do divide 2880 words, so gpt-oss without a head_dim is another model.
            EXPECT_EQ(read.has_value(), may_lack.contains(key)) << key;
            if (!read.has_value())
                expect_one_line(read.error(), ErrorCode::invalid_input, key + ": is missing");
        }
    }
}

TEST(ConfigJson, ContradictionsAreOneLineEach) {
    struct Case {
        json config;
        json change;
        std::string part;
    };
    const json llama = llama_config();
    const json moe = qwen3_moe_config();
    const json deepseek = deepseek_config();
    const std::vector<Case> cases{
        {llama, {{"num_key_value_heads", 24}}, "num_key_value_heads: 24 do not divide 64 heads"},
        {llama, {{"num_key_value_heads", 128}}, "num_key_value_heads: 128 are more than 64 heads"},
        {llama, {{"num_key_value_heads", 0}}, "num_key_value_heads: is 0"},
        {llama, {{"num_attention_heads", 0}}, "num_attention_heads 0"},
        {llama, {{"num_attention_heads", 48}}, "head_dim: is missing, and hidden_size 8192"},
        {llama, {{"head_dim", 0}}, "head_dim: is 0"},
        {llama, {{"num_hidden_layers", 0}}, "num_hidden_layers: is 0"},
        {llama, {{"num_hidden_layers", -1}}, "num_hidden_layers: must be a natural number"},
        {llama, {{"num_hidden_layers", 80.5}}, "num_hidden_layers: must be a natural number"},
        {llama, {{"num_hidden_layers", "80"}}, "num_hidden_layers: must be a natural number"},
        {llama,
         {{"num_hidden_layers", 65536}, {"intermediate_size", 1 << 24}},
         "num_hidden_layers: the tensors have 2^48 words"},
        {llama, {{"hidden_size", std::uint64_t{1} << 63}}, "hidden_size: 9223372036854775808"},
        {llama, {{"vocab_size", 1 << 25}}, "vocab_size: 33554432 is above the limit"},
        {llama, {{"tie_word_embeddings", 1}}, "tie_word_embeddings: must be true or false"},
        {llama, {{"model_type", 7}}, "model_type: must be a text"},
        {moe, {{"num_experts_per_tok", 129}}, "num_experts_per_tok: 129 are more than 128"},
        {moe, {{"num_experts", 0}}, "num_experts: is 0"},
        {moe, {{"moe_intermediate_size", 0}}, "moe_intermediate_size: is 0"},
        {moe, {{"num_experts", 65536}, {"moe_intermediate_size", 1}}, "2^20 tensors"},
        {deepseek, {{"first_k_dense_replace", 61}}, "first_k_dense_replace: 61 of 61 layers"},
        {deepseek, {{"kv_lora_rank", 0}}, "kv_lora_rank: is 0"},
        {deepseek, {{"topk_method", true}}, "topk_method: must be a text"},
        {gpt_oss_config(), {{"experts_per_token", 5}}, "experts_per_token: is not what"}};
    for (const Case& each : cases) {
        json config = each.config;
        config.update(each.change);
        const auto read = read_config(config.dump());
        ASSERT_FALSE(read.has_value()) << each.part;
        expect_one_line(read.error(), ErrorCode::invalid_input, each.part);
    }
}

TEST(ConfigJson, WhatWeCannotFollowIsRefusedByName) {
    struct Case {
        json config;
        json change;
        std::string part;
    };
    const std::vector<Case> cases{
        {llama_config(), {{"model_type", "mamba"}}, "model_type: 'mamba' is none of llama, qwen2"},
        {llama_config(), {{"model_type", "a\nb"}}, "model_type: 'a\\x0ab'"},
        {llama_config(), {{"mlp_bias", true}}, "mlp_bias: must be false"},
        {qwen3_moe_config(), {{"decoder_sparse_step", 2}}, "decoder_sparse_step: must be 1"},
        {qwen3_moe_config(), {{"mlp_only_layers", {3}}}, "mlp_only_layers: must be empty"},
        {deepseek_config(), {{"moe_layer_freq", 2}}, "moe_layer_freq: must be 1"},
        {deepseek_config(), {{"attention_bias", true}}, "attention_bias: must be false"}};
    for (const Case& each : cases) {
        json config = each.config;
        config.update(each.change);
        const auto read = read_config(config.dump());
        ASSERT_FALSE(read.has_value()) << each.part;
        expect_one_line(read.error(), ErrorCode::unsupported, each.part);
    }
}

TEST(ConfigJson, NoJsonIsOneLine) {
    const std::string whole = qwen3_moe_config().dump();
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const auto read = read_config(whole.substr(0, size));
        ASSERT_FALSE(read.has_value()) << size;
        expect_one_line(read.error(), ErrorCode::invalid_input, "the file");
    }
    for (const std::string& text :
         {std::string("[1, 2]"), std::string("7"), std::string("null"), std::string(40, '['),
          std::string(R"({"model_type": "llama", "model_type": "llama"})"),
          std::string("{\"a\0\": 1}", 9), std::string((1 << 20) + 1, ' ')}) {
        const auto read = read_config(text);
        ASSERT_FALSE(read.has_value()) << text.substr(0, 60);
        expect_one_line(read.error(), ErrorCode::invalid_input, "the file");
    }
    const auto absent = architecture_of_config("/nowhere/config.json");
    ASSERT_FALSE(absent.has_value());
    expect_one_line(absent.error(), ErrorCode::not_found, "no such file");
    const auto folder = architecture_of_config(fs::temp_directory_path());
    ASSERT_FALSE(folder.has_value());
    expect_one_line(folder.error(), ErrorCode::invalid_input, "regular file");
}

std::string shipped_text(const std::string& name) {
    std::ifstream file(shipped_folder() / (name + ".toml"));
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(ArchitectureFile, EveryBadLineIsOneLine) {
    struct Case {
        std::string model;
        std::string from;
        std::string to;
        std::string part;
    };
    const std::vector<Case> cases{
        {"kimi-k2-1t", "refit.architecture/1", "refit.architecture/2", "schema: must be"},
        {"kimi-k2-1t", "hidden = 7168", "hiden = 7168", "hidden: is missing"},
        {"kimi-k2-1t", "hidden = 7168", "hidden = 7168\nwidth = 1", "unknown key 'width'"},
        {"kimi-k2-1t", "hidden = 7168", "hidden = -7168", "hidden: must be a natural number"},
        {"kimi-k2-1t", "hidden = 7168", "hidden = 7168.5", "hidden: must be a natural number"},
        {"kimi-k2-1t", "hidden = 7168", "hidden = ", "line 5"},
        {"kimi-k2-1t", "layers = 61", "layers = 0", "layers: is 0"},
        {"kimi-k2-1t", "layers = 61", "layers = 1", "experts.dense_layers: 1 of 1 layers"},
        {"kimi-k2-1t", "heads = 64", "heads = 64\nkv_heads = 64", "unknown key 'kv_heads'"},
        {"kimi-k2-1t", "heads = 64", "heads = 64\nsinks = true", "latent: goes with no"},
        {"kimi-k2-1t", "per_token = 8", "per_token = 385", "experts.per_token: 385"},
        {"kimi-k2-1t", "shared = 1", "shared = 1\nfused = true", "experts.fused: goes with no"},
        {"kimi-k2-1t", "shared = 1", "shard = 1", "unknown key 'experts.shard'"},
        {"kimi-k2-1t", "plain = 128", "plain = 0", "latent.plain: is 0"},
        {"kimi-k2-1t", "[latent]", "[latent.deep]", "latent.q_rank: is missing"},
        {"kimi-k2-1t", "billion = 1026.4", "billion = -1.0", "published.billion: must be"},
        {"kimi-k2-1t", "billion = 1026.4", "billion = inf", "published.billion: must be"},
        {"kimi-k2-1t", "tensors = 69975", "tensors = 69974",
         "totals.tensors: 69974 is written, the tensors give 69975"},
        {"kimi-k2-1t", "[totals]", "[total]", "unknown key 'total'"},
        {"qwen3-8b", "kv_heads = 8", "kv_heads = 9", "kv_heads: 9 do not divide 32 heads"},
        {"qwen3-8b", "heads = 32", "heads = 4", "kv_heads: 8 are more than 4 heads"},
        {"qwen3-8b", "qk_norm = true", "qk_norm = 1", "qk_norm: must be true or false"},
        {"qwen3-8b", "qk_norm = true", "qk_norm = true\nexperts = 4", "experts: must be a table"},
        {"qwen3-8b", "qk_norm = true", "attention_bias = \"k\"", "attention_bias: must be none"},
        {"qwen3-8b", "qk_norm = true", "", "totals.parameters: 8190735360 is written"},
        {"qwen3-8b", "name = \"qwen3-8b\"", "name = \"\"", "name: must be a text"}};
    for (const Case& each : cases) {
        const ScratchFile file(replaced(shipped_text(each.model), each.from, each.to), "a.toml");
        const auto read = load_architecture(file.path());
        ASSERT_FALSE(read.has_value()) << each.part;
        expect_one_line(read.error(), ErrorCode::invalid_input, each.part);
    }
    const auto absent = load_architecture("/nowhere/a.toml");
    ASSERT_FALSE(absent.has_value());
    expect_one_line(absent.error(), ErrorCode::not_found, "no such file");
}

TEST(ArchitectureFile, EveryTruncationIsOneLine) {
    const std::string whole = shipped_text("deepseek-v3-671b");
    // The last number may lose a digit and be another one, but never the right one.
    for (std::size_t size = 0; size + 1 < whole.size(); ++size) {
        const ScratchFile file(whole.substr(0, size), "a.toml");
        const auto read = load_architecture(file.path());
        ASSERT_FALSE(read.has_value()) << size;
        expect_one_line(read.error(), ErrorCode::invalid_input, "");
    }
}

}  // namespace
}  // namespace refit
