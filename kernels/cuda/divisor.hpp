// Division by a number that stays the same for a whole launch: one high multiplication and shifts.
//
// Exact    for every 64-bit dividend and every divisor from 1 up: the round-up reciprocal of
//          Granlund and Montgomery (1994), whose 65th bit is the second addition.
#pragma once

#include <bit>
#include <cstdint>

namespace refit::kernels {

struct Divisor {
    std::uint64_t divisor = 1;
    std::uint64_t reciprocal = 1;  // floor(2^64 * (2^l - d) / d) + 1, l = ceil(log2 d)
    std::uint32_t shift_first = 0;
    std::uint32_t shift_last = 0;
};

/// On the host, once per launch. `divisor` is not 0.
inline Divisor make_divisor(std::uint64_t divisor) {
    __extension__ using Wide = unsigned __int128;
    const auto bits = static_cast<std::uint32_t>(std::bit_width(divisor - 1));
    const Wide excess = (Wide{1} << bits) - divisor;
    const auto reciprocal = static_cast<std::uint64_t>((excess << 64) / divisor + 1);
    return {divisor, reciprocal, bits == 0 ? 0u : 1u, bits == 0 ? 0u : bits - 1};
}

}  // namespace refit::kernels
