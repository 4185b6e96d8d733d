// A stack that can be left and come back to, and a pool of them.
//
// Limits   stacks of 128 KiB, with a page below that faults. x86-64 switches by hand in a few
//          nanoseconds; elsewhere ucontext does it.
// Errors   a stack that cannot be mapped throws std::runtime_error.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace refit::simt {

class Fiber {
public:
    /// The stack we are on already; only left and come back to.
    Fiber();
    /// A stack of its own.
    struct OwnStack {};
    explicit Fiber(OwnStack);
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;
    ~Fiber();

    /// The next switch to this fiber calls `entry`, which calls arrived() first and never returns.
    void prepare(void (*entry)());

    /// Leaves this fiber, for good if it `ends`, and goes on in `to`. Orders no memory.
    void switch_to(Fiber& to, bool ends = false);
    void arrived();
    /// Tells the thread sanitizer that all this fiber did came before what `current` does next.
    void order_before(Fiber& current);

private:
    char* mapped_ = nullptr;
    const void* bottom_ = nullptr;  // of the usable stack
    [[maybe_unused]] std::size_t bytes_ = 0;
    unsigned valgrind_id_ = 0;
    [[maybe_unused]] void* tsan_ = nullptr;
    [[maybe_unused]] void* fake_stack_ = nullptr;
    Fiber* came_from_ = nullptr;
#if defined(__x86_64__)
    void* stack_pointer_ = nullptr;
#else
    ucontext_t context_;
#endif
};

/// Mapping stacks and making sanitizer fibers costs more than running a small kernel.
class FiberPool {
public:
    std::unique_ptr<Fiber> take();
    void give(std::unique_ptr<Fiber> fiber) { free_.push_back(std::move(fiber)); }

private:
    std::vector<std::unique_ptr<Fiber>> free_;
};

}  // namespace refit::simt
