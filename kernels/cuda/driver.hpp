// What this machine has of CUDA, asked of its driver: a plain value, with one text for each way in
// which it can be of no use.
//
// Driver    opened when asked, and never linked: a program starts without it. Works in builds
//           without nvcc too.
// Version   as CUDA numbers them: 12080 is 12.8. A driver runs programs of its own major version,
//           and older ones.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace refit {

enum class CudaState : std::uint8_t {
    not_built,  // this program has no CUDA
    no_driver,
    older,  // the driver is, than the runtime of this program
    refused,
    no_device,
    ready
};

struct CudaGpu {
    std::string name;
    std::uint64_t memory_bytes = 0;
};

struct CudaDriver {
    CudaState state = CudaState::no_driver;
    bool present = false;       // a driver, or its device node, is here
    int version = 0;            // of the driver; 0: it did not say
    int needed = 0;             // of the runtime
    std::string refusal;        // what the driver says when it does not start
    std::vector<CudaGpu> gpus;  // those of a driver that starts, by number
};

/// Where to look; tests look elsewhere.
struct CudaPlaces {
    std::string library = "libcuda.so.1";
    std::string node = "/dev/nvidiactl";
};

/// `runtime_version` 0: a build without CUDA.
CudaDriver find_cuda_driver(int runtime_version, const CudaPlaces& places = {});

/// One line: why there is no CUDA here. Empty when it is ready.
std::string cuda_trouble(const CudaDriver& driver);

/// "12.8"
std::string cuda_version_text(int version);

/// "2 x NVIDIA H200"; several kinds are joined by " + ".
std::string cuda_devices_text(std::span<const std::string> names);

}  // namespace refit
