// Where a collective works: buffers, the queue that its work is in, and marks in that queue.
//
// Two sides  the host's memory, and one GPU's (only in builds with CUDA). The sequence of calls to
//            a library is the same over both, so it runs where there is no GPU.
// Sizes      bytes. A block is aligned for every vector load.
// Errors     MachineError: no memory, no device.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace refit {

class CollectiveMemory {
public:
    virtual ~CollectiveMemory() = default;

    virtual std::string detail() const = 0;  // "host memory", "NVIDIA H200, device 3"

    virtual std::byte* allocate(std::size_t bytes) = 0;
    virtual void release(std::byte* block) = 0;

    /// From and to the host; done on return.
    virtual void write(std::byte* to, std::span<const std::byte> from) = 0;
    virtual void read(std::span<std::byte> to, const std::byte* from) = 0;
    /// Within the memory, in the queue.
    virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;

    /// What a library takes as its stream.
    virtual void* queue() = 0;
    /// Is all that was queued done?
    virtual bool idle() = 0;

    /// Marks around work in the queue, and the time between them once it is idle; none where the
    /// queue has no clock of its own.
    virtual void mark_start() = 0;
    virtual void mark_end() = 0;
    virtual std::optional<double> marked_seconds() = 0;
};

/// The queue of host memory: how much work others have in it. A library that is handed queue() of
/// host memory is handed this.
using HostQueue = std::atomic<unsigned>;

std::unique_ptr<CollectiveMemory> make_host_memory();

/// `device` of those the driver shows; one line says why not. Not before a fork().
std::unique_ptr<CollectiveMemory> make_cuda_memory(int device);

/// How many devices there are. Throws MachineError where that cannot be asked, saying why.
int cuda_device_count();

/// A block that is given back.
class MemoryBlock {
public:
    MemoryBlock(CollectiveMemory& memory, std::size_t bytes)
        : memory_(memory), at_(memory.allocate(bytes)), bytes_(bytes) {}
    MemoryBlock(const MemoryBlock&) = delete;
    MemoryBlock& operator=(const MemoryBlock&) = delete;
    ~MemoryBlock() { memory_.release(at_); }

    std::span<std::byte> bytes() const { return {at_, bytes_}; }

private:
    CollectiveMemory& memory_;
    std::byte* at_;
    std::size_t bytes_;
};

}  // namespace refit
