// The record of a run, schema refit.run/1: plain values, and their JSON form.
//
// Model    Everything outside `host` is a function of scenario, inputs and seed alone, byte for
//          byte; what this machine took stands under `host` and nowhere else.
// Shares   refit.encode/wire/stage/pause_seconds follow one another on the critical path and add
//          up to refit.seconds, each the mean over the run's refits. `refits` has every one.
// Source   fixed keys: design 5; results/README.md documents them all.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/codec/change_stats.hpp"
#include "engine/emulate/bit_pass.hpp"
#include "engine/emulate/estimate.hpp"
#include "engine/observe/figure.hpp"
#include "engine/plan.hpp"
#include "engine/refit.hpp"

namespace refit {

/// One full-checkpoint codec over the same tree, without faults.
struct BaselineRecord {
    std::string codec;
    double seconds = 0;
    std::uint64_t payload_bytes = 0;
    double bits_per_second = 0;  // achieved, at the scale of the model the times stand for
};

struct MapRecord {
    std::string name;  // "trainer" or the replica's
    std::string layout;
    std::uint64_t ranks = 0;
    std::uint64_t boxes = 0;
    std::uint64_t held_words = 0;
    std::uint64_t copies_max = 0;
};

/// A run of a model that no memory holds: what its figures rest on.
struct ModelPasses {
    double sampled_fraction = 1;  // of the model's words, through the bit pass
    std::uint64_t sampled_tiles = 0;
    std::uint64_t strata = 0;
    Estimate payload;  // of the first delta, from the sample, also in a full run
    Estimate changed;  // words of it
    Estimate seconds;  // of the first refit: time passes at the estimate and at both ends
    double phantom_fraction = 0;  // of the payload: bytes nobody produced
    BitPassTotals bits;           // of all bit passes
    Words resumed;                // of a full pass, taken from its journal
    std::vector<std::string> checked_layouts;

    bool full() const { return sampled_fraction >= 1; }
};

/// What codec work on another thread takes of a compute load: rates alone and beside one another.
struct HostStolen {
    double flop_per_second_beside = 0;
    double codec_bytes_per_second = 0;  // BF16 weight bytes, alone
    double codec_bytes_per_second_beside = 0;
    double stolen = 0;  // 1 - beside / alone of the load, median over the rounds
    double stolen_low = 0;
    double stolen_high = 0;
    double on_core = 0;  // CPU time of the load beside over wall time: below 1 without a core
};

/// An emulated load of the model's matrix products on this machine.
struct HostCompute {
    std::string gemm;    // "built-in, AVX2"
    unsigned cores = 0;  // that this process may use
    double flop_per_second = 0;
    double seconds = 0;  // all of the measurement took
    std::uint64_t rounds = 0;
    std::uint64_t unit_words = 0;  // of the codec's unit
    HostStolen stage;
    HostStolen encode;
};

struct HostFacts {
    std::string cpu;
    std::string device;  // backend and dispatch level
    std::string version;
    double wall_seconds = 0;
    /// Of the bit pass of a model, by part of it: seconds.
    std::map<std::string, double> bit_pass_seconds;
    /// By the clock of a GPU, by operation and kind of copy: seconds, summed over lanes.
    std::map<std::string, double> device_seconds;
    std::optional<HostCompute> compute;
};

struct RunRecord {
    std::string title;
    std::uint64_t seed = 0;
    std::string backend;
    std::string backend_reason;
    double link_scale = 1;
    std::string model_name;
    std::uint64_t model_parameters = 0;       // words of the source
    std::uint64_t stands_for_parameters = 0;  // what the times stand for
    std::string codec;
    std::string codec_summary;
    std::uint64_t chunk_bytes = 0;
    Provenance time_provenance = Provenance::extrapolated;
    std::string declared_rates;  // one line: what drives virtual time
    Loop loop;
    std::vector<DerivedTime> derived_times;  // of the loop

    std::vector<ChangeStats> changes;  // one per refit
    std::vector<BaselineRecord> baselines;
    std::vector<MapRecord> maps;
    RunResult run;
    std::vector<std::string> faults;  // one line each, with the time it hit
    std::optional<ModelPasses> passes;

    HostFacts host;
};

/// What several readers of a record need, computed once.
struct RunFigures {
    double refit_seconds = 0;
    double encode_seconds = 0;
    double wire_seconds = 0;
    double stage_seconds = 0;
    double pause_seconds = 0;
    double longest_pause_seconds = 0;
    double payload_bytes = 0;  // mean per refit
    double bits_per_parameter = 0;
    double bound_bits_per_parameter = 0;
    double changed = 0;
    double speedup = 0;
    const BaselineRecord* fastest = nullptr;  // null without baselines
    double idle_fraction = 0;
    double stolen_fraction = 0;
    /// At which rollouts stay 99 % busy, by shape: observe/loop_form.hpp, with the longest pause.
    std::map<LoopShape, double> shortest_steps;
    double shortest_step_seconds = 0;  // of the declared shape
    bool exact = false;
};
RunFigures figures(const RunRecord& record);

/// Words compared bit for bit: by the resident checks of the run, or by its bit pass.
struct CheckFigures {
    std::uint64_t words_checked = 0;
    std::uint64_t mismatches = 0;
    std::uint64_t resident_failures = 0;
};
CheckFigures check_figures(const RunRecord& record);

nlohmann::ordered_json to_json(const RunRecord& record);

/// The number behind a dotted key ("speedup", "gpu_idle.fraction"): a figure's value, a plain
/// number, or true as 1. not_found names the key.
Result<double> record_value(const nlohmann::ordered_json& record, const std::string& key);

}  // namespace refit
