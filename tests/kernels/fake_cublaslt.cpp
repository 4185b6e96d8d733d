// A library of cuBLASLt's interface that multiplies in host memory and takes nothing on trust:
// every type, dimension, stride, pointer and constant is looked at. Its names are cuBLASLt's.
#include "tests/kernels/fake_cublaslt.hpp"

#include <cublasLt.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace {

refit::FakeCublasLt& state() {
    static refit::FakeCublasLt fake;
    return fake;
}

struct Layout {
    cudaDataType type;
    std::uint64_t rows;
    std::uint64_t columns;
    std::int64_t stride;
};

struct Product {
    cublasComputeType_t compute;
    cudaDataType scale;
};

struct Preference {
    std::size_t workspace = 0;
};

/// A way to multiply says for which shape it was chosen.
constexpr std::uint64_t kMark = 0xC0FFEE;

bool fails(const char* call) { return std::string_view(state().failing) == call; }

cublasStatus_t expect(bool held) {
    if (held) return CUBLAS_STATUS_SUCCESS;
    ++state().broken;
    return CUBLAS_STATUS_INVALID_VALUE;
}

template <class To, class From>
To* as(From* from) {
    return reinterpret_cast<To*>(from);
}

template <class Own, class Theirs>
cublasStatus_t give(const char* call, Theirs* to, const Own& made) {
    if (fails(call)) return CUBLAS_STATUS_NOT_INITIALIZED;
    ++state().live;
    *to = as<std::remove_pointer_t<Theirs>>(new Own(made));
    return CUBLAS_STATUS_SUCCESS;
}

template <class Own, class Theirs>
cublasStatus_t take_back(Theirs* thing) {
    --state().live;
    delete as<Own>(thing);
    return CUBLAS_STATUS_SUCCESS;
}

bool shapes_fit(const Product& product, const Layout& a, const Layout& b, const Layout& c) {
    const auto dense = [](const Layout& of, cudaDataType type) {
        return of.type == type && of.rows > 0 && of.columns > 0 &&
               of.stride >= static_cast<std::int64_t>(of.rows);
    };
    return product.compute == CUBLAS_COMPUTE_32F && product.scale == CUDA_R_32F &&
           dense(a, CUDA_R_16BF) && dense(b, CUDA_R_16BF) && dense(c, CUDA_R_32F) &&
           a.columns == b.rows && c.rows == a.rows && c.columns == b.columns;
}

float at(const void* words, const Layout& of, std::uint64_t row, std::uint64_t column) {
    const auto word = static_cast<const std::uint16_t*>(
        words)[row + column * static_cast<std::uint64_t>(of.stride)];
    return std::bit_cast<float>(std::uint32_t{word} << 16);
}

}  // namespace

extern "C" {

refit::FakeCublasLt* refit_fake_cublaslt() { return &state(); }

size_t cublasLtGetVersion() { return 130102; }

const char* cublasLtGetStatusString(cublasStatus_t status) {
    return status == CUBLAS_STATUS_NOT_SUPPORTED ? "not supported" : "a fault that is made up";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
    return give("cublasLtCreate", handle, 0);
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return take_back<int>(handle); }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product,
                                        cublasComputeType_t compute,
                                        cudaDataType_t scale) {
    return give("cublasLtMatmulDescCreate", product, Product{compute, scale});
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
    return take_back<Product>(product);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout,
                                          cudaDataType type,
                                          uint64_t rows,
                                          uint64_t columns,
                                          int64_t stride) {
    return give("cublasLtMatrixLayoutCreate", layout, Layout{type, rows, columns, stride});
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
    return take_back<Layout>(layout);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
    return give("cublasLtMatmulPreferenceCreate", preference, Preference{});
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
    return take_back<Preference>(preference);
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value,
                                                    size_t bytes) {
    if (fails("cublasLtMatmulPreferenceSetAttribute")) return CUBLAS_STATUS_INVALID_VALUE;
    if (attribute != CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES || bytes != sizeof(std::size_t))
        return expect(false);
    std::memcpy(&as<Preference>(preference)->workspace, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle,
                                              cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c,
                                              cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference,
                                              int wanted,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* found) {
    ++state().asked;
    if (fails("cublasLtMatmulAlgoGetHeuristic")) return CUBLAS_STATUS_INTERNAL_ERROR;
    if (handle == nullptr || wanted != 1 || c != d ||
        as<Preference>(preference)->workspace != std::size_t{32} << 20 ||
        !shapes_fit(*as<Product>(product), *as<Layout>(a), *as<Layout>(b), *as<Layout>(c)))
        return expect(false);
    *found = state().choices;
    if (*found == 0) return CUBLAS_STATUS_SUCCESS;
    *results = {};
    results->algo.data[0] = kMark;
    results->algo.data[1] = as<Layout>(a)->rows;
    results->algo.data[2] = as<Layout>(a)->columns;
    results->algo.data[3] = as<Layout>(b)->columns;
    results->workspaceSize = state().workspace;
    results->state = CUBLAS_STATUS_SUCCESS;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle,
                              cublasLtMatmulDesc_t product,
                              const void* alpha,
                              const void* a,
                              cublasLtMatrixLayout_t a_layout,
                              const void* b,
                              cublasLtMatrixLayout_t b_layout,
                              const void* beta,
                              const void* c,
                              cublasLtMatrixLayout_t c_layout,
                              void* d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* way,
                              void* workspace,
                              size_t workspace_bytes,
                              cudaStream_t stream) {
    if (fails("cublasLtMatmul")) return CUBLAS_STATUS_EXECUTION_FAILED;
    const Layout& left = *as<Layout>(a_layout);
    const Layout& right = *as<Layout>(b_layout);
    const Layout& out = *as<Layout>(d_layout);
    const bool pointers = handle != nullptr && a != nullptr && b != nullptr && d != nullptr &&
                          c == d && c_layout == d_layout && workspace != nullptr && a != b &&
                          a != d && b != d && workspace != d && stream != nullptr;
    if (!pointers || !shapes_fit(*as<Product>(product), left, right, out) ||
        *static_cast<const float*>(alpha) != 1 || *static_cast<const float*>(beta) != 0 ||
        workspace_bytes != state().workspace || way->data[0] != kMark ||
        way->data[1] != left.rows || way->data[2] != left.columns || way->data[3] != right.columns)
        return expect(false);
    std::memset(workspace, 0x5A, workspace_bytes);
    ++state().products;
    state().stream = stream;
    for (std::uint64_t j = 0; j < out.columns; ++j) {
        for (std::uint64_t i = 0; i < out.rows; ++i) {
            float sum = 0;
            for (std::uint64_t p = 0; p < left.columns; ++p)
                sum += at(a, left, i, p) * at(b, right, p, j);
            static_cast<float*>(d)[i + j * static_cast<std::uint64_t>(out.stride)] = sum;
        }
    }
    return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
