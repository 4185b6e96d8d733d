// The one way to state an invariant. On in every build; for our own bugs only, never for bytes
// that arrived from outside the process.
#pragma once

#include <cstdio>
#include <cstdlib>

#define REFIT_ASSERT(condition)                                                      \
    do {                                                                             \
        if (!(condition)) ::refit::assertion_failed(#condition, __FILE__, __LINE__); \
    } while (false)

namespace refit {

[[noreturn]] inline void assertion_failed(const char* condition, const char* file, int line) {
    std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, condition);
    std::abort();
}

}  // namespace refit
