// A small file from outside, read whole.
//
// Limit    1 MiB.
// Errors   not_found: no such file; invalid_input: not a regular file, or too large. Neither names
//          the file: the caller knows what it is about.
#pragma once

#include <filesystem>
#include <string>

#include "engine/base/result.hpp"

namespace refit {

Result<std::string> load_text_file(const std::filesystem::path& path);

}  // namespace refit
