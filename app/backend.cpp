#include "app/backend.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "kernels/simt/simt_device.hpp"

namespace refit {

void add_backend_flags(CLI::App& command, BackendFlags& flags) {
    command
        .add_option("--backend", flags.name,
                    "auto or cpu; simt: the CUDA kernels on the host executor, a proof and slow")
        ->check(CLI::IsMember({"auto", "cpu", "simt"}))
        ->capture_default_str();
    command.add_option("--threads", flags.threads, "0: one per usable core")
        ->check(CLI::Range(0, 1024))
        ->capture_default_str();
}

std::unique_ptr<Device> open_device(const BackendFlags& flags) {
    return flags.name == "simt" ? make_simt_device(flags.threads) : make_cpu_device(flags.threads);
}

std::string backend_reason(const Device& device) {
    if (device.name() == "simt") return "simt: the CUDA kernels on this CPU; no GPU: modelled";
    // A device node without a use is said first.
    std::error_code absent;
    if (std::filesystem::exists("/dev/nvidiactl", absent))
        return "cpu although this machine has a GPU: this version has no other backend";
    return "cpu; no GPU: modelled";
}

}  // namespace refit
