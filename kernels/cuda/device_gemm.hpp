// A Gemm on a device with memory and a clock of its own.
//
// multiply()   takes the operands to the device and the product back: the time it takes is mostly
//              that of copies, and says nothing of the device.
// repeat()     is what is to be timed: products alone, operands and room on the device, nothing
//              copied. The operands may still lie in the device's caches from the product before.
// Clock        the device's: nanoseconds since start_clock(), which waits for the device, so that a
//              host clock read right after it is the same instant but for what the wait takes.
// Memory       the largest operands so far, on the device and once more in pinned host memory.
#pragma once

#include <cstdint>

#include "kernels/cuda/busy.hpp"
#include "kernels/gemm.hpp"

namespace refit {

class DeviceGemm : public Gemm {
public:
    virtual void start_clock() = 0;

    /// The last product that multiply() made, `count` >= 1 times more, one after the other; waits.
    /// When the device was at it, by its clock.
    virtual DeviceSpan repeat(std::uint64_t count) = 0;
};

}  // namespace refit
