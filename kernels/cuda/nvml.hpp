// What NVML says of a GPU, a coarse check of what events say: opened on first use, never linked.
//
// Busy      percent of the time in which some kernel ran, over a period that the driver chooses
//           (1/6 s to 1 s): it sees no gap shorter than that, and says nothing of how much ran.
// Device    by its PCI bus id: NVML counts devices that CUDA is told not to see, in another order.
// Missing   a figure that the device does not support is empty; so is everything where the device
//           is unknown.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace refit {

struct NvmlReading {
    std::string name;            // empty: it does not say
    std::optional<double> busy;  // 0 to 1
    std::optional<unsigned> sm_megahertz;
    std::optional<double> watts;

    friend bool operator==(const NvmlReading&, const NvmlReading&) = default;
};

class Nvml {
public:
    Nvml() = default;
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;
    virtual ~Nvml() = default;

    virtual NvmlReading read(const std::string& pci_bus_id) const = 0;
};

/// Null: no such library, or it does not start.
std::unique_ptr<Nvml> open_nvml(const std::string& library = "libnvidia-ml.so.1");

}  // namespace refit
