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
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/base/units.hpp"
#include "engine/net/topology.hpp"
#include "engine/plan.hpp"

namespace refit {

/// A model whose words nobody has: its tensors, and how a step changes them.
struct ModelSpec {
    std::string name;            // a shipped architecture, an architecture file, a config.json
    std::filesystem::path file;  // what `name` stands for
    std::string profile = "adam";
    std::filesystem::path rates;  // a file of `refit profile`: by kind, instead of `changed`
    double changed = 0.03;        // of all words, per refit
    std::uint32_t steps = 0;      // optimizer steps per refit; 0: the profile\'s own
    double sample = 0;            // share of the words that goes through the bit pass; 0: 128 Mi
    bool full = false;            // all of them do
};

struct SourceSpec {
    std::string trace;                            // a shipped trace's name, or a trace.toml
    std::filesystem::path trace_file;             // the trace.toml that `trace` stands for
    std::vector<std::filesystem::path> versions;  // or checkpoints: base, next, ...
    ModelSpec model;                              // or an architecture
    std::uint64_t max_refits = 0;                 // 0: one per version after the first; model: 1
};

struct ComputeSpec {
    Nanoseconds seconds{0};  // of load to run on this machine beside the run; 0: none
    std::uint64_t tokens_per_step = 0;
    DeclaredFlopRate trainer;  // all its GPUs; loop.step follows
    DeclaredFlopRate rollout;  // all rollout GPUs; loop.generation follows
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
    ComputeSpec compute;
    std::vector<DerivedTime> derived;  // what of `loop` follows from `compute`
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

/// A scenario from its text alone: no other file is read, so the topology stands in the text and a
/// trace is not looked up.
Result<Scenario> parse_scenario(std::string_view text, const std::string& name);

/// Checks what no single key can: topology, faults that name real nodes, layouts, percentages.
Status validate(const Scenario& scenario);

/// Is this a layout at all ("tp:tp4")? No model needed.
Status check_layout_name(const std::string& layout);

/// "3 Gbit/s", "8 MiB", "250 ms": exact numbers with units, in files and flags.
Result<Bytes> parse_bytes(std::string_view text);
Result<BitsPerSecond> parse_bit_rate(std::string_view text);
Result<BytesPerSecond> parse_byte_rate(std::string_view text);
Result<FlopPerSecond> parse_flop_rate(std::string_view text);
Result<Nanoseconds> parse_duration(std::string_view text);

}  // namespace refit
