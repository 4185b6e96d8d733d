// xc on the CPU: whole tiles, with the inner loops of one dispatch level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/changes.hpp"
#include "kernels/cpu/xc_ops.hpp"
#include "kernels/xc.hpp"

namespace refit {

class XcCoder {
public:
    explicit XcCoder(const XcOps& ops) : ops_(ops) {}

    /// The operations of the same names in device.hpp.
    void sample(std::span<const std::uint16_t> base,
                std::uint8_t mantissa_bits,
                XcExponents& words) const;
    void scan(std::span<const std::uint16_t> base,
              const Changes& changes,
              const XcContext& context,
              XcTile& tile,
              XcCounts& counts) const;
    bool encode(std::span<const std::uint16_t> base,
                const XcTile& tile,
                const XcTables& tables,
                std::span<const std::uint8_t> levels,
                std::vector<std::byte>& out) const;
    XcFault decode(std::span<const std::uint16_t> base,
                   std::span<const std::byte> payload,
                   std::uint32_t changed,
                   const XcTables& tables,
                   Changes& out) const;

private:
    XcOps ops_;
};

}  // namespace refit
