#include <cstring>
#include <new>

#include "engine/collective/memory.hpp"

namespace refit {

namespace {

constexpr std::align_val_t kAlignment{256};

class HostMemory final : public CollectiveMemory {
public:
    std::string detail() const override { return "host memory"; }

    std::byte* allocate(std::size_t bytes) override {
        return static_cast<std::byte*>(::operator new(bytes, kAlignment));
    }
    void release(std::byte* block) override { ::operator delete(block, kAlignment); }

    void write(std::byte* to, std::span<const std::byte> from) override {
        copy(to, from.data(), from.size());
    }
    void read(std::span<std::byte> to, const std::byte* from) override {
        copy(to.data(), from, to.size());
    }
    void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
        if (bytes > 0) std::memcpy(to, from, bytes);
    }

    void* queue() override { return &queue_; }
    bool idle() override { return queue_.load(std::memory_order_acquire) == 0; }

    void mark_start() override {}
    void mark_end() override {}
    std::optional<double> marked_seconds() override { return std::nullopt; }

private:
    HostQueue queue_{0};
};

}  // namespace

std::unique_ptr<CollectiveMemory> make_host_memory() { return std::make_unique<HostMemory>(); }

}  // namespace refit
