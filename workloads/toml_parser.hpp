// toml++ for files from outside: the only way our sources include it.
//
// Why   Its assertions speak about the bytes it reads ("[[" and a line end break one), and it
//       reports the same bytes as an error right behind them. An assertion would end the program,
//       and where NDEBUG turns it into an assumption nothing could be relied on.
#pragma once

#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expr) static_assert(true)
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
