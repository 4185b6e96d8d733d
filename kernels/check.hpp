// The kernels' own way to state a precondition: this folder includes nothing of the engine.
//
// On in every build. For bugs of the caller only; data that came from outside the process is
// checked before it gets here.
#pragma once

#include <cstdio>
#include <cstdlib>

#define REFIT_KERNEL_CHECK(condition)                                                   \
    do {                                                                                \
        if (!(condition)) ::refit::kernel_check_failed(#condition, __FILE__, __LINE__); \
    } while (false)

namespace refit {

[[noreturn]] inline void kernel_check_failed(const char* condition, const char* file, int line) {
    std::fprintf(stderr, "%s:%d: broken precondition: %s\n", file, line, condition);
    std::abort();
}

}  // namespace refit
