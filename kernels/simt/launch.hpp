// One launch in progress: admits blocks, switches between their threads, ends with the last.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/simt/block.hpp"
#include "kernels/simt/executor.hpp"
#include "kernels/simt/fiber.hpp"
#include "kernels/simt/ready_queue.hpp"

namespace refit::simt {

/// Where the fibers of the launch on this OS thread begin.
void launched_thread_main();

class Launch {
public:
    Launch(Queue& queue, const LaunchShape& shape, const std::function<void()>& body);

    void run();

    // For the running thread.
    const Ids& ids() const { return current_->ids; }
    void barrier(Place place);
    std::uint64_t warp_call(const WarpCall& call, Place place);
    void yield(Place place);
    void* shared_memory(std::size_t bytes, Place place);
    void check_aligned(const void* at, std::size_t bytes, Place place);
    bool removed(const char* name) const;
    [[noreturn]] void thread_main();

private:
    /// Threads that will never run again have still run before whoever frees their memory.
    [[noreturn]] void abandon();
    void admit();
    void retire_finished();
    Extent next_block_id();
    /// Whose turn it is when `thread` has ended; nullptr: the launcher's.
    Thread* leave(Thread& thread);
    void check_nobody_waits_for(const Thread& thread);

    /// Leaves the running thread, which waits, for the next one that is ready.
    void wait();
    void switch_to(Thread* next, bool ends = false);
    void make_ready(Thread& thread);

    void release_barrier(Block& block);
    void check_warp(const WarpCall& call, Place place);
    bool warp_complete(const WarpCall& call);
    void release_warp(const WarpCall& call);

    /// Ends the launch with a message, through the frames of the running thread; run() throws it.
    [[noreturn]] void misuse(Place place, const std::string& what);
    std::string waiting() const;

    Queue& queue_;
    const LaunchShape shape_;
    const std::function<void()>& body_;
    std::vector<std::uint64_t> shuffled_ids_;  // Order::random only
    std::uint64_t admitted_ = 0;
    std::uint64_t finished_ = 0;
    std::vector<std::unique_ptr<Block>> resident_;
    std::vector<std::unique_ptr<Block>> kept_;  // thread sanitizer: until the launch ends
    ReadyQueue<Thread> ready_;
    Fiber launcher_;
    Thread* current_ = nullptr;
    std::uint64_t idle_yields_ = 0;  // since any thread last got anywhere
    std::exception_ptr error_;
    char finish_order_ = 0;  // the address of the order "ran before the launch returned"
};

}  // namespace refit::simt
