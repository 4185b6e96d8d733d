// The config.json of Hugging Face as an architecture.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "workloads/architecture.hpp"
#include "workloads/safetensors_json.hpp"
#include "workloads/text_file.hpp"

namespace refit {
namespace {

Error invalid(std::string what) { return Error{ErrorCode::invalid_input, std::move(what)}; }
Error unsupported(std::string what) { return Error{ErrorCode::unsupported, std::move(what)}; }

/// The root's fields. Of a list only its length is kept.
struct Field {
    JsonKind kind;
    std::uint64_t natural = 0;
    bool truth = false;
    std::string text;
    std::size_t length = 0;
};

using Fields = std::map<std::string, Field, std::less<>>;

Result<Fields> read_fields(std::string_view json) {
    Fields fields;
    bool is_object = false;
    const Status walked = walk_json(json, "the file", [&](const JsonValue& value) -> Status {
        if (value.path.empty()) is_object = value.kind == JsonKind::object;
        if (value.path.size() == 1 && is_object) {
            Field& field = fields[value.path[0]];
            field.kind = value.kind;
            field.natural = value.natural;
            field.truth = value.truth;
            field.text = value.text;
        }
        if (value.path.size() == 2 && is_object) ++fields[value.path[0]].length;
        return Done{};
    });
    REFIT_CHECK(walked);
    if (!is_object) return invalid("the file is not a JSON object");
    return fields;
}

/// Typed access; keeps the first failure.
class Config {
public:
    explicit Config(Fields fields) : fields_(std::move(fields)) {}

    bool has(std::string_view name) const {
        const auto at = fields_.find(name);
        return at != fields_.end() && at->second.kind != JsonKind::null;
    }

    std::uint64_t number(std::string_view name) {
        const Field* const field = find(name);
        if (field == nullptr) return fail(name, "is missing"), 0;
        if (field->kind != JsonKind::natural) return fail(name, "must be a natural number"), 0;
        return field->natural;
    }
    std::uint64_t number_or(std::string_view name, std::uint64_t absent) {
        return has(name) ? number(name) : absent;
    }

    bool flag_or(std::string_view name, bool absent) {
        const Field* const field = find(name);
        if (field == nullptr) return absent;
        if (field->kind != JsonKind::boolean) fail(name, "must be true or false");
        return field->truth;
    }

    std::string text(std::string_view name) {
        const Field* const field = find(name);
        if (field == nullptr) return fail(name, "is missing"), "";
        if (field->kind != JsonKind::text) fail(name, "must be a text");
        return field->text;
    }

    /// A list that must have no entries for us to know which tensors there are.
    void expect_empty(std::string_view name) {
        const Field* const field = find(name);
        if (field == nullptr) return;
        if (field->kind != JsonKind::array) return fail(name, "must be a list");
        if (field->length > 0) refuse(name, "must be empty: other lists are not known here");
    }

    void expect(std::string_view name, std::uint64_t wanted) {
        if (has(name) && number(name) != wanted)
            refuse(name, fmt::format("must be {}: other values are not known here", wanted));
    }

    void expect_off(std::string_view name) {
        if (flag_or(name, false)) refuse(name, "must be false: true is not known here");
    }

    void fail(std::string_view name, std::string_view reason) {
        if (!error_) error_ = invalid(fmt::format("{}: {}", name, reason));
    }

    Status status() const {
        if (error_) return *error_;
        return Done{};
    }

private:
    const Field* find(std::string_view name) const {
        return has(name) ? &fields_.find(name)->second : nullptr;
    }

    void refuse(std::string_view name, const std::string& reason) {
        if (!error_) error_ = unsupported(fmt::format("{}: {}", name, reason));
    }

    Fields fields_;
    std::optional<Error> error_;
};

void read_head_dim(Config& config, Architecture& a) {
    if (config.has("head_dim")) {
        a.head_dim = config.number("head_dim");
    } else if (a.heads == 0 || a.hidden % a.heads != 0) {
        config.fail("head_dim", fmt::format("is missing, and hidden_size {} is no multiple of "
                                            "num_attention_heads {}",
                                            a.hidden, a.heads));
    } else {
        a.head_dim = a.hidden / a.heads;
    }
}

void read_grouped(Config& config, Architecture& a) {
    a.kv_heads = config.number_or("num_key_value_heads", a.heads);
    read_head_dim(config, a);
    if (config.flag_or("attention_bias", false)) a.attention_bias = AttentionBias::qkvo;
}

void read_llama(Config& config, Architecture& a) {
    read_grouped(config, a);
    config.expect_off("mlp_bias");
}

void read_qwen2(Config& config, Architecture& a) {
    read_grouped(config, a);
    a.attention_bias = AttentionBias::qkv;
}

void read_qwen3(Config& config, Architecture& a) {
    read_grouped(config, a);
    a.qk_norm = true;
}

void read_qwen3_moe(Config& config, Architecture& a) {
    read_qwen3(config, a);
    config.expect("decoder_sparse_step", 1);
    config.expect_empty("mlp_only_layers");
    a.experts = Experts{.count = config.number("num_experts"),
                        .per_token = config.number("num_experts_per_tok"),
                        .intermediate = config.number("moe_intermediate_size")};
}

/// Experts as DeepSeek-V3 names them.
void read_routed(Config& config, Architecture& a) {
    a.experts = Experts{.count = config.number("n_routed_experts"),
                        .per_token = config.number("num_experts_per_tok"),
                        .intermediate = config.number("moe_intermediate_size"),
                        .shared = config.number_or("n_shared_experts", 0),
                        .dense_layers = config.number_or("first_k_dense_replace", 0),
                        .router_correction = true};
    a.mtp_layers = config.number_or("num_nextn_predict_layers", 0);
}

void read_glm4_moe(Config& config, Architecture& a) {
    read_grouped(config, a);
    if (a.attention_bias == AttentionBias::qkvo) a.attention_bias = AttentionBias::qkv;
    a.qk_norm = config.flag_or("use_qk_norm", false);
    read_routed(config, a);
}

void read_gpt_oss(Config& config, Architecture& a) {
    read_grouped(config, a);
    if (config.flag_or("attention_bias", true)) a.attention_bias = AttentionBias::qkvo;
    a.sinks = true;
    a.experts = Experts{.count = config.number("num_local_experts"),
                        .per_token = config.number("num_experts_per_tok"),
                        .intermediate = a.intermediate,
                        .fused = true,
                        .router_bias = true};
    if (config.number_or("experts_per_token", a.experts->per_token) != a.experts->per_token)
        config.fail("experts_per_token", "is not what num_experts_per_tok says");
}

void read_deepseek_v3(Config& config, Architecture& a) {
    config.expect_off("attention_bias");
    config.expect("moe_layer_freq", 1);
    a.latent = LatentAttention{.q_rank = config.number_or("q_lora_rank", 0),
                               .kv_rank = config.number("kv_lora_rank"),
                               .plain = config.number("qk_nope_head_dim"),
                               .rotary = config.number("qk_rope_head_dim"),
                               .value = config.number("v_head_dim")};
    read_routed(config, a);
    if (config.has("topk_method"))
        a.experts->router_correction = config.text("topk_method") == "noaux_tc";
}

struct Family {
    std::string_view model_type;
    void (*read)(Config& config, Architecture& a);
};

constexpr Family kFamilies[] = {{"llama", read_llama},
                                {"qwen2", read_qwen2},
                                {"qwen3", read_qwen3},
                                {"qwen3_moe", read_qwen3_moe},
                                {"glm4_moe", read_glm4_moe},
                                {"gpt_oss", read_gpt_oss},
                                {"deepseek_v3", read_deepseek_v3},
                                {"kimi_k2", read_deepseek_v3}};

/// A check names our field; the user's file has another name for it.
Error in_config_terms(Error error, std::string_view model_type) {
    const bool routed = model_type != "qwen3_moe" && model_type != "gpt_oss";
    const std::pair<std::string_view, std::string_view> names[] = {
        {"hidden", "hidden_size"},
        {"layers", "num_hidden_layers"},
        {"heads", "num_attention_heads"},
        {"kv_heads", "num_key_value_heads"},
        {"intermediate", "intermediate_size"},
        {"vocabulary", "vocab_size"},
        {"mtp_layers", "num_nextn_predict_layers"},
        {"latent.q_rank", "q_lora_rank"},
        {"latent.kv_rank", "kv_lora_rank"},
        {"latent.plain", "qk_nope_head_dim"},
        {"latent.rotary", "qk_rope_head_dim"},
        {"latent.value", "v_head_dim"},
        {"experts.count", routed                      ? "n_routed_experts"
                          : model_type == "qwen3_moe" ? "num_experts"
                                                      : "num_local_experts"},
        {"experts.per_token", "num_experts_per_tok"},
        {"experts.intermediate", "moe_intermediate_size"},
        {"experts.shared", "n_shared_experts"},
        {"experts.dense_layers", "first_k_dense_replace"}};
    const std::size_t colon = error.what.find(':');
    const auto* const found =
        std::ranges::find(names, std::string_view(error.what).substr(0, colon),
                          &std::pair<std::string_view, std::string_view>::first);
    if (found != std::end(names)) error.what.replace(0, colon, found->second);
    return error;
}

}  // namespace

Result<Architecture> parse_architecture_config(std::string_view json) {
    REFIT_TRY(fields, read_fields(json));
    Config config(std::move(fields));
    const std::string model_type = config.text("model_type");
    REFIT_CHECK(config.status());
    const auto* const family = std::ranges::find(kFamilies, model_type, &Family::model_type);
    if (family == std::end(kFamilies)) {
        std::string known;
        for (const Family& each : kFamilies)
            known += (known.empty() ? "" : ", ") + std::string(each.model_type);
        return unsupported(fmt::format("model_type: {} is none of {}", shown(model_type), known));
    }
    Architecture a;
    a.hidden = config.number("hidden_size");
    a.layers = config.number("num_hidden_layers");
    a.heads = config.number("num_attention_heads");
    a.intermediate = config.number("intermediate_size");
    a.vocabulary = config.number("vocab_size");
    a.tied_embeddings = config.flag_or("tie_word_embeddings", false);
    REFIT_CHECK(config.status());
    family->read(config, a);
    REFIT_CHECK(config.status());
    const Status checked = check_architecture(a);
    if (!checked.has_value()) return in_config_terms(checked.error(), model_type);
    return a;
}

Result<Architecture> architecture_of_config(const std::filesystem::path& file) {
    auto text = load_text_file(file);
    if (!text.has_value()) return in_file(text.error(), file.string());
    auto architecture = parse_architecture_config(text.value());
    if (!architecture.has_value()) return in_file(architecture.error(), file.string());
    const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
    architecture.value().name = folder.filename().string();
    architecture.value().source = file.string();
    return architecture;
}

}  // namespace refit
