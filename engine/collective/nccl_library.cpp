#include "engine/collective/nccl_collective.hpp"

#ifdef REFIT_NCCL

#include <dlfcn.h>

#include <cstdlib>
#include <sstream>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/collective/nccl_library.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "libnccl.so.2";
constexpr int kOldest = NCCL_VERSION(2, 18, 0);

std::vector<fs::path> entries(const fs::path& folder, const std::string& prefix) {
    std::vector<fs::path> found;
    std::error_code failure;
    for (const auto& entry : fs::directory_iterator(folder, failure))
        if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
    return found;
}

/// Where pip puts the wheels of NVIDIA, beside the interpreters on PATH.
std::vector<fs::path> wheel_files() {
    std::vector<fs::path> files;
    const char* path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (folder.empty()) continue;
        for (const fs::path& python : entries(fs::path(folder).parent_path() / "lib", "python3")) {
            for (const fs::path& part : entries(python / "site-packages" / "nvidia", "")) {
                std::error_code failure;
                const fs::path file = part / "lib" / kName;
                if (fs::is_regular_file(file, failure)) files.push_back(file);
            }
        }
    }
    return files;
}

std::string loader_error() {
    const char* text = dlerror();
    return text == nullptr ? "" : text;
}

void* open_file(const fs::path& folder, std::string& file) {
    file = folder.empty() ? std::string(kName) : (folder / kName).string();
    if (void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    const std::string reason = loader_error();
    if (!folder.empty()) throw MachineError("NCCL: " + reason);
    for (const fs::path& found : wheel_files()) {
        file = found.string();
        if (void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    }
    throw MachineError("NCCL: " + reason +
                       "; nor in a wheel beside a python on PATH (--cuda-libs names a folder)");
}

template <class Function>
void find_symbol(void* handle, const char* name, const std::string& file, Function& out) {
    out = reinterpret_cast<Function>(dlsym(handle, name));
    if (out == nullptr) throw MachineError("NCCL: " + file + " has no " + name);
}

}  // namespace

/// Stays open for good: its threads would lose their code.
std::shared_ptr<const NcclLibrary> open_nccl(const fs::path& folder) {
    const auto library = std::make_shared<NcclLibrary>();
    void* const handle = open_file(folder, library->file);
    const auto find = [&](const char* name, auto& out) { find_symbol(handle, name, library->file, out); };
    find("ncclGetVersion", library->get_version);
    if (library->get_version(&library->version) != ncclSuccess || library->version < kOldest)
        throw MachineError("NCCL: " + library->file + " is " + nccl_version(*library) +
                           "; 2.18 or later is needed");
    find("ncclGetErrorString", library->error_string);
    find("ncclGetUniqueId", library->get_unique_id);
    find("ncclCommInitRankConfig", library->init_rank);
    find("ncclCommGetAsyncError", library->async_error);
    find("ncclCommFinalize", library->finalize);
    find("ncclCommDestroy", library->destroy);
    find("ncclCommAbort", library->abort);
    find("ncclGroupStart", library->group_start);
    find("ncclGroupEnd", library->group_end);
    find("ncclSend", library->send);
    find("ncclRecv", library->receive);
    find("ncclBroadcast", library->broadcast);
    return library;
}

std::string nccl_version(const NcclLibrary& library) {
    // Since 2.9 the major number has a digit more.
    const int major = library.version / (library.version < 10000 ? 1000 : 10000);
    const int rest = library.version % (library.version < 10000 ? 1000 : 10000);
    return std::to_string(major) + "." + std::to_string(rest / 100) + "." +
           std::to_string(rest % 100);
}

}  // namespace refit

#else

#include "engine/base/result.hpp"

namespace refit {

std::shared_ptr<const NcclLibrary> open_nccl(const std::filesystem::path&) {
    throw MachineError("NCCL: this program was built without nccl.h");
}

std::string nccl_version(const NcclLibrary&) { return "none"; }

std::unique_ptr<Collective> make_nccl_collective(std::shared_ptr<const NcclLibrary>,
                                                 Collective&,
                                                 CollectiveMemory&,
                                                 Nanoseconds) {
    throw MachineError("NCCL: this program was built without nccl.h");
}

}  // namespace refit

#endif
