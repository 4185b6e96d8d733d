// Small kernels that are right because of one synchronisation each: what the executor, the
// schedules and the thread sanitizer must be able to tell apart from its absence.
#pragma once

#include <cstdint>

#include "kernels/simt/simt.hpp"

namespace refit::kernels {
inline namespace SIMT_TARGET {

struct SyncShared {
    unsigned words[128];
};

/// out[i] = in[127 - i], through shared memory, for two rounds.
__global__ void turn_around(const unsigned* in, unsigned* out) {
    auto& s = simt::shared<SyncShared>();
    for (unsigned round = 0; round < 2; ++round) {
        s.words[threadIdx.x] = in[128 * round + threadIdx.x];
        SIMT_SYNC(turn_written, __syncthreads());
        out[128 * round + threadIdx.x] = s.words[127 - threadIdx.x];
        SIMT_SYNC(turn_read, __syncthreads());
    }
}

/// The same within a warp. The shuffles order the threads, but no memory.
__global__ void turn_warp(const unsigned* in, unsigned* out) {
    auto& s = simt::shared<SyncShared>();
    const unsigned lane = threadIdx.x;
    for (unsigned round = 0; round < 2; ++round) {
        s.words[lane] = __shfl_sync(~0u, in[32 * round + lane], static_cast<int>(lane));
        SIMT_SYNC(turn_warp_written, __syncwarp());
        const unsigned word = s.words[31 - lane];
        out[32 * round + lane] = __shfl_sync(~0u, word, static_cast<int>(lane));
        SIMT_SYNC(turn_warp_read, __syncwarp());
    }
}

/// Block 0 hands a word to all other blocks; blocks begin in the order of their tickets.
__global__ void hand_over(unsigned* ticket, unsigned* word, unsigned* flag, unsigned* out) {
    const unsigned me = atomicAdd(ticket, 1u);
    if (me == 0) {
        *word = 42;
        simt::store(flag, 1u, SIMT_ORDER(hand_over_release));
    } else {
        while (simt::load(flag, SIMT_ORDER(hand_over_acquire)) == 0) __nanosleep(20);
        out[me] = *word;
    }
}

}  // namespace SIMT_TARGET
}  // namespace refit::kernels
