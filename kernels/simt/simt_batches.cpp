#include "kernels/simt/simt_batches.hpp"

#include <cstring>

#include "kernels/cuda/kernel_batches.hpp"
#include "kernels/simt/host_memory.hpp"

namespace refit {
namespace {

/// The memory of the executor, with what batches ask besides.
class BatchMemory : public simt::HostMemory {
public:
    using HostMemory::HostMemory;

    class Session : public HostMemory::Session {
    public:
        explicit Session(const BatchMemory& memory) : HostMemory::Session(memory, "batch") {}

        void fill(void* at, unsigned char byte, std::size_t count) {
            if (count > 0) std::memset(at, byte, count);
        }
        void copy(void* to, const void* from, std::size_t bytes) {
            if (bytes > 0) std::memcpy(to, from, bytes);
        }
        /// Nobody's speed.
        template <class Work>
        std::optional<double> timed(const Work& work) {
            work();
            return std::nullopt;
        }
    };
};

class SimtBatches final : public KernelBatches<BatchMemory> {
public:
    explicit SimtBatches(const simt::Schedule& schedule) : KernelBatches(BatchMemory(schedule)) {}

    std::string_view name() const override { return "simt"; }
    std::string detail() const override { return "CUDA kernels on the host executor"; }
};

}  // namespace

std::unique_ptr<BatchDevice> make_simt_batches(const simt::Schedule& schedule) {
    return std::make_unique<SimtBatches>(schedule);
}

}  // namespace refit
