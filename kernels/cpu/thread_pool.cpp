#include "kernels/cpu/thread_pool.hpp"

#include <utility>

#include "kernels/check.hpp"

namespace refit {

ThreadPool::ThreadPool(unsigned lanes) {
    REFIT_KERNEL_CHECK(lanes > 0);
    workers_.reserve(lanes - 1);
    try {
        for (unsigned lane = 1; lane < lanes; ++lane)
            workers_.emplace_back([this, lane] { work(lane); });
    } catch (...) {
        stop();
        throw;
    }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::for_each(std::uint64_t count, const Task& task) {
    {
        const std::lock_guard lock(mutex_);
        REFIT_KERNEL_CHECK(task_ == nullptr);
        task_ = &task;
        count_ = count;
        next_index_ = 0;
        working_ = workers_.size();
        error_ = nullptr;
        ++loop_;
    }
    wake_.notify_all();
    take_indices(task, count, 0);

    std::unique_lock lock(mutex_);
    finished_.wait(lock, [this] { return working_ == 0; });
    task_ = nullptr;
    if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadPool::work(unsigned lane) {
    std::uint64_t last_loop = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
        wake_.wait(lock, [&] { return stopping_ || loop_ != last_loop; });
        if (stopping_) return;
        last_loop = loop_;
        const Task& task = *task_;
        const std::uint64_t count = count_;
        lock.unlock();
        take_indices(task, count, lane);
        lock.lock();
        if (--working_ == 0) finished_.notify_one();
    }
}

void ThreadPool::take_indices(const Task& task, std::uint64_t count, unsigned lane) {
    try {
        for (std::uint64_t index = next_index_++; index < count; index = next_index_++)
            task(index, lane);
    } catch (...) {
        next_index_ = count;
        const std::lock_guard lock(mutex_);
        if (error_ == nullptr) error_ = std::current_exception();
    }
}

}  // namespace refit
