#include "workloads/one_step.hpp"

#include <cmath>
#include <numbers>

#include "engine/base/assert.hpp"
#include "kernels/weight_field.hpp"

namespace refit {
namespace {

/// Variances of what a word multiplies its orbits by: the sum of four hexadecimal digits for either
/// side of the slow one, a number of six bits for the fast one.
constexpr double kSlowVariance = 4 * (16.0 * 16 - 1) / 12;
constexpr double kFastVariance = (64.0 * 64 - 1) / 12;

/// Mean square of the way from the start, over all phases, at an activity with a large radius.
double mean_square(std::uint32_t steps) {
    constexpr std::int32_t kActivity = 63;
    double sum = 0;
    for (std::uint32_t phase = 0; phase < kEpochVersions; ++phase) {
        const FieldOrbit at = field::orbit(kActivity, phase, steps);
        const double cos = at.slow_cos;
        const double sin = at.slow_sin;
        const double fast = at.fast;
        sum += kSlowVariance * (cos * cos + sin * sin) + kFastVariance * fast * fast;
    }
    return sum;
}

}  // namespace

double net_growth(std::uint32_t steps) {
    REFIT_ASSERT(steps >= 1 && steps <= kNetStepsMax);
    return std::sqrt(mean_square(steps) / mean_square(1));
}

double share_of_move(double mean_move) {
    if (mean_move <= 0) return 0;
    const double sigma = mean_move * std::sqrt(std::numbers::pi / 2);
    return mean_move * -std::expm1(-1 / (2 * sigma * sigma)) +
           std::erfc(1 / (sigma * std::numbers::sqrt2));
}

double one_step_share(double net, std::uint32_t steps) {
    REFIT_ASSERT(net >= 0 && net < 1);
    const double growth = net_growth(steps);
    if (net == 0 || steps == 1) return net;
    // The share grows with the move, so its logarithm is found by halving. 2^-64 last places change
    // nothing, 2^64 of them everything that a double can tell from one.
    double low = -64;
    double high = 64;
    for (int i = 0; i < 64; ++i) {
        const double middle = (low + high) / 2;
        (share_of_move(std::exp2(middle)) < net ? low : high) = middle;
    }
    return share_of_move(std::exp2(low) / growth);
}

}  // namespace refit
