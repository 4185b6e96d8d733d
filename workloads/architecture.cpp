#include "workloads/architecture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace refit {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t kNumberMax = std::uint64_t{1} << 24;
constexpr std::uint64_t kCountMax = std::uint64_t{1} << 16;
constexpr std::uint64_t kWordsEnd = std::uint64_t{1} << 48;
constexpr std::uint64_t kTensorsMax = std::uint64_t{1} << 20;

constexpr std::string_view kPartNames[kModelParts] = {
    "embedding", "head", "attention", "dense MLP", "experts", "shared experts", "router", "norms"};

/// How a tensor enters the product of a token's vector with it.
enum class Use : std::uint8_t {
    other,       // no product: looked up, added, multiplied word by word
    matrix,      // rows x columns
    transposed,  // experts x columns x rows
};

/// Tensors that differ in the numbers of their layer and expert only.
struct TensorGroup {
    ModelPart part;
    Use use;
    std::string name;  // in a layer: what follows "model.layers.<n>."; '#' is the expert's number
    std::vector<std::uint64_t> shape;
    std::uint64_t first_layer = 0;
    std::uint64_t layers = 0;  // 0: one tensor, in no layer
};

/// Layers first .. first + count - 1.
struct LayerRange {
    std::uint64_t first;
    std::uint64_t count;
};

/// The list of all groups, in the order in which a token passes them.
class Groups {
public:
    explicit Groups(const Architecture& architecture) : a_(architecture) {
        const std::uint64_t dense = a_.experts ? a_.experts->dense_layers : a_.layers;
        single(ModelPart::embedding, Use::other, "model.embed_tokens.weight",
               {a_.vocabulary, a_.hidden});
        add_attention({0, a_.layers});
        range_ = {0, dense};
        add_mlp(ModelPart::dense_mlp, "mlp.", a_.intermediate);
        if (a_.experts) add_experts({dense, a_.layers - dense});
        single(ModelPart::norms, Use::other, "model.norm.weight", {a_.hidden});
        if (!a_.tied_embeddings)
            single(ModelPart::head, Use::matrix, "lm_head.weight", {a_.vocabulary, a_.hidden});
        if (a_.mtp_layers > 0) add_mtp({a_.layers, a_.mtp_layers});
    }

    std::vector<TensorGroup> take() && { return std::move(groups_); }

private:
    void single(ModelPart part, Use use, std::string name, std::vector<std::uint64_t> shape) {
        groups_.push_back({part, use, std::move(name), std::move(shape)});
    }

    /// In each layer of the present range.
    void add(ModelPart part, Use use, std::string name, std::vector<std::uint64_t> shape) {
        if (range_.count == 0) return;
        groups_.push_back(
            {part, use, std::move(name), std::move(shape), range_.first, range_.count});
    }

    void norm(std::string name, std::uint64_t width) {
        add(ModelPart::norms, Use::other, std::move(name), {width});
    }

    void project(std::string_view name, std::uint64_t rows, std::uint64_t columns, bool bias) {
        const std::string full = fmt::format("self_attn.{}", name);
        add(ModelPart::attention, Use::matrix, full + ".weight", {rows, columns});
        if (bias) add(ModelPart::attention, Use::other, full + ".bias", {rows});
    }

    void add_attention(LayerRange range) {
        range_ = range;
        norm("input_layernorm.weight", a_.hidden);
        a_.latent ? add_latent(*a_.latent) : add_grouped();
        if (a_.sinks) add(ModelPart::attention, Use::other, "self_attn.sinks", {a_.heads});
        norm("post_attention_layernorm.weight", a_.hidden);
    }

    void add_grouped() {
        const bool qkv = a_.attention_bias != AttentionBias::none;
        project("q_proj", a_.heads * a_.head_dim, a_.hidden, qkv);
        project("k_proj", a_.kv_heads * a_.head_dim, a_.hidden, qkv);
        project("v_proj", a_.kv_heads * a_.head_dim, a_.hidden, qkv);
        project("o_proj", a_.hidden, a_.heads * a_.head_dim,
                a_.attention_bias == AttentionBias::qkvo);
        if (!a_.qk_norm) return;
        norm("self_attn.q_norm.weight", a_.head_dim);
        norm("self_attn.k_norm.weight", a_.head_dim);
    }

    void add_latent(const LatentAttention& latent) {
        const std::uint64_t query = a_.heads * (latent.plain + latent.rotary);
        if (latent.q_rank == 0) {
            project("q_proj", query, a_.hidden, false);
        } else {
            project("q_a_proj", latent.q_rank, a_.hidden, false);
            norm("self_attn.q_a_layernorm.weight", latent.q_rank);
            project("q_b_proj", query, latent.q_rank, false);
        }
        project("kv_a_proj_with_mqa", latent.kv_rank + latent.rotary, a_.hidden, false);
        norm("self_attn.kv_a_layernorm.weight", latent.kv_rank);
        project("kv_b_proj", a_.heads * (latent.plain + latent.value), latent.kv_rank, false);
        project("o_proj", a_.hidden, a_.heads * latent.value, false);
    }

    void add_mlp(ModelPart part, const std::string& prefix, std::uint64_t width) {
        add(part, Use::matrix, prefix + "gate_proj.weight", {width, a_.hidden});
        add(part, Use::matrix, prefix + "up_proj.weight", {width, a_.hidden});
        add(part, Use::matrix, prefix + "down_proj.weight", {a_.hidden, width});
    }

    void add_experts(LayerRange range) {
        range_ = range;
        const Experts& experts = *a_.experts;
        const std::string router = experts.fused ? "mlp.router." : "mlp.gate.";
        add(ModelPart::router, Use::matrix, router + "weight", {experts.count, a_.hidden});
        if (experts.router_bias)
            add(ModelPart::router, Use::other, router + "bias", {experts.count});
        if (experts.router_correction)
            add(ModelPart::router, Use::other, router + "e_score_correction_bias", {experts.count});
        experts.fused ? add_fused(experts)
                      : add_mlp(ModelPart::experts, "mlp.experts.#.", experts.intermediate);
        if (experts.shared > 0)
            add_mlp(ModelPart::shared_experts, "mlp.shared_experts.",
                    experts.shared * experts.intermediate);
    }

    void add_fused(const Experts& e) {
        const std::string prefix = "mlp.experts.";
        add(ModelPart::experts, Use::transposed, prefix + "gate_up_proj",
            {e.count, a_.hidden, 2 * e.intermediate});
        add(ModelPart::experts, Use::other, prefix + "gate_up_proj_bias",
            {e.count, 2 * e.intermediate});
        add(ModelPart::experts, Use::transposed, prefix + "down_proj",
            {e.count, e.intermediate, a_.hidden});
        add(ModelPart::experts, Use::other, prefix + "down_proj_bias", {e.count, a_.hidden});
    }

    void add_mtp(LayerRange range) {
        range_ = range;
        norm("enorm.weight", a_.hidden);
        norm("hnorm.weight", a_.hidden);
        add(ModelPart::head, Use::matrix, "eh_proj.weight", {a_.hidden, 2 * a_.hidden});
        add_attention(range);
        a_.experts ? add_experts(range) : add_mlp(ModelPart::dense_mlp, "mlp.", a_.intermediate);
        norm("shared_head.norm.weight", a_.hidden);
    }

    const Architecture& a_;
    LayerRange range_{0, 0};
    std::vector<TensorGroup> groups_;
};

std::vector<TensorGroup> groups_of(const Architecture& architecture) {
    return Groups(architecture).take();
}

bool is_mtp(const TensorGroup& group, const Architecture& architecture) {
    return group.layers > 0 && group.first_layer >= architecture.layers;
}

bool is_per_expert(const TensorGroup& group) { return group.name.find('#') != std::string::npos; }

struct GroupSize {
    Wide parameters;
    Wide active;
    Wide tensors;
};

GroupSize size_of(const TensorGroup& group, const Architecture& architecture) {
    const bool numbered = is_per_expert(group);
    Wide words = 1;
    for (const std::uint64_t extent : group.shape) words *= extent;
    const Wide layers = std::max<std::uint64_t>(group.layers, 1);
    const Wide tensors = layers * (numbered ? architecture.experts->count : 1);
    GroupSize size{words * tensors, words * tensors, tensors};
    if (group.part == ModelPart::experts)
        size.active =
            size.parameters / architecture.experts->count * architecture.experts->per_token;
    return size;
}

Error invalid(std::string_view field, const std::string& reason) {
    return {ErrorCode::invalid_input, fmt::format("{}: {}", field, reason)};
}

struct Number {
    std::string_view field;
    std::uint64_t value;
    std::uint64_t max;
    bool may_be_zero = false;
};

Status check_numbers(const std::vector<Number>& numbers) {
    for (const Number& number : numbers) {
        if (number.value == 0 && !number.may_be_zero) return invalid(number.field, "is 0");
        if (number.value > number.max)
            return invalid(number.field,
                           fmt::format("{} is above the limit of {}", number.value, number.max));
    }
    return Done{};
}

Status check_attention(const Architecture& a) {
    if (a.latent) {
        REFIT_CHECK(check_numbers({{"latent.q_rank", a.latent->q_rank, kNumberMax, true},
                                   {"latent.kv_rank", a.latent->kv_rank, kNumberMax},
                                   {"latent.plain", a.latent->plain, kNumberMax},
                                   {"latent.rotary", a.latent->rotary, kNumberMax},
                                   {"latent.value", a.latent->value, kNumberMax}}));
        if (a.qk_norm || a.sinks || a.attention_bias != AttentionBias::none)
            return invalid("latent", "goes with no qk_norm, sinks or attention_bias");
        return Done{};
    }
    REFIT_CHECK(
        check_numbers({{"kv_heads", a.kv_heads, kCountMax}, {"head_dim", a.head_dim, kNumberMax}}));
    if (a.kv_heads > a.heads)
        return invalid("kv_heads", fmt::format("{} are more than {} heads", a.kv_heads, a.heads));
    if (a.heads % a.kv_heads != 0)
        return invalid("kv_heads", fmt::format("{} do not divide {} heads", a.kv_heads, a.heads));
    return Done{};
}

Status check_experts(const Architecture& a) {
    if (!a.experts) return Done{};
    const Experts& e = *a.experts;
    REFIT_CHECK(check_numbers({{"experts.count", e.count, kCountMax},
                               {"experts.per_token", e.per_token, kCountMax},
                               {"experts.intermediate", e.intermediate, kNumberMax},
                               {"experts.shared", e.shared, kCountMax, true},
                               {"experts.dense_layers", e.dense_layers, kCountMax, true}}));
    if (e.per_token > e.count)
        return invalid("experts.per_token",
                       fmt::format("{} are more than {} experts", e.per_token, e.count));
    if (e.dense_layers >= a.layers)
        return invalid("experts.dense_layers", fmt::format("{} of {} layers leave none for experts",
                                                           e.dense_layers, a.layers));
    if (e.fused && e.shared > 0) return invalid("experts.fused", "goes with no shared experts");
    return Done{};
}

}  // namespace

std::string_view to_text(ModelPart part) { return kPartNames[static_cast<std::size_t>(part)]; }

Status check_architecture(const Architecture& a) {
    REFIT_CHECK(check_numbers({{"hidden", a.hidden, kNumberMax},
                               {"layers", a.layers, kCountMax},
                               {"heads", a.heads, kCountMax},
                               {"intermediate", a.intermediate, kNumberMax},
                               {"vocabulary", a.vocabulary, kNumberMax},
                               {"mtp_layers", a.mtp_layers, kCountMax, true}}));
    REFIT_CHECK(check_attention(a));
    REFIT_CHECK(check_experts(a));
    // The limits above keep a group below 2^82 words.
    Wide words = 0;
    Wide tensors = 0;
    for (const TensorGroup& group : groups_of(a)) {
        words += size_of(group, a).parameters;
        tensors += size_of(group, a).tensors;
    }
    if (words >= kWordsEnd) return invalid("layers", "the tensors have 2^48 words or more in all");
    if (tensors >= kTensorsMax) return invalid("layers", "these are 2^20 tensors or more");
    return Done{};
}

ArchitectureTotals totals(const Architecture& architecture) {
    REFIT_ASSERT(check_architecture(architecture).has_value());
    ArchitectureTotals result;
    const auto add = [](PartTotals& part, const GroupSize& size) {
        part.parameters += static_cast<std::uint64_t>(size.parameters);
        part.active += static_cast<std::uint64_t>(size.active);
        part.tensors += static_cast<std::uint64_t>(size.tensors);
    };
    for (const TensorGroup& group : groups_of(architecture)) {
        const GroupSize size = size_of(group, architecture);
        if (is_mtp(group, architecture)) {
            add(result.mtp, size);
            continue;
        }
        add(result.all, size);
        add(result.parts[static_cast<std::size_t>(group.part)], size);
    }
    return result;
}

Result<Catalog> make_catalog(const Architecture& architecture, MtpLayers mtp) {
    REFIT_CHECK(check_architecture(architecture));
    std::vector<TensorSpec> specs;
    const auto add = [&](std::string name, const TensorGroup& group) {
        specs.push_back({std::move(name), WordType::bf16, group.shape});
    };
    for (const TensorGroup& group : groups_of(architecture)) {
        if (mtp == MtpLayers::left_out && is_mtp(group, architecture)) continue;
        if (group.layers == 0) add(group.name, group);
        const std::size_t mark = group.name.find('#');
        for (std::uint64_t i = 0; i < group.layers; ++i) {
            const std::string layer = fmt::format("model.layers.{}.", group.first_layer + i);
            if (mark == std::string::npos) {
                add(layer + group.name, group);
                continue;
            }
            const std::string before = layer + group.name.substr(0, mark);
            const std::string after = group.name.substr(mark + 1);
            for (std::uint64_t e = 0; e < architecture.experts->count; ++e)
                add(before + std::to_string(e) + after, group);
        }
    }
    return Catalog::make(std::move(specs));
}

std::vector<GemmShape> gemm_shapes(const Architecture& architecture) {
    REFIT_ASSERT(check_architecture(architecture).has_value());
    std::vector<GemmShape> shapes;
    for (const TensorGroup& group : groups_of(architecture)) {
        if (group.use == Use::other || is_mtp(group, architecture)) continue;
        std::string name = group.name.substr(0, group.name.rfind(".weight"));
        if (const std::size_t mark = name.find("#."); mark != name.npos) name.erase(mark, 2);
        const bool transposed = group.use == Use::transposed;
        const bool expert = group.part == ModelPart::experts;
        shapes.push_back({std::move(name), transposed ? group.shape[2] : group.shape[0],
                          group.shape[1], expert ? architecture.experts->per_token : 1,
                          std::max<std::uint64_t>(group.layers, 1)});
    }
    if (architecture.tied_embeddings)
        shapes.push_back({"lm_head", architecture.vocabulary, architecture.hidden, 1, 1});
    return shapes;
}

}  // namespace refit
