// The digest's keys: D = sum over words of R(tensor, row) * C(tensor, column) * bits, mod 2^64.
//
// Why      R and C are odd, so each factor is invertible and any single changed word changes D;
//          they depend on the canonical address, so swapped rows, swapped tensors or a word in the
//          wrong place change D too. The sum is the same over any sharding, in any order, and can
//          be updated from changed words alone.
// Not      cryptographic. Chunks and manifests carry SHA-256.
#pragma once

#include <cstdint>

namespace refit {

enum class DigestAxis : std::uint64_t { row = 0x526F7700, column = 0x436F6C00 };

inline constexpr std::uint64_t kDigestFactors[] = {0x94D049BB133111EBu, 0xBF58476D1CE4E5B9u};

/// What the keys of one axis of one tensor have in common.
constexpr std::uint64_t digest_key_prefix(std::uint64_t salt,
                                          std::uint64_t tensor,
                                          DigestAxis axis) {
    std::uint64_t z = salt ^ (static_cast<std::uint64_t>(axis) * 0xD1B54A32D192ED03u);
    z = (z ^ (tensor + 0x9E3779B97F4A7C15u)) * kDigestFactors[1];
    return z ^ (z >> 29);
}

/// The key of one index.
constexpr std::uint64_t digest_key_at(std::uint64_t prefix, std::uint64_t index) {
    std::uint64_t z = (prefix ^ index) * kDigestFactors[0];
    z = (z ^ (z >> 31)) * kDigestFactors[1];
    return (z ^ (z >> 30)) | 1u;
}

constexpr std::uint64_t digest_key(std::uint64_t salt,
                                   std::uint64_t tensor,
                                   DigestAxis axis,
                                   std::uint64_t index) {
    return digest_key_at(digest_key_prefix(salt, tensor, axis), index);
}

}  // namespace refit
