#include "kernels/cuda/driver.hpp"
#include "kernels/library_symbol.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <memory>

namespace refit {
namespace {

// The few calls that are needed, as cuda.h has them; the header may be missing.
constexpr int kSuccess = 0;
constexpr int kNoDevice = 100;
constexpr int kDevicesMax = 1024;

struct Library {
    int (*init)(unsigned flags) = nullptr;
    int (*driver_version)(int* version) = nullptr;
    int (*device_count)(int* count) = nullptr;
    int (*device)(int* device, int number) = nullptr;
    int (*device_name)(char* name, int size, int device) = nullptr;
    int (*device_memory)(std::size_t* bytes, int device) = nullptr;
    int (*error_text)(int code, const char** text) = nullptr;

    bool whole() const {
        return init && driver_version && device_count && device && device_name && device_memory;
    }
};

Library symbols_of(void* handle) {
    Library library;
    find_symbol(handle, "cuInit", library.init);
    find_symbol(handle, "cuDriverGetVersion", library.driver_version);
    find_symbol(handle, "cuDeviceGetCount", library.device_count);
    find_symbol(handle, "cuDeviceGet", library.device);
    find_symbol(handle, "cuDeviceGetName", library.device_name);
    find_symbol(handle, "cuDeviceTotalMem_v2", library.device_memory);
    find_symbol(handle, "cuGetErrorString", library.error_text);
    return library;
}

std::string refusal_text(const Library& library, const char* call, int code) {
    const char* text = nullptr;
    if (library.error_text != nullptr) library.error_text(code, &text);
    return std::string(call) + ": " +
           (text == nullptr ? "error " + std::to_string(code) : std::string(text));
}

void list_gpus(const Library& library, int count, CudaDriver& found) {
    for (int number = 0; number < std::min(count, kDevicesMax); ++number) {
        CudaGpu gpu;
        int device = 0;
        char name[256] = {};
        std::size_t bytes = 0;
        if (library.device(&device, number) == kSuccess) {
            if (library.device_name(name, sizeof(name) - 1, device) == kSuccess) gpu.name = name;
            if (library.device_memory(&bytes, device) == kSuccess) gpu.memory_bytes = bytes;
        }
        found.gpus.push_back(gpu);
    }
}

/// The state of a driver that could be opened.
CudaState ask(const Library& library, CudaDriver& found) {
    if (!library.whole()) {
        found.refusal = "it lacks calls that CUDA has";
        return CudaState::refused;
    }
    int count = 0;
    const char* call = "cuDriverGetVersion";
    int code = library.driver_version(&found.version);
    if (code == kSuccess) {
        if (found.version / 1000 < found.needed / 1000) return CudaState::older;
        call = "cuInit";
        code = library.init(0);
    }
    if (code == kSuccess) {
        call = "cuDeviceGetCount";
        code = library.device_count(&count);
    }
    if (code == kNoDevice) return CudaState::no_device;
    if (code != kSuccess) {
        found.refusal = refusal_text(library, call, code);
        return CudaState::refused;
    }
    list_gpus(library, count, found);
    return found.gpus.empty() ? CudaState::no_device : CudaState::ready;
}

}  // namespace

CudaDriver find_cuda_driver(int runtime_version, const CudaPlaces& places) {
    CudaDriver found;
    found.needed = runtime_version;
    std::error_code absent;
    found.present = std::filesystem::exists(places.node, absent);
    // Stays open for good: a driver that has started keeps threads.
    void* const handle = dlopen(places.library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) {
        found.present = true;
        found.state = ask(symbols_of(handle), found);
    }
    if (runtime_version == 0) found.state = CudaState::not_built;
    return found;
}

std::string cuda_trouble(const CudaDriver& driver) {
    switch (driver.state) {
        case CudaState::not_built:
            return "this build has no CUDA: it was made without nvcc";
        case CudaState::no_driver:
            return driver.present
                       ? "no CUDA driver: a GPU is here, but libcuda.so.1 cannot be opened"
                       : "no CUDA driver: libcuda.so.1 is not here";
        case CudaState::older:
            return "the CUDA driver is older than the runtime: the driver has " +
                   cuda_version_text(driver.version) + ", this program needs " +
                   cuda_version_text(driver.needed / 1000 * 1000) + " or newer (built with " +
                   cuda_version_text(driver.needed) + ")";
        case CudaState::refused:
            return "the CUDA driver does not start: " + driver.refusal;
        case CudaState::no_device:
            return "no CUDA device: the driver (" + cuda_version_text(driver.version) +
                   ") finds no GPU";
        case CudaState::ready:
            break;
    }
    return {};
}

std::string cuda_version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string cuda_devices_text(std::span<const std::string> names) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto same = [&](std::size_t until) {
            return std::count(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(until),
                              names[i]);
        };
        if (same(i) > 0) continue;
        if (!text.empty()) text += " + ";
        text += std::to_string(same(names.size())) + " x " + names[i];
    }
    return text;
}

}  // namespace refit
