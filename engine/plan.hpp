// What a run declares: rates of the fleet, shape of the loop, how a delta is cut and sent, and what
// breaks when. Plain data; scenarios read it from TOML, the engine runs it.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/units.hpp"

namespace refit {

/// A declared rate: virtual time is driven by these alone.
struct DeclaredRate {
    BytesPerSecond value;
    std::string source;  // who says so; "ours, unmeasured" is an honest answer
};

/// Of a whole fleet or replica, in BF16 weight bytes of one checkpoint per second.
struct Fleet {
    DeclaredRate encode;     // trainer, all ranks together
    DeclaredRate decode;     // one replica, all ranks: payload to staging list
    DeclaredRate overwrite;  // one replica: staged bytes stored per second
    DeclaredRate digest;     // one replica: resident bytes read per second
    Nanoseconds drain;       // from "stop" to the batch boundary
    std::string drain_source;
};

enum class LoopShape : std::uint8_t {
    synchronous,  // rollouts wait for each new version
    one_step_off  // rollouts go on with the old version while the new one travels
};

struct Loop {
    LoopShape shape = LoopShape::one_step_off;
    Nanoseconds step{0};        // trainer: from one set of final weights to the next, at least
    Nanoseconds generation{0};  // synchronous: rollout work per version
};

struct DeltaSpec {
    std::string codec = "xc";
    Bytes chunk = 8_MiB;
    std::uint32_t chunks_per_part = 64;
    std::uint64_t unit_words = std::uint64_t{16} << 20;
};

struct TransportSpec {
    std::uint32_t window = 16;  // chunks in flight per edge
    double goodput = 0.965;     // payload share of the wire at MTU 1500
    Nanoseconds reconnect{0};   // from losing a peer to trying the next
    Nanoseconds detect{0};      // silence until a peer counts as lost
};

enum class FaultKind : std::uint8_t { kill, crash, cut };

/// Fires when the edge into `node` (kill/crash: the edges into the node itself; cut: that edge)
/// has delivered `at_percent` of the chunks of refit number `refit`.
struct FaultSpec {
    FaultKind kind = FaultKind::kill;  // kill: for good. crash: comes back. cut: the WAN link
    std::string node;                  // kill, crash: a tree node. cut: child end of the edge
    std::uint64_t refit = 1;           // 1 is the first
    std::uint32_t at_percent = 50;     // 1..99
    Nanoseconds duration{0};           // crash, cut
};

}  // namespace refit
