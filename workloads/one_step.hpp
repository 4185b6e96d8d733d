// From the net change of several optimizer steps back to the change of one.
//
// Law      given the exponent of a word, one step moves its master by u; |u| is half normal over
//          the words and the place in the rounding cell is uniform, so a move of mean length m
//          (in units of the last place) changes the share
//            F(m) = E min(1, |u|) = m (1 - exp(-1 / 2s^2)) + erfc(1 / (s sqrt 2)),
//            s = m sqrt(pi / 2).
//          Directions turn slowly: k steps together move a master by g(k) steps in the root of the
//          mean square, g(1) = 1, the chord of the orbits of the weight field.
//          One step of the exponent whose net share is p:  F(F^-1(p) / g(k)).
// Source   notes/traces.md 3 and 5; g(k) is kernels/weight_field.hpp's, its orbits called as they
//          are. No measured rate of one step enters.
// Error    estimate over the measured first step, shared traces: dense -1.2, -2.5, -3.2, -5.8 % at
//          k = 2, 4, 8, 16; moe -1.7, -1.5, -1.8 % at k = 2, 4, 8; from other starts at most
//          -5.0 %. All are low: steps turn a little faster than the orbits. The field itself: 0 to
//          -7 %, as its rows differ in |u|. Masters that began at BF16 words are late to change at
//          exponents whose cell they have not crossed yet; there (2^-7 in dense: 1.4 times) the
//          estimate is high, but few changes are theirs.
// Limit    1 <= steps <= kNetStepsMax, half a turn of the slow orbit; measured up to 16.
#pragma once

#include <cstdint>

namespace refit {

inline constexpr std::uint32_t kNetStepsMax = 32;

/// g: how far masters are after `steps`, in lengths of one step.
double net_growth(std::uint32_t steps);

/// F: the share of words that change when masters move by `mean_move` last places in the mean.
double share_of_move(double mean_move);

/// The share that one step changes where `steps` together changed the share `net`, 0 <= net < 1.
double one_step_share(double net, std::uint32_t steps);

}  // namespace refit
