// One resident block: its threads, its shared memory, and who of them waits for what.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/simt/executor.hpp"
#include "kernels/simt/fiber.hpp"

namespace refit::simt {

/// Memory that starts as junk and ends, visibly to the address sanitizer, at `bytes`.
class SharedMemory {
public:
    explicit SharedMemory(std::size_t bytes);
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;
    ~SharedMemory();

    void* data() { return memory_; }
    std::size_t bytes() const { return bytes_; }

private:
    std::size_t bytes_;
    std::size_t mapped_;
    char* memory_;
};

enum class State : std::uint8_t { ready, at_barrier, in_warp, done };

class Block;

struct Thread {
    Ids ids;
    unsigned index = 0;  // in the block
    State state = State::ready;
    Block* block = nullptr;
    std::unique_ptr<Fiber> fiber;
    WarpCall call{};  // while in_warp, and its result after
    std::uint64_t result = 0;
    Place place{};  // of the last wait
};

/// Two addresses by turns for the thread sanitizer: one who is slow to leave must not be ordered
/// behind those who have come to the next meeting already.
struct Meeting {
    std::array<char, 2> addresses{};
    unsigned turn = 0;

    void* address() { return &addresses[turn % 2]; }
};

class Block {
public:
    Block(Extent id, const LaunchShape& shape);

    std::vector<Thread> threads;
    SharedMemory shared;
    unsigned live;
    unsigned at_barrier = 0;
    const Thread* first_at_barrier = nullptr;
    Meeting barrier;
    std::vector<Meeting> warps;  // one per thread; a warp's mask meets at its lowest lane
    char created = 0;            // the address of the order "launched before running"

    Thread* warp_of(const Thread& thread) {
        return threads.data() + thread.index / kWarpLanes * kWarpLanes;
    }
    /// Lanes of the thread's warp that exist, as a mask.
    unsigned warp_mask(const Thread& thread) const;
};

}  // namespace refit::simt
