// The collective of GPUs: NCCL between the ranks, over a second collective that starts it.
//
// Parts      the other collective (over sockets) hands out NCCL's unique id, sees a process die at
//            once, which NCCL does not, and says who goes on after a loss. Buffers and the stream
//            come from `memory`, so the same calls run on host memory against another library of
//            the same interface.
// Calls      queued, then watched: NCCL's own error, the other ranks and the deadline. A loss
//            aborts the communicator; rebuild() makes a new one, with a new id, for those left.
// Start      the communicator is made by the first call that needs one.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "engine/collective/collective.hpp"
#include "engine/collective/memory.hpp"

namespace refit {

struct NcclLibrary;

/// `folder` empty: search (nccl_library.hpp). Throws MachineError in one line; also in a build that
/// had no nccl.h.
std::shared_ptr<const NcclLibrary> open_nccl(const std::filesystem::path& folder);

/// "2.28.9"
std::string nccl_version(const NcclLibrary& library);

/// `bootstrap` and `memory` outlive it.
std::unique_ptr<Collective> make_nccl_collective(std::shared_ptr<const NcclLibrary> library,
                                                 Collective& bootstrap,
                                                 CollectiveMemory& memory,
                                                 Nanoseconds deadline);

}  // namespace refit
