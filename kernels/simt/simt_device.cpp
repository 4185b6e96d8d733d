#include "kernels/simt/simt_device.hpp"

#include <algorithm>
#include <memory>
#include <thread>

#include "kernels/cpu/thread_pool.hpp"
#include "kernels/cuda/kernel_device.hpp"
#include "kernels/simt/host_memory.hpp"

namespace refit {
namespace {

const char* order_name(simt::Order order) {
    switch (order) {
        case simt::Order::forward:
            return "forward";
        case simt::Order::reverse:
            return "reverse";
        default:
            return "random";
    }
}

class SimtDevice final : public KernelDevice<simt::HostMemory> {
public:
    SimtDevice(unsigned threads, const simt::Schedule& schedule)
        : KernelDevice(simt::HostMemory(schedule)), order_(schedule.order), pool_(threads) {}

    std::string_view name() const override { return "simt"; }
    std::string detail() const override {
        return std::string("CUDA kernels on the host executor, order ") + order_name(order_) +
               ", " + std::to_string(lanes()) + (lanes() == 1 ? " thread" : " threads");
    }
    unsigned lanes() const override { return pool_.lanes(); }
    void for_each(std::uint64_t count,
                  const std::function<void(std::uint64_t, unsigned)>& task) override {
        pool_.for_each(count, task);
    }

private:
    simt::Order order_;
    ThreadPool pool_;
};

}  // namespace

std::unique_ptr<Device> make_simt_device(unsigned threads, const simt::Schedule& schedule) {
    if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
    return std::make_unique<SimtDevice>(threads, schedule);
}

}  // namespace refit
