// Column keys in the form in which the vector loops multiply words by them: signed digits.
//
// Model    key = sum of digit[d] * 2^kDigitShift[d] mod 2^64, digit d within +-2^(kDigitBits[d]-1).
//          A signed word times a digit is one 16-bit multiply-add, summed in 32 bits. The digits
//          below 2^32 have 10 or 11 bits, so that 32 pair sums fit before they are widened; of the
//          others only the sum mod 2^32 matters, so that they are never widened.
// Layout   groups of 32 columns: a whole number of vectors at every level, one cache line a digit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace refit {

inline constexpr std::size_t kKeyDigits = 5;
inline constexpr unsigned kDigitBits[kKeyDigits] = {11, 11, 10, 16, 16};
inline constexpr unsigned kDigitShift[kKeyDigits] = {0, 11, 22, 32, 48};
inline constexpr std::size_t kGroupColumns = 32;

struct alignas(64) KeyGroup {
    std::int16_t digit[kKeyDigits][kGroupColumns];
};

/// Keys of `groups` groups of held columns: column first + k * step for the k-th.
struct KeyRange {
    std::uint64_t prefix;  // digest_key_prefix() of the column axis
    std::uint64_t first;
    std::uint64_t step;
    std::size_t groups;
};

/// Room for the keys of a run of columns. `sums[g]` is the sum of all keys before group g.
struct ColumnKeys {
    explicit ColumnKeys(std::size_t columns)
        : capacity((columns + kGroupColumns - 1) / kGroupColumns),
          groups(std::make_unique_for_overwrite<KeyGroup[]>(capacity)),
          sums(std::make_unique_for_overwrite<std::uint64_t[]>(capacity + 1)) {}

    std::size_t capacity;  // in groups
    std::unique_ptr<KeyGroup[]> groups;
    std::unique_ptr<std::uint64_t[]> sums;
};

/// `count` columns of `keys` from its column `first` on.
struct KeyRun {
    const ColumnKeys& keys;
    std::size_t first;
    std::size_t count;
};

}  // namespace refit
