#include "app/backend.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <numeric>
#include <string_view>

#include "kernels/cuda/cuda_device.hpp"
#include "kernels/simt/simt_device.hpp"

namespace refit {
namespace {

constexpr int kDevicesMax = 1024;

/// A number without a sign; -1 for anything else.
int device_number(std::string_view text) {
    int number = -1;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = failure == std::errc() && end == text.data() + text.size();
    return whole && number >= 0 && number < kDevicesMax ? number : -1;
}

/// Appends "3" or "0-7"; false for anything else and for a device that is there already.
bool add_devices(std::string_view item, std::vector<int>& devices) {
    const std::size_t dash = item.find('-');
    const int first = device_number(item.substr(0, dash));
    const int last = dash == std::string_view::npos ? first : device_number(item.substr(dash + 1));
    if (first < 0 || last < first) return false;
    for (int device = first; device <= last; ++device) {
        if (std::ranges::find(devices, device) != devices.end()) return false;
        devices.push_back(device);
    }
    return true;
}

/// What CLI11 calls for --devices: flags are read in the order they were added.
std::string check_devices(const std::string& text, const BackendFlags& flags) {
    if (flags.name != "cuda") return "needs --backend cuda";
    const auto devices = parse_device_list(text);
    return devices.has_value() ? std::string() : devices.error().what;
}

std::vector<int> devices_of(const BackendFlags& flags, const CudaDriver& driver) {
    if (!flags.devices.empty()) return parse_device_list(flags.devices).value();
    std::vector<int> all(driver.gpus.size());
    std::iota(all.begin(), all.end(), 0);
    return all;
}

/// Why these devices cannot be used; empty where they can.
std::string trouble_of(const CudaDriver& driver, const std::vector<int>& devices) {
    if (driver.state != CudaState::ready) return cuda_trouble(driver);
    for (const int device : devices) {
        if (static_cast<std::size_t>(device) < driver.gpus.size()) continue;
        return "no CUDA device " + std::to_string(device) + ": the driver finds " +
               std::to_string(driver.gpus.size());
    }
    return cuda_refusal(devices);
}

std::unique_ptr<Device> make_device(const BackendChoice& choice, unsigned threads) {
    if (choice.name == "cuda") return make_cuda_device(choice.devices, threads);
    return choice.name == "simt" ? make_simt_device(threads) : make_cpu_device(threads);
}

}  // namespace

void add_backend_flags(CLI::App& command, BackendFlags& flags) {
    command
        .add_option("--backend", flags.name,
                    "auto, cpu or cuda; simt: the CUDA kernels on the host executor, a proof and "
                    "slow")
        ->check(CLI::IsMember({"auto", "cpu", "cuda", "simt"}))
        ->capture_default_str();
    command
        .add_option("--devices", flags.devices,
                    "GPUs of --backend cuda by number, 0-7 or 0,2,5; all when left out")
        ->check(CLI::Validator(
            [&flags](const std::string& text) { return check_devices(text, flags); }, "LIST"))
        ->type_name("");
    command.add_option("--threads", flags.threads, "0: one per usable core")
        ->check(CLI::Range(0, 1024))
        ->capture_default_str();
}

Result<std::vector<int>> parse_device_list(const std::string& text) {
    std::vector<int> devices;
    std::string_view rest = text;
    for (bool more = true; more;) {
        const std::size_t comma = rest.find(',');
        if (!add_devices(rest.substr(0, comma), devices)) {
            return Error{ErrorCode::invalid_input,
                         "takes numbers like 0-7 or 0,2,5, each once and below " +
                             std::to_string(kDevicesMax) + ", not '" + text + "'"};
        }
        more = comma != std::string_view::npos;
        if (more) rest.remove_prefix(comma + 1);
    }
    return devices;
}

BackendChoice choose_backend(const BackendFlags& flags, const CudaDriver& driver) {
    if (flags.name != "auto" && flags.name != "cuda") return {flags.name, {}, {}};
    const std::vector<int> devices = devices_of(flags, driver);
    const std::string trouble = trouble_of(driver, devices);
    if (trouble.empty()) return {"cuda", {}, devices};
    if (flags.name == "cuda") throw MachineError(trouble);
    return {"cpu", driver.present ? trouble : "", {}};
}

OpenedDevice open_device(const BackendFlags& flags, const Console& console) {
    const bool asks = flags.name == "auto" || flags.name == "cuda";
    const BackendChoice choice =
        choose_backend(flags, asks ? find_cuda_driver(cuda_runtime_version()) : CudaDriver());
    OpenedDevice opened{make_device(choice, flags.threads), {}};
    opened.reason = backend_reason(*opened.device);
    if (choice.trouble.empty()) return opened;
    opened.reason = "cpu, not cuda: " + choice.trouble + "; GPU figures are modelled";
    // The first line of the output; a document on stdout stands alone.
    if (console.json) {
        console.note(opened.reason);
    } else if (!console.quiet) {
        console.say(opened.reason);
    }
    return opened;
}

std::string backend_reason(const Device& device) {
    if (device.name() == "simt") return "simt: the CUDA kernels on this CPU; no GPU: modelled";
    if (device.name() == "cuda") return "cuda: " + device.detail() + "; GPU figures are modelled";
    std::error_code absent;
    if (std::filesystem::exists(CudaPlaces().node, absent))
        return "cpu although this machine has a GPU; GPU figures are modelled";
    return "cpu; no GPU: modelled";
}

}  // namespace refit
