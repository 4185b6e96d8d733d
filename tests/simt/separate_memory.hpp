// Memory that the host does not share, made of host memory: every array has exactly the size that
// was asked for, begins as junk, and is known to kernels alone.
#pragma once

#include <barrier>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/thread_pool.hpp"
#include "kernels/cuda/kernel_device.hpp"

namespace refit {

class SeparateMemory {
public:
    static constexpr bool kSharesHost = false;

    /// `fetched`, if any: where the calls of all lanes meet between launch and copy back.
    explicit SeparateMemory(const simt::Schedule& schedule,
                            std::shared_ptr<std::barrier<>> fetched = nullptr)
        : schedule_(schedule), fetched_(std::move(fetched)) {}

    class Session {
    public:
        Session(const SeparateMemory& memory, const char* /*call*/)
            : queue_{memory.schedule_, {}}, fetched_(memory.fetched_) {}

        simt::Queue& queue() { return queue_; }

        template <class T>
        const T* in(std::span<const T> from) {
            return send(from);
        }
        template <class T>
        T* values(std::span<const T> from) {
            return send(from);
        }
        template <class T>
        T* in_out(std::span<T> values) {
            T* const at = send(std::span<const T>(values));
            back_.push_back([=] { copy(values.data(), at, values.size_bytes()); });
            return at;
        }
        template <class T>
        T* fresh(std::size_t count) {
            arrays_.push_back(std::make_unique_for_overwrite<std::byte[]>(count * sizeof(T)));
            std::memset(arrays_.back().get(), 0xA7, count * sizeof(T));
            return reinterpret_cast<T*>(arrays_.back().get());
        }
        template <class T>
        std::span<T> room(std::size_t count) {
            return {fresh<T>(count), count};
        }
        template <class T>
        T* send(std::span<const T> from) {
            T* const to = fresh<T>(from.size());
            copy(to, from.data(), from.size_bytes());
            return to;
        }
        template <class T>
        std::span<const T> fetch(const T* at, std::size_t count) {
            const std::span<T> to = room<T>(count);
            copy(to.data(), at, to.size_bytes());
            if (fetched_ != nullptr) fetched_->arrive_and_wait();
            return to;
        }
        void finish() {
            for (const auto& back : back_) back();
        }

    private:
        static void copy(void* to, const void* from, std::size_t bytes) {
            if (bytes > 0) std::memcpy(to, from, bytes);
        }

        simt::Queue queue_;
        std::shared_ptr<std::barrier<>> fetched_;
        std::vector<std::unique_ptr<std::byte[]>> arrays_;
        std::vector<std::function<void()>> back_;
    };

private:
    simt::Schedule schedule_;
    std::shared_ptr<std::barrier<>> fetched_;
};

/// The kernels on the executor over some memory.
template <class Memory>
class MemoryDevice final : public KernelDevice<Memory> {
public:
    MemoryDevice(Memory held, unsigned lanes)
        : KernelDevice<Memory>(std::move(held)), pool_(lanes) {}

    std::string_view name() const override { return "test"; }
    std::string detail() const override { return "a memory of its own"; }
    unsigned lanes() const override { return pool_.lanes(); }
    void for_each(std::uint64_t count,
                  const std::function<void(std::uint64_t, unsigned)>& task) override {
        pool_.for_each(count, task);
    }
    using KernelDevice<Memory>::memory;

private:
    ThreadPool pool_;
};

}  // namespace refit
