// Codec work over and over on a thread of its own, while the caller measures something beside it.
//
// First     piece: brings thread and code up, is over when the constructor returns, and does not
//           count in bytes().
// Errors    what the work throws is rethrown by finish().
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>

#include "workloads/compute_stolen.hpp"

namespace refit {

class WorkBeside {
public:
    explicit WorkBeside(const CodecWork& work) : thread_([this, &work] { repeat(work); }) {
        while (!begun_) std::this_thread::yield();
    }
    WorkBeside(const WorkBeside&) = delete;
    WorkBeside& operator=(const WorkBeside&) = delete;
    ~WorkBeside() { join(); }

    std::uint64_t bytes() const { return bytes_; }

    void finish() {
        join();
        if (failure_) std::rethrow_exception(failure_);
    }

private:
    void repeat(const CodecWork& work) {
        try {
            work();
            begun_ = true;
            while (!stop_) bytes_ += work().count;
        } catch (...) {
            failure_ = std::current_exception();
            begun_ = true;
        }
    }

    void join() {
        stop_ = true;
        if (thread_.joinable()) thread_.join();
    }

    std::atomic<bool> begun_ = false;
    std::atomic<bool> stop_ = false;
    std::atomic<std::uint64_t> bytes_ = 0;
    std::exception_ptr failure_;
    std::thread thread_;  // last: it uses all of the above
};

}  // namespace refit
