#include "kernels/simt/launch.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "kernels/simt/sanitizers.hpp"
#include "kernels/simt/warp.hpp"

namespace refit::simt {
namespace {

/// Stacks outlive launches; fibers must not move between OS threads.
FiberPool& fiber_pool() {
    thread_local FiberPool pool;
    return pool;
}

void check_shape(const LaunchShape& shape) {
    const Extent& grid = shape.grid;
    const auto refuse = [&shape](const std::string& what) {
        throw Misuse(std::string("kernel ") + shape.kernel + ": " + what);
    };
    const std::uint64_t threads = shape.block.count();
    if (grid.count() == 0 || threads == 0) refuse("an empty launch");
    if (grid.x > 0x7FFFFFFFu || grid.y > 0xFFFF || grid.z > 0xFFFF) refuse("a grid too large");
    if (threads > kThreadsMax || shape.block.z > 64)
        refuse(std::to_string(threads) + " threads in a block, the limit is " +
               std::to_string(kThreadsMax) + ", 64 in z");
    if (shape.shared_bytes > kSharedMax)
        refuse(std::to_string(shape.shared_bytes) + " bytes of shared memory, the limit is " +
               std::to_string(kSharedMax));
}

std::size_t most_ready(const Schedule& schedule, const LaunchShape& shape) {
    check_shape(shape);
    const std::uint64_t blocks =
        std::min<std::uint64_t>(std::max(schedule.resident_blocks, 1u), shape.grid.count());
    return blocks * shape.block.count();
}

std::string at_place(Place place) {
    return std::string(place.file) + ":" + std::to_string(place.line);
}

std::string extent_text(Extent e) {
    const std::string x = std::to_string(e.x);
    if (e.y == 0 && e.z == 0) return x;
    return "(" + x + ", " + std::to_string(e.y) + ", " + std::to_string(e.z) + ")";
}

std::string thread_text(const Thread& thread) {
    return "block " + extent_text(thread.ids.block) + " thread " + extent_text(thread.ids.thread);
}

}  // namespace

Launch::Launch(Queue& queue, const LaunchShape& shape, const std::function<void()>& body)
    : queue_(queue),
      shape_(shape),
      body_(body),
      ready_(queue.schedule, most_ready(queue.schedule, shape)) {
    if (queue.schedule.order != Order::random) return;
    shuffled_ids_.resize(shape.grid.count());
    std::iota(shuffled_ids_.begin(), shuffled_ids_.end(), 0);
    Draw draw(queue.schedule.seed);
    for (std::size_t i = shuffled_ids_.size(); i > 1; --i)
        std::swap(shuffled_ids_[i - 1], shuffled_ids_[draw.below(i)]);
}

void Launch::run() {
    ++queue_.counters.launches;
    const std::uint64_t blocks = shape_.grid.count();
    while (finished_ < blocks) {
        admit();
        switch_to(ready_.pop());
        if (error_) abandon();
        retire_finished();
    }
    acquire_order(&finish_order_);
    for (const std::unique_ptr<Block>& block : kept_)
        for (Thread& thread : block->threads) fiber_pool().give(std::move(thread.fiber));
}

void Launch::abandon() {
    for (const std::unique_ptr<Block>& block : resident_) {
        for (Thread& thread : block->threads) {
            thread.fiber->order_before(launcher_);
            // The sanitizer has the calls of a thread it left in mid-kernel on record for ever.
            if (!kThreadSanitizer) fiber_pool().give(std::move(thread.fiber));
        }
    }
    acquire_order(&finish_order_);
    std::rethrow_exception(error_);
}

Extent Launch::next_block_id() {
    const Extent& grid = shape_.grid;
    std::uint64_t id = admitted_++;
    if (queue_.schedule.order == Order::reverse) id = grid.count() - 1 - id;
    if (queue_.schedule.order == Order::random) id = shuffled_ids_[id];
    const std::uint64_t layer = std::uint64_t{grid.x} * grid.y;
    return {static_cast<unsigned>(id % grid.x), static_cast<unsigned>(id % layer / grid.x),
            static_cast<unsigned>(id / layer)};
}

void Launch::admit() {
    const unsigned most = std::max(queue_.schedule.resident_blocks, 1u);
    while (resident_.size() < most && admitted_ < shape_.grid.count()) {
        auto block = std::make_unique<Block>(next_block_id(), shape_);
        for (Thread& thread : block->threads) {
            thread.fiber = fiber_pool().take();
            thread.fiber->prepare(&launched_thread_main);
            make_ready(thread);
        }
        queue_.counters.threads += block->threads.size();
        release_order(&block->created);
        resident_.push_back(std::move(block));
    }
}

void Launch::retire_finished() {
    for (std::unique_ptr<Block>& block : resident_) {
        if (block->live != 0) continue;
        ++finished_;
        if (kThreadSanitizer) {
            // Reusing its memory or fibers would order, or seem to race with, the blocks to come.
            kept_.push_back(std::move(block));
            continue;
        }
        for (Thread& thread : block->threads) fiber_pool().give(std::move(thread.fiber));
        block.reset();
    }
    std::erase(resident_, nullptr);
}

void Launch::thread_main() {
    Thread& me = *current_;
    me.fiber->arrived();
    acquire_order(&me.block->created);
    Thread* next = nullptr;  // the launcher
    try {
        body_();
        release_order(&finish_order_);
        next = leave(me);
    } catch (...) {
        error_ = std::current_exception();
    }
    switch_to(next, true);
    __builtin_unreachable();
}

Thread* Launch::leave(Thread& thread) {
    thread.state = State::done;
    idle_yields_ = 0;
    check_nobody_waits_for(thread);
    --thread.block->live;
    if (thread.block->live == 0) return nullptr;
    if (ready_.empty()) misuse(thread.place, "every other thread waits" + waiting());
    return ready_.pop();
}

void Launch::check_nobody_waits_for(const Thread& thread) {
    const Thread* at_barrier = thread.block->first_at_barrier;
    if (at_barrier != nullptr)
        misuse(at_barrier->place, "leaves the kernel, while thread " +
                                      std::to_string(at_barrier->index) +
                                      " waits in __syncthreads");
    const Thread* warp = thread.block->warp_of(thread);
    const unsigned exists = thread.block->warp_mask(thread);
    for (unsigned i = 0; i < kWarpLanes; ++i) {
        if ((exists >> i & 1u) == 0 || warp[i].state != State::in_warp) continue;
        if ((warp[i].call.mask >> thread.ids.lane & 1u) == 0) continue;
        misuse(warp[i].place, "leaves the kernel, while thread " + std::to_string(warp[i].index) +
                                  " waits for it in " + warp_op_name(warp[i].call.op));
    }
}

void Launch::make_ready(Thread& thread) {
    thread.state = State::ready;
    ready_.push(&thread);
}

void Launch::wait() {
    if (ready_.empty()) misuse(current_->place, "every thread waits" + waiting());
    switch_to(ready_.pop());
}

void Launch::switch_to(Thread* next, bool ends) {
    Thread* from = current_;
    if (from == next) return;
    ++queue_.counters.switches;
    current_ = next;
    Fiber& leaving = from == nullptr ? launcher_ : *from->fiber;
    leaving.switch_to(next == nullptr ? launcher_ : *next->fiber, ends);
}

void Launch::yield(Place place) {
    current_->place = place;
    const std::uint64_t patience = 1000 + 100 * (ready_.size() + 1);
    if (++idle_yields_ > patience)
        misuse(place, "no thread gets anywhere: all that run wait in __nanosleep" + waiting());
    ready_.push_behind_all(current_);
    switch_to(ready_.pop());
}

void* Launch::shared_memory(std::size_t bytes, Place place) {
    SharedMemory& shared = current_->block->shared;
    if (bytes > shared.bytes())
        misuse(place, "shared<T>() of " + std::to_string(bytes) + " bytes in a launch with " +
                          std::to_string(shared.bytes()));
    return shared.data();
}

void Launch::check_aligned(const void* at, std::size_t bytes, Place place) {
    const std::size_t off = reinterpret_cast<std::uintptr_t>(at) % bytes;
    if (off != 0)
        misuse(place, "an access of " + std::to_string(bytes) + " bytes that is misaligned by " +
                          std::to_string(off));
}

bool Launch::removed(const char* name) const {
    const char* chosen = queue_.schedule.removed;
    return chosen != nullptr && std::strcmp(chosen, name) == 0;
}

void Launch::misuse(Place place, const std::string& what) {
    throw Misuse((place.file == nullptr ? std::string() : at_place(place) + ": ") + "kernel " +
                 shape_.kernel + ": " + thread_text(*current_) + ": " + what);
}

std::string Launch::waiting() const {
    constexpr unsigned kShown = 4;
    std::string text;
    unsigned shown = 0;
    for (const std::unique_ptr<Block>& block : resident_) {
        for (const Thread& thread : block->threads) {
            if (thread.state != State::at_barrier && thread.state != State::in_warp) continue;
            if (++shown > kShown) return text + ", and more";
            const bool barrier = thread.state == State::at_barrier;
            text += (shown == 1 ? ": " : ", ") + thread_text(thread) + " in " +
                    (barrier ? "__syncthreads" : warp_op_name(thread.call.op)) + " at " +
                    at_place(thread.place);
        }
    }
    return text;
}

}  // namespace refit::simt
