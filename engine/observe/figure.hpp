// A number with its unit and where it comes from. The weakest input decides.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace refit {

enum class Provenance : std::uint8_t {
    measured,     // real bits or a real clock
    simulated,    // virtual time over declared rates that somebody measured
    extrapolated  // over a declared rate nobody measured, or bytes nobody produced
};

constexpr std::string_view provenance_name(Provenance provenance) {
    switch (provenance) {
        case Provenance::measured:
            return "measured";
        case Provenance::simulated:
            return "simulated";
        default:
            return "extrapolated";
    }
}

constexpr Provenance weakest(Provenance a, Provenance b) { return std::max(a, b); }

struct Figure {
    double value = 0;
    std::string unit;
    Provenance provenance = Provenance::measured;
    std::optional<std::pair<double, double>> ci95{};
};

}  // namespace refit
