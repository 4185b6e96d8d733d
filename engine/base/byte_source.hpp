// Bytes at an offset, in a file or in memory: what readers of untrusted formats read through.
//
// Threads  read_at() may be called from several threads at once.
// Errors   the caller stays inside bytes(); a machine that fails to give them throws MachineError.
#pragma once

#include <algorithm>
#include <utility>

#include "engine/base/bytes.hpp"

namespace refit {

class ByteSource {
public:
    virtual ~ByteSource() = default;
    virtual std::uint64_t bytes() const = 0;
    virtual void read_at(std::uint64_t offset, std::span<std::byte> out) const = 0;
};

class MemorySource final : public ByteSource {
public:
    explicit MemorySource(ByteVector bytes) : bytes_(std::move(bytes)) {}
    std::uint64_t bytes() const override { return bytes_.size(); }
    void read_at(std::uint64_t offset, std::span<std::byte> out) const override {
        REFIT_ASSERT(offset <= bytes_.size() && out.size() <= bytes_.size() - offset);
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    }

private:
    ByteVector bytes_;
};

}  // namespace refit
