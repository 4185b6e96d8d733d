#include "app/late_libraries.hpp"

#include <fmt/format.h>

#include <vector>

#include "kernels/cuda/late_open.hpp"
#include "kernels/library_symbol.hpp"

namespace refit {
namespace {

template <class Function>
Function symbol(void* handle, const char* name) {
    Function found = nullptr;
    find_symbol(handle, name, found);
    return found;
}

/// Both libraries write 2.28.9 as 22809.
std::string three_parts(std::size_t version) {
    return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string nccl_version(void* handle) {
    const auto ask = symbol<int (*)(int*)>(handle, "ncclGetVersion");
    int version = 0;
    if (ask == nullptr || ask(&version) != 0 || version <= 0) return {};
    return three_parts(static_cast<std::size_t>(version));
}

std::string cublaslt_version(void* handle) {
    const auto ask = symbol<std::size_t (*)()>(handle, "cublasLtGetVersion");
    return ask == nullptr ? std::string() : three_parts(ask());
}

std::string nvml_version(void* handle) {
    const auto start = symbol<int (*)()>(handle, "nvmlInit_v2");
    const auto stop = symbol<int (*)()>(handle, "nvmlShutdown");
    const auto ask = symbol<int (*)(char*, unsigned)>(handle, "nvmlSystemGetDriverVersion");
    if (start == nullptr || stop == nullptr || ask == nullptr || start() != 0) return {};
    char text[96] = {};
    const bool told = ask(text, sizeof(text) - 1) == 0;
    stop();
    return told ? text : "";
}

struct Probe {
    std::vector<std::string> sonames;      // newest first
    std::string (*version)(void* handle);  // empty: it does not say
};

Probe probe_of(LateLibrary library) {
    switch (library) {
        case LateLibrary::nccl:
            return {{"libnccl.so.2"}, nccl_version};
        case LateLibrary::cublaslt:
            return {{"libcublasLt.so.13", "libcublasLt.so.12"}, cublaslt_version};
        case LateLibrary::nvml:
            break;
    }
    return {{"libnvidia-ml.so.1"}, nvml_version};
}

}  // namespace

std::string late_library_state(LateLibrary library) {
    const Probe probe = probe_of(library);
    const LateOpen opened = open_late(probe.sonames);
    if (opened.handle == nullptr) return "not here";
    const std::string version = probe.version(opened.handle);
    return (version.empty() ? "version unknown" : version) + " (" + opened.file + ")";
}

}  // namespace refit
