#include "kernels/simt/simt_device.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/cpu/thread_pool.hpp"
#include "kernels/cuda/kernel_device.hpp"

namespace refit {
namespace {

/// Kernels work on the caller's arrays, and on what a session holds for them.
class HostMemory {
public:
    static constexpr bool kSharesHost = true;

    explicit HostMemory(const simt::Schedule& schedule) : schedule_(schedule) {}

    class Session {
    public:
        Session(const HostMemory& memory, const char* /*call*/) : queue_{memory.schedule_, {}} {}

        simt::Queue& queue() { return queue_; }

        template <class T>
        const T* in(std::span<const T> values) {
            return values.data();
        }
        template <class T>
        T* in_out(std::span<T> values) {
            return values.data();
        }
        template <class T>
        T* fresh(std::size_t count) {
            arrays_.push_back(std::make_unique_for_overwrite<Block[]>(
                (count * sizeof(T) + sizeof(Block) - 1) / sizeof(Block)));
            return reinterpret_cast<T*>(arrays_.back().get());
        }
        template <class T>
        T* values(std::span<const T> from) {
            T* const copy = fresh<T>(from.size());
            std::ranges::copy(from, copy);
            return copy;
        }
        template <class T>
        std::span<const T> fetch(const T* at, std::size_t count) const {
            return {at, count};
        }
        void finish() {}

    private:
        struct alignas(16) Block {
            std::byte bytes[16];
        };

        simt::Queue queue_;
        std::vector<std::unique_ptr<Block[]>> arrays_;
    };

private:
    simt::Schedule schedule_;
};

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

class SimtDevice final : public KernelDevice<HostMemory> {
public:
    SimtDevice(unsigned threads, const simt::Schedule& schedule)
        : KernelDevice(HostMemory(schedule)), order_(schedule.order), pool_(threads) {}

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
