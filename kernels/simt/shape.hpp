// What a launch asks of a device, as plain numbers: made by host code, read by both targets.
//
// Limits   those that sm_80, sm_90 and sm_100 have in common: 1024 threads to a block, 163 KiB of
//          shared memory, 2^31 - 1 blocks in x and 65535 in y and z. A launch beyond them fails.
#pragma once

#include <cstddef>
#include <cstdint>

namespace refit::simt {

inline constexpr unsigned kWarpLanes = 32;
inline constexpr unsigned kThreadsMax = 1024;
inline constexpr std::size_t kSharedMax = 163 * 1024;

struct Extent {
    unsigned x = 1;
    unsigned y = 1;
    unsigned z = 1;

    constexpr std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

struct LaunchShape {
    const char* kernel;  // its name, for messages and timelines
    Extent grid;
    Extent block;
    std::size_t shared_bytes = 0;
};

}  // namespace refit::simt
