// How each cause of idle, and being down, is hatched: told apart without colour, and alike in every
// view.
#pragma once

#include <array>

#include "viz/spans.hpp"

namespace refit {

struct Hatch {
    const char* color;  // of the palette
    int angle;          // degrees
    int gap;            // pixels
};

/// By IdleCause, then of a node that is down.
inline constexpr std::array<Hatch, 10> kHatches = {{{"payload", 45, 6},
                                                    {"barrier", -45, 6},
                                                    {"drain", 0, 5},
                                                    {"overwrite", 90, 5},
                                                    {"check", 45, 4},
                                                    {"recovery", -45, 4},
                                                    {"bubble", 20, 8},
                                                    {"kv", 70, 8},
                                                    {"straggler", -20, 8},
                                                    {"down", 45, 3}}};
inline constexpr const Hatch& kDownHatch = kHatches.back();

constexpr const Hatch& hatch_of(IdleCause cause) {
    return kHatches[static_cast<std::size_t>(cause)];
}

}  // namespace refit
