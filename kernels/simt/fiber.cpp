#include "kernels/simt/fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

#include "kernels/simt/sanitizers.hpp"

#if defined(__x86_64__)
// Saves what the calling convention lets a callee keep, swaps stacks, restores.
extern "C" void refit_simt_switch(void** save, void* load);
asm(R"(
.text
.globl refit_simt_switch
.hidden refit_simt_switch
.type refit_simt_switch,@function
refit_simt_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size refit_simt_switch, .-refit_simt_switch
)");
#endif

namespace refit::simt {
namespace {

constexpr std::size_t kStackBytes = 128 * 1024;

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

Fiber::Fiber() {
#if defined(REFIT_SIMT_TSAN)
    tsan_ = __tsan_get_current_fiber();
#endif
}

Fiber::Fiber(OwnStack) : bytes_(kStackBytes) {
    const std::size_t guard = page_bytes();
    void* memory = mmap(nullptr, guard + kStackBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, guard, PROT_NONE) != 0)
        throw std::runtime_error("simt: no memory for the stack of a thread");
    mapped_ = static_cast<char*>(memory);
    bottom_ = mapped_ + guard;
    valgrind_id_ = register_stack(mapped_ + guard, mapped_ + guard + kStackBytes);
#if defined(REFIT_SIMT_TSAN)
    tsan_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
    if (mapped_ == nullptr) return;
#if defined(REFIT_SIMT_TSAN)
    __tsan_destroy_fiber(tsan_);
#endif
    deregister_stack(valgrind_id_);
    allow_memory(mapped_ + page_bytes(), kStackBytes);
    munmap(mapped_, page_bytes() + kStackBytes);
}

void Fiber::prepare(void (*entry)()) {
    char* bottom = mapped_ + page_bytes();
    allow_memory(bottom, kStackBytes);  // frames of the thread before
    fake_stack_ = nullptr;
#if defined(__x86_64__)
    // What the switch pops: six registers, then `entry` as its return address, above which the
    // null return address of `entry` leaves the stack aligned as after a call.
    auto** top = reinterpret_cast<void**>(bottom + kStackBytes);
    *--top = nullptr;
    *--top = reinterpret_cast<void*>(entry);
    for (int i = 0; i < 6; ++i) *--top = nullptr;
    stack_pointer_ = top;
#else
    getcontext(&context_);
    context_.uc_stack.ss_sp = bottom;
    context_.uc_stack.ss_size = kStackBytes;
    context_.uc_link = nullptr;
    makecontext(&context_, entry, 0);
#endif
}

void Fiber::switch_to(Fiber& to, [[maybe_unused]] bool ends) {
    to.came_from_ = this;
#if defined(REFIT_SIMT_TSAN)
    __tsan_switch_to_fiber(to.tsan_, __tsan_switch_to_fiber_no_sync);
#endif
#if defined(REFIT_SIMT_ASAN)
    __sanitizer_start_switch_fiber(ends ? nullptr : &fake_stack_, to.bottom_, to.bytes_);
#endif
#if defined(__x86_64__)
    refit_simt_switch(&stack_pointer_, to.stack_pointer_);
#else
    swapcontext(&context_, &to.context_);
#endif
    arrived();
}

void Fiber::arrived() {
#if defined(REFIT_SIMT_ASAN)
    // Where the launcher's stack lies is known only once it has been left.
    const void* bottom = nullptr;
    std::size_t bytes = 0;
    __sanitizer_finish_switch_fiber(fake_stack_, &bottom, &bytes);
    if (came_from_->mapped_ == nullptr) {
        came_from_->bottom_ = bottom;
        came_from_->bytes_ = bytes;
    }
#endif
}

void Fiber::order_before([[maybe_unused]] Fiber& current) {
#if defined(REFIT_SIMT_TSAN)
    __tsan_switch_to_fiber(tsan_, __tsan_switch_to_fiber_no_sync);
    __tsan_switch_to_fiber(current.tsan_, 0);
#endif
}

std::unique_ptr<Fiber> FiberPool::take() {
    if (free_.empty()) return std::make_unique<Fiber>(Fiber::OwnStack{});
    std::unique_ptr<Fiber> fiber = std::move(free_.back());
    free_.pop_back();
    return fiber;
}

}  // namespace refit::simt
