// The Gemm port: the compute load of an emulated step. C = A x B, BF16 words in, FP32 out.
//
// Shapes   row-major and dense: A is m x k, B is k x n, C is m x n; all three at least 1.
// Exact    sums run in FP32, in an order that the level and the shape alone decide: one level
//          gives the same bits on every machine. Small whole numbers are exact on every level;
//          otherwise |C - A x B| <= k x 2^-23 x |A| x |B|, word by word. Infinities and NaNs
//          follow IEEE.
// Threads  a call works on the calling thread. An object keeps buffers (below 2 MiB) from call to
//          call, so it serves one thread at a time.
// Errors   spans of other sizes abort. Unknown level: std::runtime_error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/check.hpp"

namespace refit {

struct GemmSize {
    std::size_t m = 0;
    std::size_t n = 0;
    std::size_t k = 0;

    /// A multiply-add counts as two.
    std::uint64_t flop() const { return 2 * std::uint64_t{m} * n * k; }

    friend bool operator==(const GemmSize&, const GemmSize&) = default;
};

/// The operands of a product are there whole, and there is one.
inline void check_operands(const GemmSize& size, std::size_t a, std::size_t b, std::size_t c) {
    REFIT_KERNEL_CHECK(size.m > 0 && size.n > 0 && size.k > 0);
    REFIT_KERNEL_CHECK(a == size.m * size.k && b == size.k * size.n && c == size.m * size.n);
}

class Gemm {
public:
    Gemm() = default;
    Gemm(const Gemm&) = delete;
    Gemm& operator=(const Gemm&) = delete;
    virtual ~Gemm() = default;

    virtual std::string_view name() const = 0;  // "built-in", "oneDNN"
    virtual std::string detail() const = 0;     // "AVX2", "2.6.3"

    /// Replaces all of `c`.
    virtual void multiply(const GemmSize& size,
                          std::span<const std::uint16_t> a,
                          std::span<const std::uint16_t> b,
                          std::span<float> c) = 0;
};

/// Blocked and packed. `level` as make_cpu_device() takes it; "scalar" is the plain triple loop.
std::unique_ptr<Gemm> make_cpu_gemm(std::string_view level = {});

/// The levels this machine can run, best first, ending in "scalar".
std::vector<std::string> cpu_gemm_levels();

/// oneDNN on one thread, at the FP32 or BF16 rate of the machine. Null: built without it, or the
/// library is not here.
std::unique_ptr<Gemm> make_onednn_gemm();

/// Whether this program was built with it: says nothing of the machine.
bool built_with_onednn();

/// Does `rounds` rounds of FP32 multiply-adds in registers alone, at a level of
/// cpu_gemm_levels(); returns how many FLOP these were. Their rate bounds every FP32 product.
std::uint64_t run_multiply_adds(std::string_view level, std::uint64_t rounds);

}  // namespace refit
