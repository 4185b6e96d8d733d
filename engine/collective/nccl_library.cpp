#include "engine/collective/nccl_collective.hpp"

#ifdef REFIT_NCCL

#include "engine/base/result.hpp"
#include "engine/collective/nccl_library.hpp"
#include "kernels/cuda/late_open.hpp"
#include "kernels/library_symbol.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "libnccl.so.2";
constexpr int kOldest = NCCL_VERSION(2, 18, 0);

void* open_file(const fs::path& folder, std::string& file) {
    const std::string name = folder.empty() ? std::string(kName) : (folder / kName).string();
    const LateOpen opened = open_late({&name, 1});
    file = opened.file;
    if (opened.handle != nullptr) return opened.handle;
    throw MachineError("NCCL: " + opened.trouble +
                       (folder.empty() ? "; nor in a wheel beside a python on PATH (--cuda-libs "
                                         "names a folder)"
                                       : ""));
}

template <class Function>
void need_symbol(void* handle, const char* name, const std::string& file, Function& out) {
    find_symbol(handle, name, out);
    if (out == nullptr) throw MachineError("NCCL: " + file + " has no " + name);
}

}  // namespace

/// Stays open for good: its threads would lose their code.
std::shared_ptr<const NcclLibrary> open_nccl(const fs::path& folder) {
    const auto library = std::make_shared<NcclLibrary>();
    void* const handle = open_file(folder, library->file);
    const auto find = [&](const char* name, auto& out) {
        need_symbol(handle, name, library->file, out);
    };
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
