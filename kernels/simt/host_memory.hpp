// Where the arrays of kernels on the host executor are: the caller's own, and what a session holds.
// Sessions as kernels/cuda/kernel_device.hpp has them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "kernels/simt/executor.hpp"
#include "kernels/simt/simt.hpp"

namespace refit::simt {

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

}  // namespace refit::simt
