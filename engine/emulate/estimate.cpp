#include "engine/emulate/estimate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "engine/base/assert.hpp"

namespace refit {

double student_t_975(double freedom) {
    // Up to ten, in between linear in 1 / freedom; above, the expansion around the normal.
    constexpr std::array<double, 10> kTable = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706,
                                               2.4469,  2.3646, 2.3060, 2.2622, 2.2281};
    const double f = std::max(1.0, freedom);
    if (f < 10) {
        const auto below = static_cast<std::size_t>(f);
        const double lower = 1 / static_cast<double>(below);
        const double upper = 1 / static_cast<double>(below + 1);
        const double part = (lower - 1 / f) / (lower - upper);
        return kTable[below - 1] + part * (kTable[below] - kTable[below - 1]);
    }
    constexpr double z = 1.959964;
    constexpr double z3 = z * z * z;
    constexpr double z5 = z3 * z * z;
    constexpr double z7 = z5 * z * z;
    return z + (z3 + z) / (4 * f) + (5 * z5 + 16 * z3 + 3 * z) / (96 * f * f) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * f * f * f);
}

Estimate estimate_total(std::span<const StratumValues> strata) {
    double total = 0;
    double variance = 0;
    double freedom_terms = 0;  // of Satterthwaite's denominator
    for (const StratumValues& stratum : strata) {
        const std::size_t taken = stratum.tile_values.size();
        REFIT_ASSERT(taken > 0 && taken == stratum.tile_words.size() && taken <= stratum.tiles);
        const double words =
            std::accumulate(stratum.tile_words.begin(), stratum.tile_words.end(), 0.0);
        const double values =
            std::accumulate(stratum.tile_values.begin(), stratum.tile_values.end(), 0.0);
        const double ratio = values / words;
        total += stratum.words * ratio;
        if (taken == stratum.tiles || taken < 2) continue;
        double squares = 0;
        for (std::size_t i = 0; i < taken; ++i) {
            const double off = stratum.tile_values[i] - ratio * stratum.tile_words[i];
            squares += off * off;
        }
        const auto n = static_cast<double>(taken);
        const auto tiles = static_cast<double>(stratum.tiles);
        // Against the words the tiles would have on average, which a sample need not meet.
        const double scale = stratum.words * n / (tiles * words);
        const double part =
            scale * scale * tiles * tiles * (1 - n / tiles) * squares / ((n - 1) * n);
        variance += part;
        freedom_terms += part * part / (n - 1);
    }
    if (variance <= 0) return {total, total, total};
    const double half = student_t_975(variance * variance / freedom_terms) * std::sqrt(variance);
    return {total, total - half, total + half};
}

}  // namespace refit
