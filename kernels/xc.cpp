#include "kernels/xc.hpp"

#include <algorithm>

#include "kernels/check.hpp"

namespace refit {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr unsigned kFraction = 62;  // bits behind the point of the numbers below
constexpr std::uint64_t kOne = std::uint64_t{1} << kFraction;

/// 2^(r/16) for r = 0..15.
constexpr std::array<std::uint64_t, 16> kRoots = {
    0x4000000000000000, 0x42d561b3e6243d8a, 0x45cae0f1f545eb73, 0x48e1e9b9d588e19b,
    0x4c1bf828c6dc54b8, 0x4f7a993048d088d7, 0x52ff6b54d8a89c75, 0x56ac1f752150a563,
    0x5a827999fcef3242, 0x5e8451cfac061b5f, 0x62b39508aa836d6f, 0x6712460a8fc24072,
    0x6ba27e656b4eb57a, 0x70666f76154a7089, 0x75606373ee921c97, 0x7a92be8a92436616};

constexpr std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
    return static_cast<std::uint64_t>(Wide{a} * b >> kFraction);
}

/// 1 - exp(-2^(half/16 - 20)): p for the octave below 2^-20, then p(2h) = p(2 - p) per octave.
constexpr std::uint64_t probability(unsigned half) {
    const std::uint64_t hazard = kRoots[half % 16] >> 20;
    std::uint64_t p = hazard - multiply(hazard, hazard) / 2;
    for (unsigned octave = half / 16; octave > 0; --octave) p = multiply(p, 2 * kOne - p);
    return p;
}

struct Hazards {
    std::array<std::uint16_t, 256> odds;
    std::array<std::uint64_t, 255> middle;  // between q and q + 1, as a fraction
};

constexpr Hazards make_hazards() {
    Hazards hazards{};
    for (unsigned q = 0; q < 256; ++q) {
        constexpr unsigned kDrop = kFraction - kXcOddsBits;
        const std::uint64_t half = std::uint64_t{1} << (kDrop - 1);
        const std::uint64_t rounded = (probability(2 * q) + half) >> kDrop;
        hazards.odds[q] =
            static_cast<std::uint16_t>(std::clamp<std::uint64_t>(rounded, 1, kXcOddsOne - 1));
        if (q < 255) hazards.middle[q] = probability(2 * q + 1);
    }
    return hazards;
}

constexpr Hazards kHazards = make_hazards();

}  // namespace

void XcCounts::add(const XcCounts& other) {
    for (std::size_t k = 0; k <= kXcStages; ++k)
        for (std::size_t e = 0; e < kXcExponents; ++e) steps[k][e] += other.steps[k][e];
}

std::uint16_t xc_hazard(std::uint8_t q) { return kHazards.odds[q]; }

std::uint8_t xc_nearest_hazard(std::uint64_t ones, std::uint64_t all) {
    REFIT_KERNEL_CHECK(all > 0 && all < (std::uint64_t{1} << 31) && ones <= all);
    const std::uint64_t fraction = ones * (std::uint64_t{1} << 31) / all << (kFraction - 31);
    const auto above = std::ranges::lower_bound(kHazards.middle, fraction);
    return static_cast<std::uint8_t>(above - kHazards.middle.begin());
}

XcOdds xc_odds(const std::array<std::uint8_t, kXcBuckets>& table, unsigned level) {
    REFIT_KERNEL_CHECK(level > 0 && level < kXcLevels);
    XcOdds odds{};
    for (std::size_t b = 0; b < kXcBuckets; ++b) {
        const int q = table[b] + static_cast<int>(kXcLevelStep * level) -
                      static_cast<int>(kXcLevelStep * kXcMiddleLevel);
        odds[b] = xc_hazard(static_cast<std::uint8_t>(std::clamp(q, 0, 255)));
    }
    return odds;
}

}  // namespace refit
