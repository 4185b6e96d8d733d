// What a test tells the fake library, and what that saw.
#pragma once

#include <cstddef>

namespace refit {

struct FakeCublasLt {
    const char* failing = "";      // the call that fails
    int choices = 1;               // ways to multiply that it knows
    std::size_t workspace = 4096;  // that the way it chooses needs

    int asked = 0;  // for a way
    int products = 0;
    int live = 0;            // what it made and nobody gave back
    int broken = 0;          // rules of its interface
    void* stream = nullptr;  // of the last product
};

using FakeCublasLtOf = FakeCublasLt* (*)();

}  // namespace refit
