#include "kernels/simt/simt_batches.hpp"

#include <cstring>

#include "kernels/cuda/kernel_batches.hpp"

namespace refit {
namespace {

/// Kernels read the caller's arrays, and write what a session holds.
class ExecutorMemory {
public:
    explicit ExecutorMemory(const simt::Schedule& schedule) : schedule_(schedule) {}

    class Session {
    public:
        explicit Session(const ExecutorMemory& memory) : queue_{memory.schedule_, {}} {}

        simt::Queue& queue() { return queue_; }

        template <class T>
        const T* in(std::span<const T> values) {
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
            T* const copied = fresh<T>(from.size());
            std::ranges::copy(from, copied);
            return copied;
        }
        template <class T>
        std::span<const T> fetch(const T* at, std::size_t count) const {
            return {at, count};
        }
        void finish() {}
        void fill(void* at, unsigned char byte, std::size_t count) {
            if (count > 0) std::memset(at, byte, count);
        }
        void copy(void* to, const void* from, std::size_t bytes) {
            if (bytes > 0) std::memcpy(to, from, bytes);
        }
        template <class Work>
        std::optional<double> timed(const Work& work) {
            work();
            return std::nullopt;
        }

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

class SimtBatches final : public KernelBatches<ExecutorMemory> {
public:
    explicit SimtBatches(const simt::Schedule& schedule)
        : KernelBatches(ExecutorMemory(schedule)) {}

    std::string_view name() const override { return "simt"; }
    std::string detail() const override { return "CUDA kernels on the host executor"; }
};

}  // namespace

std::unique_ptr<BatchDevice> make_simt_batches(const simt::Schedule& schedule) {
    return std::make_unique<SimtBatches>(schedule);
}

}  // namespace refit
