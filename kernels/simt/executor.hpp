// The host executor: runs the threads of a launch as fibers on the calling thread, one at a time.
//
// Model      A thread runs until it waits (barrier, warp intrinsic, yield) or ends; then the
//            schedule picks the next of all ready threads of the resident blocks. Same schedule,
//            same run. Blocks start in grid order, its reverse, or shuffled.
// Shared     memory is filled with junk and ends where the launch said, visibly to the address
//            sanitizer; valgrind sees it as undefined.
// Memory     order as the CUDA guide has it: __syncthreads, __syncwarp and acquire/release order,
//            ballots and shuffles do not. A build with thread sanitizer sees exactly these edges.
// Errors     Misuse, thrown by run(), with file, line, kernel, block and thread. Stricter than the
//            device where that is likely a bug: all threads of a block meet a barrier on the same
//            source line, and none has left. Frames of abandoned threads are not unwound, so a
//            kernel holds no object with a destructor (it could not on a device either).
// Threads    launches on different OS threads do not meet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>

#include "kernels/simt/shape.hpp"

namespace refit::simt {

/// Where a call stands. std::source_location is not there in clang 14.
struct Place {
    const char* file;
    unsigned line;

    static constexpr Place current(const char* file = __builtin_FILE(),
                                   unsigned line = __builtin_LINE()) {
        return {file, line};
    }
    friend bool operator==(const Place& a, const Place& b) {
        return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
    }
};

enum class Order : std::uint8_t { forward, reverse, random };

struct Schedule {
    Order order = Order::forward;
    std::uint64_t seed = 1;  // of Order::random
    unsigned resident_blocks = 1;
    const char* removed = nullptr;  // the one SIMT_SYNC or SIMT_ORDER that is left out
};

struct Counters {
    std::uint64_t launches = 0;
    std::uint64_t threads = 0;
    std::uint64_t switches = 0;
    std::uint64_t barriers = 0;  // calls, one per thread; likewise
    std::uint64_t warp_calls = 0;
};

struct Queue {
    Schedule schedule;
    Counters counters;
};

class Misuse : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Who the running CUDA thread is.
struct Ids {
    Extent thread;
    Extent block;
    Extent block_dim;
    Extent grid_dim;
    unsigned lane;
};

enum class WarpOp : std::uint8_t {
    sync,
    ballot,
    all,
    any,
    match_any,
    reduce_add,
    reduce_min,
    reduce_max,
    reduce_and,
    reduce_or,
    reduce_xor,
    shuffle,
    shuffle_up,
    shuffle_down,
    shuffle_xor,
};

struct WarpCall {
    WarpOp op;
    unsigned mask;
    std::uint64_t value = 0;
    unsigned lane = 0;  // of a shuffle: whose value is wanted

    bool meets(const WarpCall& other) const { return op == other.op && mask == other.mask; }
};

/// Runs `thread_body` once per thread of the launch.
void run(Queue& queue, const LaunchShape& shape, const std::function<void()>& thread_body);

// What kernels call, always inside run().
const Ids& ids();
void barrier(Place place);
std::uint64_t warp_call(const WarpCall& call, Place place);
void yield(Place place);
void* shared_memory(std::size_t bytes, Place place);
void check_aligned(const void* at, std::size_t bytes, Place place);
bool removed(const char* name);

}  // namespace refit::simt
