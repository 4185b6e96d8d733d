// Architectures: what a model is made of, as numbers, and every tensor that follows from them.
//
// Model     a decoder in Hugging Face terms: embedding, layers of attention (grouped queries, or
//           latent as in DeepSeek-V3) and a gated MLP or experts, norms, head. Layers from
//           `dense_layers` on have experts. Multi-token prediction (MTP) layers are counted apart;
//           they share embedding and head, of which some checkpoints hold a second copy.
// Names     those of the family's safetensors files: experts one by one ("mlp.experts.7.up_proj"),
//           or fused with their biases as gpt-oss has them. Tied embeddings are one tensor.
// Types     a catalog holds 16-bit words only, so all are BF16 here. Some checkpoints hold routers
//           and correction biases in FP32 (below 0.02 % of the words), others weights in FP8 or
//           MXFP4 with scales: their bytes are not those of this catalog.
// File      TOML, schema "refit.architecture/1": the numbers, and the totals they are to give;
//           unknown keys are errors. Or a config.json of Hugging Face: model_type llama, qwen2,
//           qwen3, qwen3_moe, glm4_moe, gpt_oss, deepseek_v3 or kimi_k2.
// Limit     files of 1 MiB; numbers up to 2^24, layers, heads and experts up to 2^16; below 2^20
//           tensors and 2^48 words in all.
// Errors    invalid_input: "FIELD: reason" with the file in `where`; not_found: no such file;
//           unsupported: a config.json of another family, or with a field we do not know how to
//           follow.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/coords/catalog.hpp"

namespace refit {

enum class AttentionBias : std::uint8_t { none, qkv, qkvo };

/// Keys and values through one narrow vector per token. Heads have q and k of plain + rotary
/// numbers, v of `value`.
struct LatentAttention {
    std::uint64_t q_rank = 0;  // 0: queries straight from the hidden state
    std::uint64_t kv_rank = 0;
    std::uint64_t plain = 0;
    std::uint64_t rotary = 0;
    std::uint64_t value = 0;
};

struct Experts {
    std::uint64_t count = 0;         // per layer
    std::uint64_t per_token = 0;     // of them, those a token passes
    std::uint64_t intermediate = 0;  // of one expert
    std::uint64_t shared = 0;        // experts that every token passes, in one MLP
    std::uint64_t dense_layers = 0;  // the first ones, without experts
    bool fused = false;              // all experts of a layer in one tensor, with biases
    bool router_bias = false;
    bool router_correction = false;  // a bias per expert that only chooses
};

struct Architecture {
    std::string name;
    std::string source;     // where the numbers are from
    bool recalled = false;  // from memory: only the total has confirmed them
    std::uint64_t hidden = 0;
    std::uint64_t layers = 0;
    std::uint64_t heads = 0;
    std::uint64_t kv_heads = 0;
    std::uint64_t head_dim = 0;      // without use in latent attention
    std::uint64_t intermediate = 0;  // of a layer without experts
    std::uint64_t vocabulary = 0;
    std::uint64_t mtp_layers = 0;
    bool tied_embeddings = false;
    bool qk_norm = false;
    bool sinks = false;  // one number per head
    AttentionBias attention_bias = AttentionBias::none;
    std::optional<LatentAttention> latent;
    std::optional<Experts> experts;  // none: dense
    // What its makers say, in billions; 0: nothing known.
    double published_billion = 0;
    double published_active_billion = 0;
};

/// An architecture file, whose [totals] must be those of its tensors, or a config.json.
Result<Architecture> load_architecture(const std::filesystem::path& file);

/// The same of a text, without a name for the errors to stand in.
Result<Architecture> parse_architecture(std::string_view toml);
Result<Architecture> parse_architecture_config(std::string_view json);

/// Named after the folder that holds the config.json.
Result<Architecture> architecture_of_config(const std::filesystem::path& file);

/// Whether the numbers go together. What follows needs an architecture that passes.
Status check_architecture(const Architecture& architecture);

enum class ModelPart : std::uint8_t {
    embedding,
    head,
    attention,  // with biases and sinks
    dense_mlp,
    experts,
    shared_experts,
    router,
    norms
};
inline constexpr std::size_t kModelParts = 8;

/// "embedding", "dense MLP", ...
std::string_view to_text(ModelPart part);

struct PartTotals {
    std::uint64_t parameters = 0;
    std::uint64_t active = 0;  // of them, those one token passes; the embedding counts in full
    std::uint64_t tensors = 0;
};

/// Without MTP layers, which stand apart.
struct ArchitectureTotals {
    PartTotals all;
    PartTotals mtp;
    std::array<PartTotals, kModelParts> parts;  // by ModelPart; they sum to `all`
};

/// In closed form, without a catalog.
ArchitectureTotals totals(const Architecture& architecture);

enum class MtpLayers : std::uint8_t { left_out, included };

/// Every tensor by name and shape. Checks the architecture.
Result<Catalog> make_catalog(const Architecture& architecture, MtpLayers mtp = MtpLayers::left_out);

/// A matrix product that a token passes: rows x columns times a vector of `columns`.
struct GemmShape {
    std::string name;           // "self_attn.q_proj", "mlp.experts.up_proj", "lm_head"
    std::uint64_t rows = 0;     // outputs
    std::uint64_t columns = 0;  // inputs
    std::uint64_t count = 0;    // in one layer: experts per token, else 1
    std::uint64_t layers = 0;   // how many have it; 1 for the head
};

/// All products of one token, without MTP; attention over earlier tokens is not among them.
std::vector<GemmShape> gemm_shapes(const Architecture& architecture);

}  // namespace refit
