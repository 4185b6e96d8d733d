// What `refit bench net` measures: gather and fan-out between ranks that are processes of this
// machine, by message size.
//
// Message    1 KiB, then four times as much each, up to `largest` bytes: what leaves the owner of a
//            fan-out, or is at the owner after a gather, its own part included; random words.
// Round      a barrier, the call, then every word that arrived is compared. `seconds` is the median
//            over rounds of the time from the first rank that enters the call to the last that has
//            its result, so what the barrier leaves apart is in it; one round before is not timed.
// Rates      bytes/s as nccl-tests define them: algbw = message / seconds; busbw = algbw for a
//            fan-out (broadcast), algbw x (ranks - 1) / ranks for a gather.
// Errors     MachineError in one line when a rank fails, whatever it is. Interrupted passes
// through.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/console.hpp"
#include "engine/collective/collective.hpp"
#include "engine/collective/memory.hpp"
#include "engine/collective/socket_mesh.hpp"

namespace refit {

/// What one rank works with; `sockets` alone is the collective of the CPU.
struct NetWorld {
    std::unique_ptr<CollectiveMemory> memory;
    std::unique_ptr<Collective> sockets;
    std::unique_ptr<Collective> nccl;
    std::string version = "none";  // of NCCL

    Collective& all() const { return nccl ? *nccl : *sockets; }
};

/// Called once in each rank's process.
using NetSetup = std::function<NetWorld(SocketMesh mesh)>;

struct NetPlan {
    unsigned ranks = 2;
    std::uint64_t largest = std::uint64_t{64} << 20;
    std::uint64_t seed = 1;
};

inline constexpr std::uint64_t kNetSmallest = 1024;

struct NetRow {
    std::string operation;  // "gather", "fan-out"
    std::uint64_t bytes = 0;
    std::uint64_t rounds = 0;
    double seconds = 0;
    std::optional<double>
        device_seconds;  // by the GPUs' own clocks, the slowest, where they have one
    double algbw = 0;
    double busbw = 0;
    std::uint64_t checked = 0;  // words, over all ranks and rounds
    std::uint64_t wrong = 0;
};

struct NetRows {
    std::string version;  // of NCCL; "none"
    std::string memory;   // of rank 0
    std::vector<NetRow> rows;

    bool exact() const;
};

NetRows measure_net(const Console& console, const NetPlan& plan, const NetSetup& setup);

}  // namespace refit
