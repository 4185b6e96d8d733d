// A function of a library that was opened at run time: null where the library has none of the name.
#pragma once

#include <dlfcn.h>

namespace refit {

template <class Function>
void find_symbol(void* handle, const char* name, Function& out) {
    out = reinterpret_cast<Function>(dlsym(handle, name));
}

}  // namespace refit
