// DeviceGemm over cuBLASLt, for any runtime that kernels/cuda/lane.hpp takes: CUDA's, or that of a
// test.
#pragma once

#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/check.hpp"
#include "kernels/cuda/cublaslt.hpp"
#include "kernels/cuda/device_gemm.hpp"
#include "kernels/cuda/lane.hpp"

namespace refit::kernels {

/// A stream as the library takes it; a runtime with other streams has its own.
inline void* stream_address(void* stream) { return stream; }

template <class Api>
class CublasLtGemm final : public DeviceGemm {
public:
    /// `device` is in use by the calling thread, and was when `library` was opened.
    CublasLtGemm(Api api, int device, std::unique_ptr<CublasLt> library)
        : api_(std::move(api)),
          library_(std::move(library)),
          lane_(api_, device),
          anchor_(api_, api_.make_event()) {
        start_clock();
    }
    ~CublasLtGemm() override { api_.use_quietly(lane_.device); }

    std::string_view name() const override { return "cuBLASLt"; }
    std::string detail() const override { return library_->version(); }

    void multiply(const GemmSize& size,
                  std::span<const std::uint16_t> a,
                  std::span<const std::uint16_t> b,
                  std::span<float> c) override {
        check_operands(size, a.size(), b.size(), c.size());
        api_.use(lane_.device);
        last_.reset();
        lane_.arrays.reset();
        lane_.pinned.reset();
        const Wait wait{*this};
        void* const back = lane_.arrays.take(c.size_bytes());
        const GemmOperands operands{send(a), send(b), back,
                                    lane_.arrays.take(CublasLt::kWorkspaceBytes)};
        library_->multiply(size, operands, stream());
        std::byte* const room = lane_.pinned.take(c.size_bytes());
        api_.copy_out(lane_.stream.get(), room, back, c.size_bytes());
        api_.wait(lane_.stream.get());
        std::memcpy(c.data(), room, c.size_bytes());
        last_ = Last{size, operands};
    }

    void start_clock() override {
        api_.use(lane_.device);
        api_.record(anchor_.get(), lane_.stream.get());
        api_.wait(lane_.stream.get());
    }

    DeviceSpan repeat(std::uint64_t count) override {
        REFIT_KERNEL_CHECK(count > 0 && last_.has_value());
        api_.use(lane_.device);
        const Wait wait{*this};
        api_.record(lane_.started.get(), lane_.stream.get());
        for (std::uint64_t i = 0; i < count; ++i)
            library_->multiply(last_->size, last_->operands, stream());
        api_.record(lane_.left.get(), lane_.stream.get());
        api_.wait(lane_.stream.get());
        // Two differences: the time since the anchor is long, and rounded to less.
        const auto begin = nanoseconds(anchor_, lane_.started);
        return {begin, begin + nanoseconds(lane_.started, lane_.left)};
    }

private:
    using Event = typename Lane<Api>::Event;

    struct Last {
        GemmSize size;
        GemmOperands operands;
    };

    /// After a failure something may be under way in memory that the next call uses.
    struct Wait {
        const CublasLtGemm& gemm;

        ~Wait() { gemm.api_.wait_quietly(gemm.lane_.stream.get()); }
    };

    void* stream() const { return stream_address(lane_.stream.get()); }

    void* send(std::span<const std::uint16_t> words) {
        std::byte* const room = lane_.pinned.take(words.size_bytes());
        std::byte* const to = lane_.arrays.take(words.size_bytes());
        std::memcpy(room, words.data(), words.size_bytes());
        api_.copy_in(lane_.stream.get(), to, room, words.size_bytes());
        return to;
    }

    std::int64_t nanoseconds(const Event& from, const Event& to) const {
        return std::llround(api_.seconds_between(from.get(), to.get()) * 1e9);
    }

    Api api_;
    std::unique_ptr<CublasLt> library_;
    Lane<Api> lane_;
    Event anchor_;
    std::optional<Last> last_;
};

}  // namespace refit::kernels
