// What a run's folder, or its recording alone, holds: for inspect. A record, a recording or both;
// what is missing or not whole is said, and what is whole is shown.
//
// Errors    as read_recording() where there is no record beside it; a record that is no refit.run/1
//           is corrupt.
#pragma once

#include <filesystem>

#include "app/console.hpp"
#include "engine/base/result.hpp"

namespace refit {

/// A folder with a record or a recording, or a recording's file.
bool is_run(const std::filesystem::path& path);

Status inspect_run(const Console& console, const std::filesystem::path& path);

}  // namespace refit
