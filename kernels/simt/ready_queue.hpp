// Who runs next. The order of ready threads is the schedule's: arrival, its reverse, or a draw.
//
// Fair     a thread that yields goes behind all others, in every order but the random one, where
//          it is drawn again with probability one in the number of ready threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/simt/executor.hpp"

namespace refit::simt {

/// SplitMix64. A schedule must be the same with every standard library.
class Draw {
public:
    explicit Draw(std::uint64_t seed) : state_(seed) {}

    std::uint64_t below(std::uint64_t limit) {
        std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return (z ^ (z >> 31)) % limit;
    }

private:
    std::uint64_t state_;
};

/// A ring, because a thread that waits must not allocate: the sanitizers watch the allocator.
template <class T>
class ReadyQueue {
public:
    ReadyQueue(const Schedule& schedule, std::size_t most)
        : order_(schedule.order), draw_(schedule.seed), ring_(most) {}

    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }

    void push(T* item) {
        ++size_;
        slot(size_ - 1) = item;
    }
    void push_behind_all(T* item) {
        if (order_ != Order::reverse) return push(item);
        first_ = (first_ + ring_.size() - 1) % ring_.size();
        ++size_;
        slot(0) = item;
    }

    /// Never of an empty queue.
    T* pop() {
        if (order_ == Order::reverse) {
            --size_;
            return slot(size_);
        }
        if (order_ == Order::random) std::swap(slot(0), slot(draw_.below(size_)));
        T* item = slot(0);
        first_ = (first_ + 1) % ring_.size();
        --size_;
        return item;
    }

private:
    T*& slot(std::size_t index) { return ring_[(first_ + index) % ring_.size()]; }

    Order order_;
    Draw draw_;
    std::vector<T*> ring_;
    std::size_t first_ = 0;
    std::size_t size_ = 0;
};

}  // namespace refit::simt
