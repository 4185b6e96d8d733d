// oneDNN beside the built-in product. The library is opened on first use: 39 MB of code, OpenMP and
// OpenCL are no part of starting this program, and a machine may lack them.
//
// Words    widened in blocks (8 MiB of FP32) and multiplied by its FP32 product; the widening is
//          part of the call.
#include "kernels/gemm.hpp"

#ifdef REFIT_ONEDNN

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "kernels/check.hpp"
#include "kernels/library_symbol.hpp"

namespace refit {

namespace {

constexpr std::size_t kBlock = 1024;

struct Library {
    void* handle = nullptr;
    decltype(&::dnnl_sgemm) sgemm = nullptr;
    decltype(&::dnnl_version) version = nullptr;
    void (*set_threads)(int) = nullptr;  // of the OpenMP that it runs on, for the calling thread

    explicit operator bool() const { return sgemm && version && set_threads; }
};

/// Stays open for good: OpenMP keeps threads that would lose their code.
Library open_library() {
    Library library;
    const std::string name = "libdnnl.so." + std::to_string(DNNL_VERSION_MAJOR);
    library.handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle == nullptr) return library;
    find_symbol(library.handle, "dnnl_sgemm", library.sgemm);
    find_symbol(library.handle, "dnnl_version", library.version);
    find_symbol(library.handle, "omp_set_num_threads", library.set_threads);
    return library;
}

class OneDnnGemm final : public Gemm {
public:
    explicit OneDnnGemm(const Library& library)
        : library_(library), a_(kBlock * kBlock), b_(kBlock * kBlock) {}

    std::string_view name() const override { return "oneDNN"; }
    std::string detail() const override {
        const dnnl_version_t& version = *library_.version();
        return std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
               std::to_string(version.patch);
    }

    void multiply(const GemmSize& size,
                  std::span<const std::uint16_t> a,
                  std::span<const std::uint16_t> b,
                  std::span<float> c) override {
        check_operands(size, a.size(), b.size(), c.size());
        library_.set_threads(1);
        for (std::size_t j = 0; j < size.n; j += kBlock) {
            const std::size_t columns = std::min(kBlock, size.n - j);
            for (std::size_t p = 0; p < size.k; p += kBlock) {
                const std::size_t depth = std::min(kBlock, size.k - p);
                widen(&b[p * size.n + j], size.n, depth, columns, b_);
                for (std::size_t i = 0; i < size.m; i += kBlock) {
                    const std::size_t rows = std::min(kBlock, size.m - i);
                    widen(&a[i * size.k + p], size.k, rows, depth, a_);
                    add_block({rows, columns, depth}, p > 0, size.n, &c[i * size.n + j]);
                }
            }
        }
    }

private:
    /// Rows of words become dense rows of numbers.
    static void widen(const std::uint16_t* words,
                      std::size_t stride,
                      std::size_t rows,
                      std::size_t columns,
                      std::vector<float>& out) {
        float* to = out.data();
        for (std::size_t i = 0; i < rows; ++i, words += stride, to += columns) {
            for (std::size_t j = 0; j < columns; ++j)
                to[j] = std::bit_cast<float>(std::uint32_t{words[j]} << 16);
        }
    }

    void add_block(const GemmSize& part, bool add, std::size_t stride, float* c) {
        const auto number = [](std::size_t n) { return static_cast<dnnl_dim_t>(n); };
        const dnnl_status_t status = library_.sgemm(
            'N', 'N', number(part.m), number(part.n), number(part.k), 1.0F, a_.data(),
            number(part.k), b_.data(), number(part.n), add ? 1.0F : 0.0F, c, number(stride));
        if (status != dnnl_success)
            throw std::runtime_error("oneDNN failed with status " + std::to_string(status));
    }

    Library library_;
    std::vector<float> a_;
    std::vector<float> b_;
};

}  // namespace

bool built_with_onednn() { return true; }

std::unique_ptr<Gemm> make_onednn_gemm() {
    const Library library = open_library();
    if (!library) return nullptr;
    return std::make_unique<OneDnnGemm>(library);
}

}  // namespace refit

#else

namespace refit {

bool built_with_onednn() { return false; }

std::unique_ptr<Gemm> make_onednn_gemm() { return nullptr; }

}  // namespace refit

#endif
