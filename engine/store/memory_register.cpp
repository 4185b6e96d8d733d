#include <mutex>

#include "engine/store/register.hpp"

namespace refit {

namespace {

class MemoryRegister final : public Register {
public:
    explicit MemoryRegister(const Decision& initial) : decision_(initial) {}

    std::uint64_t acquire() override {
        const std::lock_guard lock(mutex_);
        return ++epoch_;
    }

    Decision read() const override {
        const std::lock_guard lock(mutex_);
        return decision_;
    }

    bool decide(std::uint64_t epoch, std::uint64_t from, const Decision& next) override {
        REFIT_ASSERT(next.version == from + 1);
        const std::lock_guard lock(mutex_);
        if (epoch == epoch_ && decision_.version == from) decision_ = next;
        return decision_ == next;
    }

private:
    mutable std::mutex mutex_;
    std::uint64_t epoch_ = 0;
    Decision decision_;
};

}  // namespace

std::unique_ptr<Register> make_memory_register(const Decision& initial) {
    return std::make_unique<MemoryRegister>(initial);
}

}  // namespace refit
