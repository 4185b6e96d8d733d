// Randomness as a function: value = draw(seed, stream, index), so order of use never matters.
//
// Ours, because std:: distributions may differ between standard libraries and a run must repeat
// from its one seed. Not cryptographic.
#pragma once

#include <cstdint>

#include "engine/base/assert.hpp"

namespace refit {

/// SplitMix64's finalizer (Steele, Lea, Flood 2014): a bijection that mixes all 64 bits.
constexpr std::uint64_t mix64(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

constexpr std::uint64_t draw(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
    return mix64(mix64(mix64(seed + 0x9E3779B97F4A7C15u) ^ (stream * 0xD1B54A32D192ED03u)) +
                 (index + 1) * 0x9E3779B97F4A7C15u);
}

/// A cursor over one stream. Copy it to repeat; make another stream to be independent.
class Rng {
public:
    Rng(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

    std::uint64_t next() { return draw(seed_, stream_, index_++); }

    /// Uniform in [0, limit); the modulo bias is below 2^-32 for limits under 2^32.
    std::uint64_t below(std::uint64_t limit) {
        REFIT_ASSERT(limit > 0);
        return next() % limit;
    }

    /// True with probability per_million / 1e6: integers only, so every platform agrees.
    bool chance(std::uint64_t per_million) { return below(1'000'000) < per_million; }

private:
    std::uint64_t seed_;
    std::uint64_t stream_;
    std::uint64_t index_ = 0;
};

}  // namespace refit
