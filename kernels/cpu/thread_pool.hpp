// A fixed set of threads that share the indices of one loop.
//
// Model    `lanes` threads in all: the caller is lane 0, the others sleep between loops. An index
//          goes to whichever lane is free, so outputs must be kept by index, never by lane order.
// Errors   the first exception a task throws stops the hand-out of indices and is rethrown by
//          for_each(). Threads that cannot be started: std::system_error.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace refit {

class ThreadPool {
public:
    using Task = std::function<void(std::uint64_t index, unsigned lane)>;

    explicit ThreadPool(unsigned lanes);  // at least 1
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    unsigned lanes() const { return static_cast<unsigned>(workers_.size()) + 1; }

    /// Runs task(index, lane) for every index below `count` and waits. Not re-entrant.
    void for_each(std::uint64_t count, const Task& task);

private:
    void work(unsigned lane);
    void take_indices(const Task& task, std::uint64_t count, unsigned lane);
    void stop();

    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable finished_;
    const Task* task_ = nullptr;  // the loop in progress, if any
    std::uint64_t count_ = 0;
    std::uint64_t loop_ = 0;  // numbers the loops, so that a worker joins each of them once
    std::size_t working_ = 0;
    bool stopping_ = false;
    std::exception_ptr error_;
    std::atomic<std::uint64_t> next_index_ = 0;
    std::vector<std::thread> workers_;
};

}  // namespace refit
