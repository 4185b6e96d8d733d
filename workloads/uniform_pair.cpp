#include "workloads/uniform_pair.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "engine/base/rng.hpp"

namespace refit {

namespace {

constexpr std::uint64_t kWidthMax = 4096;
constexpr std::uint64_t kLayersMin = 4;
constexpr std::uint64_t kBlockWords = std::uint64_t{64} << 10;  // made by one lane at a time

/// Layers may take seven eighths of the words; the embedding is the rest.
constexpr std::uint64_t layer_budget(std::uint64_t words) { return words / 8 * 7; }

constexpr std::uint64_t mlp_rows(std::uint64_t width) { return width / 4 * 11; }

constexpr std::uint64_t layer_words(std::uint64_t width) {
    const std::uint64_t attention = 2 * width * width + 2 * (width / 4) * width;
    return attention + 3 * mlp_rows(width) * width + 2 * width;
}

Catalog model_of(std::uint64_t words) {
    std::uint64_t width = kWidthMax;
    while (kLayersMin * layer_words(width) > layer_budget(words)) width /= 2;
    const std::uint64_t layers = layer_budget(words) / layer_words(width);
    const std::uint64_t rest = words - layers * layer_words(width) - width;

    std::vector<TensorSpec> specs;
    const auto add = [&](const std::string& name, std::vector<std::uint64_t> shape) {
        specs.push_back({name + ".weight", WordType::bf16, std::move(shape)});
    };
    add("model.embed_tokens", {rest / width, width});
    add("model.norm", {width});
    for (std::uint64_t layer = 0; layer < layers; ++layer) {
        const std::string prefix = "model.layers." + std::to_string(layer) + ".";
        add(prefix + "self_attn.q_proj", {width, width});
        add(prefix + "self_attn.k_proj", {width / 4, width});
        add(prefix + "self_attn.v_proj", {width / 4, width});
        add(prefix + "self_attn.o_proj", {width, width});
        add(prefix + "mlp.gate_proj", {mlp_rows(width), width});
        add(prefix + "mlp.up_proj", {mlp_rows(width), width});
        add(prefix + "mlp.down_proj", {width, mlp_rows(width)});
        add(prefix + "input_layernorm", {width});
        add(prefix + "post_attention_layernorm", {width});
    }
    auto catalog = Catalog::make(std::move(specs));
    REFIT_ASSERT(catalog.has_value());
    return std::move(catalog).value();
}

/// Orders BF16 patterns as numbers, and back: its own inverse.
constexpr std::uint16_t monotone(std::uint16_t word) {
    return (word & 0x8000) != 0 ? static_cast<std::uint16_t>(word ^ 0x7FFF) : word;
}

/// How the words of one tensor are drawn.
struct Scale {
    bool norm;
    std::uint32_t factor;  // 64..127
    std::uint32_t shift;   // the weight is integer * factor / 2^shift
};

Scale scale_of(const Tensor& tensor, std::uint32_t id, std::uint64_t seed) {
    const std::uint64_t random = draw(seed, 2, id);
    return {tensor.shape.size() == 1, static_cast<std::uint32_t>(64 + random % 64),
            static_cast<std::uint32_t>(31 + random / 64 % 3)};
}

std::uint16_t weight(const Scale& scale, std::uint64_t random) {
    if (scale.norm) return static_cast<std::uint16_t>(0x3F80 - 16 + random % 33);
    constexpr std::uint64_t kMask = (std::uint64_t{1} << 21) - 1;
    const std::uint64_t sum = (random & kMask) + (random >> 21 & kMask) + (random >> 42 & kMask);
    const auto centred = static_cast<std::int64_t>(sum) - (std::int64_t{3} << 20);
    const auto magnitude = static_cast<std::uint64_t>(centred < 0 ? -centred : centred);
    if (magnitude == 0) return 0;
    const std::uint64_t scaled = magnitude * scale.factor;
    const auto top = static_cast<std::uint32_t>(std::bit_width(scaled)) - 1;
    const std::uint64_t mantissa = top < 7 ? scaled << (7 - top) : scaled >> (top - 7);
    const std::uint32_t exponent = 127 + top - scale.shift;
    return static_cast<std::uint16_t>((centred < 0 ? 0x8000u : 0u) | exponent << 7 |
                                      (mantissa & 0x7F));
}

}  // namespace

WordPair make_uniform_pair(Device& device, const UniformSpec& spec) {
    REFIT_ASSERT(spec.words >= kUniformWordsMin && spec.words <= kUniformWordsMax);
    REFIT_ASSERT(spec.changed_per_million <= 1'000'000);
    WordPair pair{model_of(spec.words), {}, {}};
    const std::uint64_t words = pair.catalog.words().count;
    pair.base.resize(words);
    pair.next.resize(words);
    const std::uint64_t threshold =
        (std::uint64_t{spec.changed_per_million} << 32) / std::uint64_t{1'000'000};

    struct Block {
        Scale scale;
        std::uint64_t first;
        std::uint64_t words;
    };
    std::vector<Block> blocks;
    for (std::uint32_t id = 0; id < pair.catalog.tensors().size(); ++id) {
        const Tensor& tensor = pair.catalog.tensor(id);
        const Scale scale = scale_of(tensor, id, spec.seed);
        for (std::uint64_t at = 0; at < tensor.words; at += kBlockWords)
            blocks.push_back(
                {scale, tensor.first_word + at, std::min(kBlockWords, tensor.words - at)});
    }
    device.for_each(blocks.size(), [&](std::uint64_t b, unsigned) {
        const Block& block = blocks[b];
        for (std::uint64_t i = block.first; i < block.first + block.words; ++i) {
            const std::uint16_t word = weight(block.scale, draw(spec.seed, 0, i));
            const std::uint64_t random = draw(spec.seed, 1, i);
            pair.base[i] = pair.next[i] = word;
            if ((random >> 32) >= threshold) continue;
            const int step = (random & 1) != 0 ? 1 : -1;
            pair.next[i] = monotone(static_cast<std::uint16_t>(monotone(word) + step));
        }
    });
    return pair;
}

}  // namespace refit
