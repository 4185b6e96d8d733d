// A model small enough to walk, as WordPairs: words from a seed, some of them changed.
#pragma once

#include "engine/base/rng.hpp"
#include "engine/emulate/word_pairs.hpp"
#include "tests/support/random_catalog.hpp"

namespace refit {

/// Three layers with an expert pair each; the matrices have several tiles.
inline Catalog small_moe() {
    std::vector<TensorSpec> specs;
    const auto add = [&](const std::string& name, std::vector<std::uint64_t> shape) {
        specs.push_back({name + ".weight", WordType::bf16, std::move(shape)});
    };
    add("model.embed_tokens", {1500, 512});
    add("model.norm", {512});
    for (int layer = 0; layer < 3; ++layer) {
        const std::string prefix = "model.layers." + std::to_string(layer) + ".";
        add(prefix + "input_layernorm", {512});
        add(prefix + "self_attn.q_proj", {1300, 512});
        for (int e = 0; e < 2; ++e) {
            const std::string expert = prefix + "mlp.experts." + std::to_string(e) + ".";
            add(expert + "up_proj", {2100, 512});
            add(expert + "down_proj", {512, 2100});
        }
    }
    auto catalog = Catalog::make(std::move(specs));
    REFIT_ASSERT(catalog.has_value());
    return std::move(catalog).value();
}

class DrawnPairs : public WordPairs {
public:
    explicit DrawnPairs(std::uint64_t seed, std::uint64_t per_million = 30'000)
        : seed_(seed), per_million_(per_million) {}

    void read(const Tile& tile,
              std::span<std::uint16_t> base,
              std::span<std::uint16_t> next) const override {
        for (const Piece& piece : tile.pieces) {
            for (std::uint64_t i = 0; i < piece.words; ++i) {
                const std::uint64_t x = draw(seed_, piece.tensor, piece.tensor_first + i);
                // Exponents spread over a dozen values, rates differ between tensors.
                const auto word = static_cast<std::uint16_t>(0x3C00 + (x & 0x05FF));
                const bool changes = (x >> 20) % 1'000'000 < per_million_ * (1 + piece.tensor % 3);
                base[piece.tile_first + i] = word;
                next[piece.tile_first + i] =
                    static_cast<std::uint16_t>(word + (changes ? 1 + (x >> 60) % 2 : 0));
            }
        }
    }

private:
    std::uint64_t seed_;
    std::uint64_t per_million_;
};

}  // namespace refit
