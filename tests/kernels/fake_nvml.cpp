// A library of NVML's interface with one GPU, 0000:19:00.0. Its names are NVML's.
// REFIT_FAKE_NVML_FAILS names the call that fails.
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;

int outcome(std::string_view call) {
    const char* const failing = std::getenv("REFIT_FAKE_NVML_FAILS");
    return failing != nullptr && call == failing ? kNotSupported : 0;
}

int& started() {
    static int count = 0;
    return count;
}

}  // namespace

extern "C" {

int refit_fake_nvml_started() { return started(); }

int nvmlInit_v2() {
    const int code = outcome("nvmlInit_v2");
    started() += code == 0 ? 1 : 0;
    return code;
}

int nvmlShutdown() {
    --started();
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
    if (std::string_view(bus) != "0000:19:00.0") return kNotFound;
    *device = &started();
    return outcome("nvmlDeviceGetHandleByPciBusId_v2");
}

int nvmlDeviceGetName(void* device, char* name, unsigned size) {
    if (device != &started()) return kNotFound;
    std::strncpy(name, "Fake One", size);
    return outcome("nvmlDeviceGetName");
}

int nvmlDeviceGetUtilizationRates(void* device, unsigned* gpu_and_memory) {
    if (device != &started()) return kNotFound;
    gpu_and_memory[0] = 98;
    gpu_and_memory[1] = 41;
    return outcome("nvmlDeviceGetUtilizationRates");
}

int nvmlDeviceGetClockInfo(void* device, int which, unsigned* megahertz) {
    if (device != &started()) return kNotFound;
    *megahertz = which == 1 ? 1980 : 7;
    return outcome("nvmlDeviceGetClockInfo");
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
    if (device != &started()) return kNotFound;
    *milliwatts = 651'500;
    return outcome("nvmlDeviceGetPowerUsage");
}

}  // extern "C"
