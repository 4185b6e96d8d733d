// What each operation of the kernels cannot do without: the bytes it must move, and the launches it
// is made of with what the compiler made of them.
//
// Floor     bytes between the chip and its memory when everything that is read comes once and
//           everything the caller asked for goes back once; what an implementation keeps for itself
//           in between is not in it. Scattered accesses count whole sectors of 32 bytes. A speed is
//           seen against a copy of the same device in the same run, which moves 4 bytes per word.
// SASS      counted in the compiled kernels by tests/tools/sass_lint.py (kernels/cuda/
//           sass_counts.inl). Per word: the fewest instructions a thread can take through the loop
//           that reads 16 bytes at a time, over the words it reads there.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "app/bench/kernel_cases.hpp"

namespace refit {

/// Bytes for each of these.
struct FloorBytes {
    double word = 0;
    double changing_word = 0;  // a word of a segment with a change
    double changed = 0;
    double segment = 0;
    double sector = 0;
    double position = 0;  // of the staging list
    double stored = 0;    // word of the staging list
    double payload = 0;   // byte of the payloads
};

struct KernelFloor {
    BatchOperation operation;
    std::string_view name;
    std::string_view formula;
    FloorBytes bytes;
    std::array<std::string_view, 4> kernels;  // in order, the rest empty
};

/// One for each operation, the copy first.
std::span<const KernelFloor> kernel_floors();

double floor_bytes(const KernelFloor& floor, const KernelCounts& counts);

/// What the compiler made of one kernel.
struct SassCount {
    std::string_view kernel;
    int architecture;  // 90: sm_90
    int instructions;
    int registers;
    int vector_loads;      // of 16 bytes
    double loop_per_word;  // 0: the kernel has no loop over 16-byte loads
};

std::span<const SassCount> sass_counts();
std::string_view sass_compiler();

inline constexpr int kSassShown = 90;

/// Of all launches of an operation.
struct OperationSass {
    int instructions = 0;
    double per_word = 0;
};
OperationSass operation_sass(const KernelFloor& floor, int architecture);

}  // namespace refit
