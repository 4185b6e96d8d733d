// cuBLASLt behind plain types, so that what calls it needs no CUDA header.
//
// Product    C = A x B as kernels/gemm.hpp has it: BF16 in, FP32 sums, FP32 out. The library counts
//            by columns, and a row-major matrix is its own transpose by columns: it is asked for
//            C^T = B^T x A^T, which moves nothing.
// Exact      small whole numbers; otherwise the bound of kernels/gemm.hpp is expected, and whoever
//            measures looks at some words. Bits are those of the way chosen for that GPU.
// Plan       how to multiply is asked once per shape (the library's first choice) and kept with
//            its descriptors for as long as the object lives. Workspace: at most kWorkspaceBytes.
// Memory     of the caller, all of it on the device that was in use when the library was opened;
//            begins at multiples of 256 bytes, which the library's choice relies on.
// Calls      of cuBLASLt 12 and 13 alike. A failure: std::runtime_error, one line with the call and
//            the library's text.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "kernels/gemm.hpp"

namespace refit {

struct GemmOperands {
    const void* a = nullptr;
    const void* b = nullptr;
    void* c = nullptr;
    void* workspace = nullptr;  // CublasLt::kWorkspaceBytes
};

class CublasLt {
public:
    static constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

    CublasLt() = default;
    CublasLt(const CublasLt&) = delete;
    CublasLt& operator=(const CublasLt&) = delete;
    virtual ~CublasLt() = default;

    virtual std::string version() const = 0;  // "13.1.0"

    /// Puts one product into a stream (a cudaStream_t) and does not wait for it.
    virtual void multiply(const GemmSize& size, const GemmOperands& operands, void* stream) = 0;
};

struct OpenedCublasLt {
    std::unique_ptr<CublasLt> library;
    std::string trouble;  // one line, where there is none
};

/// Of this build's CUDA first.
std::span<const std::string> cublaslt_names();

OpenedCublasLt open_cublaslt(std::span<const std::string> names);

}  // namespace refit
