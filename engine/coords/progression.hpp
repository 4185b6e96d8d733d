// Arithmetic progressions: what a box takes along one axis, and where it puts it.
//
// Model    {first, first + step, ...}, `count` members. A result with one member has step 1.
// Limit    members below 2^48 and, where count > 1, steps below 2^48: a catalog's and a rank's
//          limits. Least common multiples then fit 128 bits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace refit {

struct Progression {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint64_t step = 1;

    /// The largest member; count > 0.
    std::uint64_t last() const { return first + (count - 1) * step; }

    friend bool operator==(const Progression&, const Progression&) = default;
};

/// The common members, which are again a progression; nothing if there are none.
std::optional<Progression> intersect(const Progression& a, const Progression& b);

/// How many progressions difference() yields at most.
std::uint64_t difference_parts(const Progression& whole, const Progression& part);

/// The members of `whole` that are not in `part`, as disjoint progressions.
/// `part` is a non-empty subset: what intersect() made of `whole` and another.
std::vector<Progression> difference(const Progression& whole, const Progression& part);

}  // namespace refit
