// What the CPU devices share, and the two there are: plain loops, and vector code of one level.
#pragma once

#include <memory>
#include <string>

#include "kernels/cpu/simd.hpp"
#include "kernels/cpu/thread_pool.hpp"
#include "kernels/device.hpp"

namespace refit {

class PooledDevice : public Device {
public:
    PooledDevice(unsigned threads, std::string level);

    std::string_view name() const final { return "cpu"; }
    std::string detail() const final;
    unsigned lanes() const final { return pool_.lanes(); }
    void for_each(std::uint64_t count,
                  const std::function<void(std::uint64_t, unsigned)>& task) final {
        pool_.for_each(count, task);
    }

private:
    std::string level_;
    ThreadPool pool_;
};

/// The reference: each operation word by word, as its contract reads.
std::unique_ptr<Device> make_plain_device(unsigned threads);

std::unique_ptr<Device> make_vector_device(unsigned threads, const SimdLevel& level);

}  // namespace refit
