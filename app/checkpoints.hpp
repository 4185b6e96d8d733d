// What the commands on checkpoints and deltas have in common.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "app/console.hpp"
#include "engine/codec/container.hpp"
#include "kernels/device.hpp"
#include "workloads/checkpoint.hpp"

namespace refit {

/// Opens a checkpoint whose tensors all have 16-bit words; others are unsupported, by name.
Result<std::unique_ptr<Checkpoint>> open_words(const std::filesystem::path& path);

/// Same tensors, types and shapes; else invalid_input with the first difference, about `other`.
Status check_same_tensors(const Checkpoint& one, const Checkpoint& other);

/// invalid_input if `output` is the same file as one of the inputs.
Status check_output_apart(const std::filesystem::path& output,
                          std::span<const std::filesystem::path> inputs);

/// Identity of the words: a full read, tile by tile, on all lanes.
Hash256 read_version(const Console& console,
                     Device& device,
                     const DeltaContext& context,
                     const Weights& weights,
                     const std::string& what);

/// Receives the next words of each tile in ascending order.
using TileSink = std::function<void(const Tile& tile, std::span<const std::uint16_t> next)>;

/// Decodes every tile of `delta` against `base`. Refuses another base before the first decode;
/// checks the identity of the result against the seal after the last.
Status decode_delta(const Console& console,
                    Device& device,
                    const RfdReader& delta,
                    const Checkpoint& base,
                    const std::filesystem::path& delta_path,
                    const TileSink& sink);

}  // namespace refit
