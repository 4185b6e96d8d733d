#include "kernels/cuda/late_open.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>

#include "kernels/check.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> entries(const fs::path& folder, const std::string& prefix) {
    std::vector<fs::path> found;
    std::error_code failure;
    for (const auto& entry : fs::directory_iterator(folder, failure))
        if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
    return found;
}

/// Where pip puts NVIDIA's wheels.
std::vector<fs::path> wheel_folders() {
    std::vector<fs::path> folders;
    const char* const path = std::getenv("PATH");
    std::istringstream binaries(path == nullptr ? "" : path);
    for (std::string folder; std::getline(binaries, folder, ':');) {
        if (folder.empty()) continue;
        for (const fs::path& python : entries(fs::path(folder).parent_path() / "lib", "python3"))
            for (const fs::path& part : entries(python / "site-packages" / "nvidia", ""))
                folders.push_back(part / "lib");
    }
    return folders;
}

bool open_one(const std::string& file, LateOpen& found) {
    found.handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (found.handle == nullptr) {
        const char* const text = dlerror();
        if (found.trouble.empty()) found.trouble = text == nullptr ? file + ": not here" : text;
        return false;
    }
    found.file = file;
    found.trouble.clear();
    return true;
}

}  // namespace

LateOpen open_late(std::span<const std::string> names) {
    REFIT_KERNEL_CHECK(!names.empty());
    LateOpen found;
    for (const std::string& name : names)
        if (open_one(name, found)) return found;
    for (const fs::path& folder : wheel_folders()) {
        for (const std::string& name : names) {
            std::error_code failure;
            const fs::path file = folder / name;
            if (name.find('/') != std::string::npos || !fs::is_regular_file(file, failure))
                continue;
            if (open_one(file.string(), found)) return found;
        }
    }
    return found;
}

}  // namespace refit
