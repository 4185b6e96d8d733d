// The rows of `refit bench compute`, and the same load as a run of a model measures it.
//
// Products   every distinct product of a training step and of a generation batch, some milliseconds
//            at a time, in turn with multiply-adds in registers: medians of both and of their
//            quotient. Each is looked at in 64 places. Seconds are the thread's own CPU time here,
//            so that a busy machine takes nothing of either rate.
// Peak       FP32 multiply-adds of one core at the best level of the built-in product.
// Stolen     workloads/compute_stolen.hpp, beside staging and beside encoding of a made-up unit of
//            kUnitWords words, on one thread each.
// Errors     Interrupted and MachineError pass through.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/console.hpp"
#include "engine/codec/codec.hpp"
#include "engine/record.hpp"
#include "workloads/compute_load.hpp"
#include "workloads/compute_stolen.hpp"
#include "workloads/profile.hpp"

namespace refit {

inline constexpr std::uint64_t kGenerationBatch = 64;  // sequences, a new token each

struct ComputeModel {
    const Architecture& architecture;
    RankShare share;
    std::uint64_t tokens = kLoadTokens;  // of the rank, in a training step
};

struct ComputeRow {
    std::string gemm;  // "built-in, AVX2"
    std::string name;  // "mlp.experts.up_proj"
    std::string pass;  // "forward", "input-gradient", "weight-gradient", "generation"
    GemmSize size;     // as it was cut
    std::uint64_t count = 0;
    double flop_per_second = 0;
    double share_of_peak = 0;
    LoadCheck check;
    std::string device;  // of a GPU, which has no peak here; else empty
};

struct ComputeRows {
    double peak_flop_per_second = 0;
    std::vector<ComputeRow> rows;  // built-in first, then oneDNN where it is

    bool exact() const;
};

/// The rates of a record.
HostStolen stolen_of(const StolenShare& share);

/// The product that loads are made of: oneDNN where it is, else the built-in one.
std::unique_ptr<Gemm> make_load_gemm();

/// "built-in, AVX2"
std::string gemm_text(const Gemm& gemm);

/// Takes about `about`, and longer where the smallest pieces of large products are many.
ComputeRows measure_products(const Console& console, const ComputeModel& model, Nanoseconds about);

/// What the codec works on.
struct ComputeCodec {
    const Codec& codec;
    PairSpec pair;
};

inline constexpr std::uint64_t kUnitWords = std::uint64_t{4} << 20;

/// Takes about `about`, and half a second to set up.
HostCompute measure_compute(const Console& console,
                            Gemm& gemm,
                            const ComputeModel& model,
                            const ComputeCodec& codec,
                            Nanoseconds about);

}  // namespace refit
