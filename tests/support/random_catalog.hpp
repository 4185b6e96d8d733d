// Tiny catalogs for everybody's tests: random shapes of every kind, and a transformer with Hugging
// Face names. Small enough to walk word by word.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/rng.hpp"
#include "engine/coords/catalog.hpp"

namespace refit {

/// A few 2-D, 1-D, scalar, zero-size and 3-D tensors of both types, at most a few thousand words.
/// The first of each kind is always there; names come in no particular order.
inline Catalog random_catalog(std::uint64_t seed) {
    Rng rng(seed, 0x636174);
    const auto extent = [&] { return 1 + rng.below(17); };
    std::vector<TensorSpec> specs;
    const auto add = [&](const char* kind, std::vector<std::uint64_t> shape) {
        const std::string name = "model.layers." + std::to_string(rng.below(4)) + "." + kind + "." +
                                 std::to_string(specs.size()) + ".weight";
        specs.push_back({name, rng.chance(200'000) ? WordType::f16 : WordType::bf16, shape});
    };
    for (std::uint64_t n = 1 + rng.below(3); n > 0; --n) add("q_proj", {extent(), extent()});
    for (std::uint64_t n = 1 + rng.below(3); n > 0; --n) add("norm", {extent()});
    for (std::uint64_t n = 1 + rng.below(2); n > 0; --n)
        add("experts", {extent(), 1 + rng.below(4), 1 + rng.below(6)});
    add("scale", {});
    add("empty", {extent(), 0});
    add("empty", {0, extent()});
    add("empty", {3, 0, 5});
    specs.push_back({"b.down_proj.weight", WordType::bf16, {extent(), extent()}});
    specs.push_back({"a.up_proj.weight", WordType::bf16, {extent(), extent()}});
    auto catalog = Catalog::make(std::move(specs));
    REFIT_ASSERT(catalog.has_value());
    return std::move(catalog).value();
}

struct TinyTransformer {
    std::uint64_t layers = 2;
    std::uint64_t hidden = 16;
    std::uint64_t heads = 4;
    std::uint64_t kv_heads = 2;
    std::uint64_t head_size = 4;
    std::uint64_t intermediate = 24;
    std::uint64_t vocabulary = 40;
};

/// The tensors of a dense decoder (Qwen3 naming), all BF16.
inline Catalog tiny_transformer(const TinyTransformer& size = {}) {
    const std::uint64_t q = size.heads * size.head_size, kv = size.kv_heads * size.head_size;
    std::vector<TensorSpec> specs;
    const auto add = [&](std::string name, std::vector<std::uint64_t> shape) {
        specs.push_back({std::move(name) + ".weight", WordType::bf16, std::move(shape)});
    };
    add("model.embed_tokens", {size.vocabulary, size.hidden});
    for (std::uint64_t i = 0; i < size.layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i) + ".";
        add(layer + "self_attn.q_proj", {q, size.hidden});
        add(layer + "self_attn.k_proj", {kv, size.hidden});
        add(layer + "self_attn.v_proj", {kv, size.hidden});
        add(layer + "self_attn.o_proj", {size.hidden, q});
        add(layer + "self_attn.q_norm", {size.head_size});
        add(layer + "self_attn.k_norm", {size.head_size});
        add(layer + "mlp.gate_proj", {size.intermediate, size.hidden});
        add(layer + "mlp.up_proj", {size.intermediate, size.hidden});
        add(layer + "mlp.down_proj", {size.hidden, size.intermediate});
        add(layer + "input_layernorm", {size.hidden});
        add(layer + "post_attention_layernorm", {size.hidden});
    }
    add("model.norm", {size.hidden});
    add("lm_head", {size.vocabulary, size.hidden});
    auto catalog = Catalog::make(std::move(specs));
    REFIT_ASSERT(catalog.has_value());
    return std::move(catalog).value();
}

}  // namespace refit
