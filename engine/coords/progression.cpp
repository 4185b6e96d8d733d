#include "engine/coords/progression.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/base/assert.hpp"

namespace refit {

namespace {

__extension__ using Wide = __int128;

/// x with value * x = 1 mod `modulus`, for coprime arguments: extended Euclid.
Wide inverse(Wide value, Wide modulus) {
    Wide r0 = modulus, r1 = value % modulus;
    Wide t0 = 0, t1 = 1;
    while (r1 != 0) {
        const Wide quotient = r0 / r1;
        r0 = std::exchange(r1, r0 - quotient * r1);
        t0 = std::exchange(t1, t0 - quotient * t1);
    }
    return t0 < 0 ? t0 + modulus : t0;
}

Progression between(std::uint64_t first, std::uint64_t last, std::uint64_t step) {
    const std::uint64_t count = (last - first) / step + 1;
    return {first, count, count == 1 ? 1 : step};
}

std::uint64_t step_of(const Progression& p) { return p.count > 1 ? p.step : 1; }

/// How many steps of `whole` one step of `part` takes.
std::uint64_t ratio_of(const Progression& whole, const Progression& part) {
    return part.count > 1 ? part.step / whole.step : 1;
}

}  // namespace

std::optional<Progression> intersect(const Progression& a, const Progression& b) {
    if (a.count == 0 || b.count == 0) return std::nullopt;
    const std::uint64_t low = std::max(a.first, b.first);
    const std::uint64_t high = std::min(a.last(), b.last());
    if (low > high) return std::nullopt;
    const std::uint64_t step_a = step_of(a), step_b = step_of(b);
    if (step_a == 1 && step_b == 1) return between(low, high, 1);

    // Chinese remainders: the one member of both residue classes in [a.first, a.first + lcm).
    const Wide common = std::gcd(step_a, step_b);
    const Wide apart = Wide{b.first} - Wide{a.first};
    if (apart % common != 0) return std::nullopt;
    const Wide modulus = step_b / common;
    const Wide steps = ((apart / common) % modulus + modulus) % modulus;
    const Wide times = steps * inverse(step_a / common, modulus) % modulus;
    const Wide multiple = step_a * modulus;
    Wide first = Wide{a.first} + step_a * times;
    if (first < low) first += (low - first + multiple - 1) / multiple * multiple;
    if (first > high) return std::nullopt;
    const auto start = static_cast<std::uint64_t>(first);
    if (first + multiple > high) return Progression{start, 1, 1};
    return between(start, high, static_cast<std::uint64_t>(multiple));
}

std::uint64_t difference_parts(const Progression& whole, const Progression& part) {
    return 1 + ratio_of(whole, part);
}

std::vector<Progression> difference(const Progression& whole, const Progression& part) {
    REFIT_ASSERT(part.count > 0 && part.first >= whole.first && part.last() <= whole.last());
    const std::uint64_t ratio = ratio_of(whole, part);
    std::vector<Progression> rest;
    const auto add = [&](std::uint64_t first, std::uint64_t count, std::uint64_t step) {
        if (count > 0) rest.push_back({first, count, count == 1 ? 1 : step});
    };
    const std::uint64_t before = (part.first - whole.first) / whole.step;
    add(whole.first, before, whole.step);
    for (std::uint64_t skip = 1; skip < ratio; ++skip)
        add(part.first + skip * whole.step, part.count - 1, part.step);
    const std::uint64_t through = (part.last() - whole.first) / whole.step + 1;
    add(whole.first + through * whole.step, whole.count - through, whole.step);
    return rest;
}

}  // namespace refit
