#include "kernels/cuda/nvml.hpp"
#include "kernels/library_symbol.hpp"

#include <dlfcn.h>

namespace refit {
namespace {

// The few calls that are needed, as nvml.h has them; the header comes with no package of ours.
constexpr int kSuccess = 0;
constexpr int kClockOfSms = 1;

struct Library {
    int (*start)() = nullptr;
    int (*stop)() = nullptr;
    int (*device)(const char* pci_bus_id, void** device) = nullptr;
    int (*name)(void* device, char* name, unsigned size) = nullptr;
    int (*utilization)(void* device, unsigned* gpu_and_memory) = nullptr;  // percent, of both
    int (*clock)(void* device, int which, unsigned* megahertz) = nullptr;
    int (*power)(void* device, unsigned* milliwatts) = nullptr;

    bool whole() const { return start && stop && device && name && utilization && clock && power; }
};

class OpenNvml final : public Nvml {
public:
    explicit OpenNvml(const Library& library) : library_(library) {}
    ~OpenNvml() override { library_.stop(); }

    NvmlReading read(const std::string& pci_bus_id) const override {
        NvmlReading reading;
        void* device = nullptr;
        if (library_.device(pci_bus_id.c_str(), &device) != kSuccess) return reading;
        char name[96] = {};
        if (library_.name(device, name, sizeof(name) - 1) == kSuccess) reading.name = name;
        unsigned rates[2] = {};
        if (library_.utilization(device, rates) == kSuccess) reading.busy = rates[0] / 100.0;
        unsigned number = 0;
        if (library_.clock(device, kClockOfSms, &number) == kSuccess) reading.sm_megahertz = number;
        if (library_.power(device, &number) == kSuccess) reading.watts = number / 1e3;
        return reading;
    }

private:
    Library library_;
};

}  // namespace

std::unique_ptr<Nvml> open_nvml(const std::string& library) {
    // Stays open for good, as drivers do.
    void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return nullptr;
    Library calls;
    find_symbol(handle, "nvmlInit_v2", calls.start);
    find_symbol(handle, "nvmlShutdown", calls.stop);
    find_symbol(handle, "nvmlDeviceGetHandleByPciBusId_v2", calls.device);
    find_symbol(handle, "nvmlDeviceGetName", calls.name);
    find_symbol(handle, "nvmlDeviceGetUtilizationRates", calls.utilization);
    find_symbol(handle, "nvmlDeviceGetClockInfo", calls.clock);
    find_symbol(handle, "nvmlDeviceGetPowerUsage", calls.power);
    if (!calls.whole() || calls.start() != kSuccess) return nullptr;
    return std::make_unique<OpenNvml>(calls);
}

}  // namespace refit
