// StepSource over real checkpoints: the shipped trace, or files the user names.
//
// trace.toml   name, licence, origin (texts), base (a checkpoint path relative to the file) and
//              deltas (.rfd files, each from the version before); all five, nothing else. Versions
//              are rebuilt in memory through our own decoder; the words they start from and those
//              they end in are read in full and checked against the deltas' own identities.
// Memory       2 bytes per word and version after the base.
// Errors       as checkpoint.hpp and container.hpp; versions whose catalogs differ are
//              invalid_input, with the first tensor that does; a delta from another version is
//              wrong_base; a checkpoint with tensors of other types is unsupported, by name.
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

/// Version i is versions[i]; at least one.
Result<std::unique_ptr<StepSource>> open_checkpoints(
    const std::vector<std::filesystem::path>& versions);

}  // namespace refit
