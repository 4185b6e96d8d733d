// StepSource over real checkpoints: the shipped trace, or files the user names.
//
// trace.toml   name, licence note, `base` (a checkpoint path relative to the file) and `deltas`
//              (.rfd files, each from the version before). Versions are rebuilt in memory through
//              our own decoder and checked against the deltas' own identities.
// Errors       as checkpoint.hpp and container.hpp; versions whose catalogs differ are
//              invalid_input.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/step_source.hpp"
#include "kernels/device.hpp"

namespace refit {

Result<std::unique_ptr<StepSource>> open_trace(const std::filesystem::path& trace_toml,
                                               Device& device);
Result<std::unique_ptr<StepSource>> open_checkpoints(
    const std::vector<std::filesystem::path>& versions);

}  // namespace refit
