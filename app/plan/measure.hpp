// Measures the table of payloads again: every codec on every profile and rate a plan knows.
#pragma once

#include "app/console.hpp"
#include "engine/base/result.hpp"
#include "kernels/device.hpp"

namespace refit {

/// Sampled bit passes over kPayloadModel, each checked; minutes. Notes every rate on stderr.
/// Writes the file whole or not at all.
Status measure_payloads(const Console& console, Device& device, const std::filesystem::path& file);

}  // namespace refit
