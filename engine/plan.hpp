// What a run declares: rates of the fleet, shape of the loop, how a delta is cut and sent, and what
// breaks when. Plain data; scenarios read it from TOML, the engine runs it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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
    synchronous,   // rollouts wait for each new version
    one_step_off,  // rollouts go on with the old version while the new one travels
    asynchronous   // rollouts go on until their weights are `staleness` batches too old
};

/// As scenarios write it.
constexpr std::string_view shape_name(LoopShape shape) {
    switch (shape) {
        case LoopShape::synchronous:
            return "synchronous";
        case LoopShape::one_step_off:
            return "one_step_off";
        default:
            return "asynchronous";
    }
}

/// Asynchronous loops are told in engine/observe/rollout_loop.hpp.
struct Loop {
    LoopShape shape = LoopShape::one_step_off;
    Nanoseconds step{0};          // trainer: from one set of final weights to the next, at least
    Nanoseconds generation{0};    // synchronous, asynchronous: rollout work per version
    std::uint32_t staleness = 2;  // asynchronous: batch n may be made with version n - 1 - this
    Nanoseconds kv_recompute{0};  // of a replica that resumes, before it makes anything new
};

/// A declared rate of computing: achieved, not a data sheet's.
struct DeclaredFlopRate {
    FlopPerSecond value;  // 0: not declared
    std::string source;
};

/// A time of the loop that follows from FLOP instead of being declared.
struct DerivedTime {
    std::string name;  // "step", "generation"
    std::uint64_t flop_per_token = 0;
    std::uint64_t tokens = 0;
    DeclaredFlopRate rate;
    Nanoseconds time{0};  // flop_per_token x tokens / rate
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
