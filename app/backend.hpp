// Which device a command works on: --backend, --devices and --threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/console.hpp"
#include "engine/base/result.hpp"
#include "kernels/cuda/driver.hpp"
#include "kernels/device.hpp"

namespace CLI {
class App;
}

namespace refit {

struct BackendFlags {
    std::string name = "auto";
    unsigned threads = 0;
    std::string devices;  // empty: all
};

/// `flags` outlive the command.
void add_backend_flags(CLI::App& command, BackendFlags& flags);

/// The numbers of "0-7" or "0,2,5", in that order; each at most once, below 1024.
Result<std::vector<int>> parse_device_list(const std::string& text);

/// What a backend's name means on a machine.
struct BackendChoice {
    std::string name;          // one that can be made
    std::string trouble;       // why it is not cuda, where somebody would expect that
    std::vector<int> devices;  // of cuda
};

/// `auto` becomes cuda where that works, else cpu. A name that cannot be had: throws MachineError.
BackendChoice choose_backend(const BackendFlags& flags, const CudaDriver& driver);

struct OpenedDevice {
    std::unique_ptr<Device> device;
    std::string reason;  // as backend_reason()
};

/// Says first why it is not cuda, where somebody would expect that.
OpenedDevice open_device(const BackendFlags& flags, const Console& console);

/// One line: which backend this is, and why GPU figures are not measured.
std::string backend_reason(const Device& device);

}  // namespace refit
