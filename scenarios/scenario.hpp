// A run as plain data: what is sent, over what, how fast the fleet is, what breaks.
//
// File     TOML, schema "refit.scenario/1"; scenarios/README.md lists every key. Unknown keys are
//          errors. `topology` names a file under scenarios/topologies or is given inline.
// Errors   invalid_input: `file:line: key: reason`, one sentence.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/base/units.hpp"
#include "engine/net/topology.hpp"

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
    one_step_off   // rollouts go on with the old version while the new one travels
};

struct Loop {
    LoopShape shape = LoopShape::one_step_off;
    Nanoseconds step{0};        // trainer: from one set of final weights to the next, at least
    Nanoseconds generation{0};  // synchronous: rollout work per version
};

struct DeltaSpec {
    std::string codec = "gap-xor-zstd";
    Bytes chunk = 8_MiB;
    std::uint32_t chunks_per_part = 64;
    std::uint64_t unit_words = std::uint64_t{16} << 20;
};

struct TransportSpec {
    std::uint32_t window = 16;   // chunks in flight per edge
    double goodput = 0.965;      // payload share of the wire at MTU 1500
    Nanoseconds reconnect{0};    // from losing a peer to trying the next
    Nanoseconds detect{0};       // silence until a peer counts as lost
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

struct SourceSpec {
    std::string trace;                            // a shipped trace's name, or a trace.toml
    std::vector<std::filesystem::path> versions;  // or checkpoints: base, next, ...
};

struct Scenario {
    std::string title;
    std::filesystem::path file;  // where it came from; empty for none
    SourceSpec source;
    /// > 0: link and fleet rates are multiplied by (source words / this), so that times stand for
    /// a model of this many parameters. 0: rates as declared.
    std::uint64_t stands_for_parameters = 0;
    DeltaSpec delta;
    TransportSpec transport;
    Fleet fleet;
    Loop loop;
    Topology topology;
    std::string trainer_layout = "fsdp:dp4";
    std::vector<FaultSpec> faults;
    std::vector<std::string> require;  // "speedup>=12"
    std::uint64_t seed = 1;
};

/// Where the shipped scenarios, topologies and traces are: REFIT_DATA given by app, or beside the
/// program, or the source tree it was built from. The caller passes the root in.
Result<Scenario> load_scenario(
    const std::filesystem::path& file,
    const std::filesystem::path& data_root,
    const std::vector<std::pair<std::string, std::string>>& overrides);  // --set key=value

/// Checks what no single key can: topology, faults that name real nodes, layouts, percentages.
Status validate(const Scenario& scenario);

/// "12x", "3 Gbit/s", "8 MiB", "250 ms", "3%": numbers with units, in files and flags.
Result<Bytes> parse_bytes(std::string_view text);
Result<BitsPerSecond> parse_bit_rate(std::string_view text);
Result<BytesPerSecond> parse_byte_rate(std::string_view text);
Result<Nanoseconds> parse_duration(std::string_view text);

}  // namespace refit
