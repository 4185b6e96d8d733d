#include "kernels/cpu/cpu_device.hpp"

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <utility>

namespace refit {

namespace {

constexpr std::string_view kPlainLevel = "scalar";

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

}  // namespace

PooledDevice::PooledDevice(unsigned threads, std::string level, const XcOps& xc)
    : level_(std::move(level)), pool_(threads), xc_(xc) {}

std::string PooledDevice::detail() const {
    const unsigned threads = pool_.lanes();
    return level_ + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

std::vector<std::string> cpu_device_levels() {
    std::vector<std::string> names;
    for (const SimdLevel& level : simd_levels()) names.push_back(level.name);
    names.emplace_back(kPlainLevel);
    return names;
}

std::unique_ptr<Device> make_cpu_device(unsigned threads, std::string_view level) {
    if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
    if (level == kPlainLevel) return make_plain_device(threads);
    const std::vector<SimdLevel> levels = simd_levels();
    if (level.empty() && levels.empty()) return make_plain_device(threads);
    for (const SimdLevel& candidate : levels)
        if (level.empty() || candidate.name == level) return make_vector_device(threads, candidate);
    throw std::runtime_error("no dispatch level \"" + std::string(level) +
                             "\" here; this machine runs: " + joined(cpu_device_levels()));
}

}  // namespace refit
