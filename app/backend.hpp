// Which device a command works on: --backend and --threads.
#pragma once

#include <memory>
#include <string>

#include "kernels/device.hpp"

namespace CLI {
class App;
}

namespace refit {

struct BackendFlags {
    std::string name = "auto";
    unsigned threads = 0;
};

/// `flags` outlive the command.
void add_backend_flags(CLI::App& command, BackendFlags& flags);

std::unique_ptr<Device> open_device(const BackendFlags& flags);

/// One line: which backend this is, and why GPU figures are not measured.
std::string backend_reason(const Device& device);

}  // namespace refit
