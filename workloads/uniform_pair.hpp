// Two versions of a made-up model in memory: profile `uniform`, for benches and tests.
//
// Model     Decoder layers in Hugging Face names (attention, gated MLP, norms) and an embedding
//           that takes up what is left: at least four layers, as wide as fits. Weights are sums of
//           three uniform integers, scaled per tensor (standard deviation 1/128 to 1/16), so the
//           exponents spread as in trained weights; norms lie within 16 steps of 1.
// Changed   each word on its own with probability changed_per_million / 1e6, by one step up or
//           down in monotone integer order: BF16 patterns ordered as numbers, modulo 2^16.
// Exact     integers only: one seed gives the same bytes everywhere and for any device. The base
//           does not depend on changed_per_million.
// Limit     kUniformWordsMin <= words <= kUniformWordsMax, rounded down to a multiple of the
//           model's width. 4 bytes per word.
// Source    notes: real steps are mostly +-1 step; positions in real steps follow the exponent,
//           these do not, which leaves an encoder nothing but the rate.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/coords/catalog.hpp"
#include "kernels/device.hpp"

namespace refit {

inline constexpr std::uint64_t kUniformWordsMin = std::uint64_t{16} << 10;
inline constexpr std::uint64_t kUniformWordsMax = std::uint64_t{1} << 30;

struct UniformSpec {
    std::uint64_t words = std::uint64_t{16} << 20;
    std::uint32_t changed_per_million = 30'000;
    std::uint64_t seed = 1;
};

/// All words of two versions of one catalog, in canonical order.
struct WordPair {
    Catalog catalog;
    std::vector<std::uint16_t> base;
    std::vector<std::uint16_t> next;
};

WordPair make_uniform_pair(Device& device, const UniformSpec& spec);

}  // namespace refit
