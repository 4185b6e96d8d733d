// What the commands on checkpoints and deltas have in common.
#pragma once

#include <filesystem>
#include <span>

#include "app/progress.hpp"
#include "workloads/encode_checkpoints.hpp"

namespace refit {

/// invalid_input if `output` is the same file as one of the inputs.
Status check_output_apart(const std::filesystem::path& output,
                          std::span<const std::filesystem::path> inputs);

/// Tells `progress`, which outlives the result.
inline ByteProgress report_to(Progress& progress) {
    return [&progress](Bytes done) { progress.advance(done); };
}

}  // namespace refit
