// What the CPU devices share, and the two there are: plain loops, and vector code of one level.
#pragma once

#include <memory>
#include <string>

#include "kernels/cpu/simd.hpp"
#include "kernels/cpu/thread_pool.hpp"
#include "kernels/cpu/xc_coder.hpp"
#include "kernels/device.hpp"

namespace refit {

class PooledDevice : public Device {
public:
    PooledDevice(unsigned threads, std::string level, const XcOps& xc);

    std::string_view name() const final { return "cpu"; }
    std::string detail() const final;
    unsigned lanes() const final { return pool_.lanes(); }
    void for_each(std::uint64_t count,
                  const std::function<void(std::uint64_t, unsigned)>& task) final {
        pool_.for_each(count, task);
    }

    void xc_sample(std::span<const std::uint16_t> base,
                   std::uint8_t mantissa_bits,
                   XcExponents& words) final {
        xc_.sample(base, mantissa_bits, words);
    }
    void xc_scan(std::span<const std::uint16_t> base,
                 const Changes& changes,
                 const XcContext& context,
                 XcTile& tile,
                 XcCounts& counts) final {
        xc_.scan(base, changes, context, tile, counts);
    }
    bool xc_encode(std::span<const std::uint16_t> base,
                   const XcTile& tile,
                   const XcTables& tables,
                   std::span<const std::uint8_t> levels,
                   std::vector<std::byte>& out) final {
        return xc_.encode(base, tile, tables, levels, out);
    }
    XcFault xc_decode(std::span<const std::uint16_t> base,
                      std::span<const std::byte> payload,
                      std::uint32_t changed,
                      const XcTables& tables,
                      Changes& out) final {
        return xc_.decode(base, payload, changed, tables, out);
    }

private:
    std::string level_;
    ThreadPool pool_;
    XcCoder xc_;
};

/// The reference: each operation word by word, as its contract reads.
std::unique_ptr<Device> make_plain_device(unsigned threads);

std::unique_ptr<Device> make_vector_device(unsigned threads, const SimdLevel& level);

}  // namespace refit
