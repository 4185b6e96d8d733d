// The rows of `refit bench codec`: every codec on every sample, timed by Google Benchmark.
//
// Model      one benchmark per row, "codec/sample". An iteration is one pass (codec_pass.hpp):
//            encode, compare, decode, copy in turn, so that a busy machine slows all four. Its
//            time is encode + decode. A row's rate is that of the median over
//            the repetitions of the median over the passes of each.
// Exact      checked once per row, untimed; a codec that fails is not timed.
// Machine    each sample ends with a row for compare and one for copy: the medians of what its
//            codec rows measured.
// Memory     one sample at a time, made when its first row runs.
// Errors     a flag that Google Benchmark does not take throws CLI::ValidationError. Interrupted
//            and MachineError pass through.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/bench/samples.hpp"
#include "engine/codec/codec.hpp"

namespace refit {

struct BytesPerSecondRates {
    double encode = 0;  // bytes of the weights of one version per second; 0: not measured
    double decode = 0;
    double compare = 0;
    double copy = 0;
};

enum class BenchRowKind : std::uint8_t { codec, compare, copy };

struct BenchRow {
    BenchRowKind kind = BenchRowKind::codec;
    std::string name;        // "xor-zstd/uniform-3%"
    std::string codec;       // empty for compare and copy
    std::size_t sample = 0;  // index into the samples
    std::uint64_t words = 0;
    double changed = 0;
    double bits_per_parameter = 0;
    double bound_bits_per_parameter = 0;
    BytesPerSecondRates rates;
    bool exact = false;
    std::string failure;  // why not exact
};

/// In order of samples, then codecs. `flags` are Google Benchmark's own and override ours.
std::vector<BenchRow> measure_codecs(const Console& console,
                                     Device& device,
                                     const std::vector<BenchSample>& samples,
                                     const std::vector<const Codec*>& codecs,
                                     const std::vector<std::string>& flags);

}  // namespace refit
