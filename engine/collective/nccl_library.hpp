// NCCL as it is found on this machine: opened on first use, bound by the types of its own header.
//
// Calls      those of NCCL 2.18 and later only.
// Search     a folder the user names and no other; else the loader's own search; else the NVIDIA
//            wheels beside the interpreters on PATH (PREFIX/lib/python3*/site-packages/nvidia).
// Errors     MachineError, one line: not found, or a symbol is missing, or too old.
#pragma once

#include <nccl.h>

#include <filesystem>
#include <string>

namespace refit {

struct NcclLibrary {
    decltype(&::ncclGetVersion) get_version = nullptr;
    decltype(&::ncclGetErrorString) error_string = nullptr;
    decltype(&::ncclGetUniqueId) get_unique_id = nullptr;
    decltype(&::ncclCommInitRankConfig) init_rank = nullptr;
    decltype(&::ncclCommGetAsyncError) async_error = nullptr;
    decltype(&::ncclCommFinalize) finalize = nullptr;
    decltype(&::ncclCommDestroy) destroy = nullptr;
    decltype(&::ncclCommAbort) abort = nullptr;
    decltype(&::ncclGroupStart) group_start = nullptr;
    decltype(&::ncclGroupEnd) group_end = nullptr;
    decltype(&::ncclSend) send = nullptr;
    decltype(&::ncclRecv) receive = nullptr;
    decltype(&::ncclBroadcast) broadcast = nullptr;

    std::string file;  // as it was opened
    int version = 0;   // 22809: 2.28.9
};

}  // namespace refit
