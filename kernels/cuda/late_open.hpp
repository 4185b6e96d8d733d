// Libraries of NVIDIA that are opened on first use.
//
// Search    in turn: every name as the loader finds it, then every name in the wheels beside the
//           interpreters on PATH (PREFIX/lib/python3*/site-packages/nvidia/*/lib). A name with a
//           slash is a file, and no other is looked for.
// Open      stays so for good: what a library has started would lose its code.
#pragma once

#include <span>
#include <string>

namespace refit {

struct LateOpen {
    void* handle = nullptr;
    std::string file;     // as it was opened
    std::string trouble;  // of the loader, about the first name; empty where one was found
};

/// At least one name, the one to prefer first.
LateOpen open_late(std::span<const std::string> names);

}  // namespace refit
