// Ranks as processes: one fork() for each, a mesh between them, and what each of them says.
//
// Use        from a process of one thread that has not touched a GPU. The body runs in the child
//            and its text, 64 MiB at most, comes back when it returns.
// Ends       a child dies with its parent. An exception of the body is the child's failure, and so
//            is a signal that kills it.
// Errors     MachineError: no process, no memory. What `meanwhile` throws ends the children first.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/collective/socket_mesh.hpp"

namespace refit {

struct RankEnd {
    bool clean = false;  // the body returned
    int signal = 0;      // that killed it; 0: none
    std::string text;    // what the body returned, or the message of its exception
};

using RankBody = std::function<std::string(SocketMesh mesh)>;

/// `meanwhile` is called about ten times a second.
std::vector<RankEnd> run_ranks(unsigned ranks,
                               const RankBody& body,
                               const std::function<void()>& meanwhile = {});

}  // namespace refit
