// Ranges that NVIDIA's profilers show: a header, no library. Toolkits without it leave them out.
#pragma once

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define REFIT_NVTX(...) __VA_ARGS__
#else
#define REFIT_NVTX(...) static_cast<void>(0)
#endif
