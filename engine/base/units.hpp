// Quantities that carry their unit in the type: a byte count cannot be passed as a bit rate.
//
// Rule: `Bytes{4096}` is the only way in, `.count` the only way out. Equal units add and compare;
// a plain integer scales; crossing units takes a named function such as transmit_time().
// Time inside the program is integer nanoseconds. Floating-point seconds exist only in reports.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "engine/base/assert.hpp"

namespace refit {

template <class Unit, class Rep>
struct Quantity {
    Rep count{};

    constexpr Quantity() = default;
    explicit constexpr Quantity(Rep value) : count(value) {}

    friend constexpr auto operator<=>(Quantity, Quantity) = default;  // NOLINT(*-use-nullptr)
    friend constexpr Quantity operator+(Quantity a, Quantity b) {
        return Quantity{a.count + b.count};
    }
    friend constexpr Quantity operator-(Quantity a, Quantity b) {
        return Quantity{a.count - b.count};
    }
    friend constexpr Quantity operator*(Quantity a, Rep times) { return Quantity{a.count * times}; }
    constexpr Quantity& operator+=(Quantity other) {
        count += other.count;
        return *this;
    }
};

using Bytes = Quantity<struct BytesUnit, std::uint64_t>;
using Words = Quantity<struct WordsUnit, std::uint64_t>;  // 16-bit BF16 words
using Nanoseconds = Quantity<struct NanosecondsUnit, std::int64_t>;
using BitsPerSecond = Quantity<struct BitsPerSecondUnit, std::uint64_t>;
using BytesPerSecond = Quantity<struct BytesPerSecondUnit, std::uint64_t>;
using FlopPerSecond = Quantity<struct FlopPerSecondUnit, std::uint64_t>;

inline constexpr Words operator""_words(unsigned long long n) { return Words{n}; }
inline constexpr Bytes operator""_KiB(unsigned long long n) { return Bytes{n << 10}; }
inline constexpr Bytes operator""_MiB(unsigned long long n) { return Bytes{n << 20}; }
inline constexpr Bytes operator""_GiB(unsigned long long n) { return Bytes{n << 30}; }
inline constexpr BitsPerSecond operator""_Gbps(unsigned long long n) {
    return BitsPerSecond{n * 1'000'000'000};
}
inline constexpr Nanoseconds operator""_ms(unsigned long long n) {
    return Nanoseconds{static_cast<std::int64_t>(n) * 1'000'000};
}
inline constexpr Nanoseconds operator""_s(unsigned long long n) {
    return Nanoseconds{static_cast<std::int64_t>(n) * 1'000'000'000};
}

constexpr Bytes size_of(Words n) { return Bytes{n.count * 2}; }

/// Seconds for a report.
constexpr double to_seconds(Nanoseconds t) { return static_cast<double>(t.count) / 1e9; }

namespace detail {
/// ceil(amount * 1e9 / per_second), for products past 2^64: 2 TB x 8e9 is three orders beyond.
constexpr Nanoseconds time_for(std::uint64_t amount, std::uint64_t factor, std::uint64_t rate) {
    REFIT_ASSERT(rate > 0);
    __extension__ using Wide = unsigned __int128;
    const Wide scaled = Wide{amount} * factor * 1'000'000'000;
    const Wide time = (scaled + rate - 1) / rate;
    REFIT_ASSERT(time <= Wide{std::numeric_limits<std::int64_t>::max()});
    return Nanoseconds{static_cast<std::int64_t>(time)};
}
}  // namespace detail

/// Time to push `size` through a link of `rate`, rounded up to whole nanoseconds.
constexpr Nanoseconds transmit_time(Bytes size, BitsPerSecond rate) {
    return detail::time_for(size.count, 8, rate.count);
}

/// Time to process `size` at `rate`, rounded up to whole nanoseconds.
constexpr Nanoseconds process_time(Bytes size, BytesPerSecond rate) {
    return detail::time_for(size.count, 1, rate.count);
}

}  // namespace refit
