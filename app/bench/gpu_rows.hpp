// The GPU's rows of `refit bench compute`: cuBLASLt's products at the model's shapes, what codec
// work on the same GPU takes of them, and what the GPU did meanwhile.
//
// Products   each distinct one of a training step and of a generation batch, cut to what
//            LoadBuffers hold, over and over on operands that lie on the device: FLOP over the time
//            between events around them, median over repeats. No copy is in it. One of each is
//            copied back and looked at in 64 places.
// Stolen     the product with the most FLOP in a step is the load. In turn: the load alone, the
// load
//            with a codec's unit over and over on another host thread and the same GPU, that work
//            alone; workloads/compute_stolen.hpp has the figures. Rates of the load are over the
//            whole slice by the device's clock, gaps between batches of products included.
// Busy       of the slices beside: load by events; codec from the host clock around each unit, so
//            the copies and the host's part are in it and `stolen` is no less than it was.
//            Both clocks are one to within what a wait for the device takes.
// NVML       read at the end of a slice of kNvmlSlice of load alone, beside the same by events.
// Errors     Interrupted and std::runtime_error of the device pass through.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/bench/compute_rows.hpp"
#include "kernels/cuda/device_gemm.hpp"
#include "kernels/cuda/nvml.hpp"

namespace refit {

struct GpuStolen {
    std::string work;            // "stage", "encode"
    double flop_per_second = 0;  // of the load alone
    HostStolen rates;
    BusyAccount busy;
};

struct GpuNvml {
    NvmlReading reading;
    BusyAccount busy;  // by events
};

struct GpuCompute {
    std::string trouble;  // one line: why nothing was measured; then the rest is empty
    std::string gemm;     // "cuBLASLt, 13.1.0"
    std::string device;   // "NVIDIA H200"
    std::vector<ComputeRow> rows;
    std::uint64_t rounds = 0;
    std::uint64_t unit_words = 0;
    std::vector<GpuStolen> stolen;
    std::optional<GpuNvml> nvml;  // empty: it is not here
};

/// What is measured; all of it outlives the call.
struct GpuParts {
    DeviceGemm& gemm;
    Device& codec_device;  // of one lane, on the same GPU
    std::string device;
    const Nvml* nvml = nullptr;  // null: none
    std::string pci_bus_id;
    Nanoseconds nvml_slice{0};
};

inline constexpr Nanoseconds kNvmlSlice = 1200_ms;  // no less than NVML looks back

/// Takes about `about`, the copies of each product and kNvmlSlice.
GpuCompute measure_gpu(const Console& console,
                       const GpuParts& parts,
                       const ComputeModel& model,
                       const ComputeCodec& codec,
                       Nanoseconds about);

/// The first GPU, where there is one that works and cuBLASLt.
GpuCompute measure_gpu(const Console& console,
                       const ComputeModel& model,
                       const ComputeCodec& codec,
                       Nanoseconds about);

}  // namespace refit
