// How much of a compute load codec work beside it takes: both rates alone and beside one another.
//
// Method   in turn, so that a busy machine slows all alike: the load alone, the load with the
//          codec's work on another thread for as long, that work alone; every second round in the
//          opposite order. A round gives one ratio beside/alone; stolen is 1 less the median of
//          them, with the ends of all. Below 0 when noise is larger than what is stolen.
// Model    two threads of one machine share caches, memory and clock; where there is no second core
//          to be had they take turns on one, which `on_core` tells apart: the load's CPU time over
//          wall time while the codec works. On a GPU the two share more than that: an emulation
//          says nothing of it.
// Errors   what the work throws on its thread is rethrown here.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "workloads/compute_load.hpp"

namespace refit {

/// One piece of codec work; returns the BF16 weight bytes it was for.
using CodecWork = std::function<Bytes()>;

struct StolenClocks {
    MonotonicClock wall;
    MonotonicClock thread;  // CPU time of the calling thread
};

/// Rates of one round: FLOP/s of the load, bytes/s of the codec.
struct StolenRound {
    double load_alone = 0;
    double load_beside = 0;
    double codec_alone = 0;
    double codec_beside = 0;
    double on_core = 0;  // of the load beside
};

/// Of several rounds.
struct Spread {
    double median = 0;
    double low = 0;
    double high = 0;
};

struct StolenShare {
    double load_alone = 0;  // medians
    double load_beside = 0;
    double codec_alone = 0;
    double codec_beside = 0;
    double on_core = 0;
    Spread stolen;
    std::uint64_t rounds = 0;
};

/// Rounds without both rates of the load give no ratio.
StolenShare stolen_share(const std::vector<StolenRound>& rounds);

/// `load` has been cut to the slice it is to run. `between` is called before every slice; it may
/// throw.
StolenShare measure_stolen(ComputeLoad& load,
                           const CodecWork& work,
                           std::uint64_t rounds,
                           const StolenClocks& clocks,
                           const std::function<void()>& between);

}  // namespace refit
