#include "kernels/cuda/cublaslt.hpp"

namespace refit {

std::span<const std::string> cublaslt_names() {
    static const std::string kNames[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
    return kNames;
}

}  // namespace refit

#ifdef REFIT_CUBLASLT

#include <cublasLt.h>
#include <dlfcn.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/cuda/late_open.hpp"

namespace refit {
namespace {

struct Library {
    decltype(&::cublasLtCreate) create = nullptr;
    decltype(&::cublasLtDestroy) destroy = nullptr;
    decltype(&::cublasLtGetVersion) version = nullptr;
    decltype(&::cublasLtGetStatusString) status_text = nullptr;
    decltype(&::cublasLtMatmulDescCreate) make_product = nullptr;
    decltype(&::cublasLtMatmulDescDestroy) drop_product = nullptr;
    decltype(&::cublasLtMatrixLayoutCreate) make_layout = nullptr;
    decltype(&::cublasLtMatrixLayoutDestroy) drop_layout = nullptr;
    decltype(&::cublasLtMatmulPreferenceCreate) make_preference = nullptr;
    decltype(&::cublasLtMatmulPreferenceDestroy) drop_preference = nullptr;
    decltype(&::cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
    decltype(&::cublasLtMatmulAlgoGetHeuristic) choose = nullptr;
    decltype(&::cublasLtMatmul) multiply = nullptr;

    void check(cublasStatus_t status, const char* call) const {
        if (status == CUBLAS_STATUS_SUCCESS) return;
        throw std::runtime_error(std::string(call) + ": " + status_text(status));
    }
};

/// The name of the first call that is missing; null where none is.
const char* bind(void* handle, Library& library) {
    const char* missing = nullptr;
    const auto find = [&](const char* name, auto& function) {
        function =
            reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
        if (function == nullptr && missing == nullptr) missing = name;
    };
    find("cublasLtCreate", library.create);
    find("cublasLtDestroy", library.destroy);
    find("cublasLtGetVersion", library.version);
    find("cublasLtGetStatusString", library.status_text);
    find("cublasLtMatmulDescCreate", library.make_product);
    find("cublasLtMatmulDescDestroy", library.drop_product);
    find("cublasLtMatrixLayoutCreate", library.make_layout);
    find("cublasLtMatrixLayoutDestroy", library.drop_layout);
    find("cublasLtMatmulPreferenceCreate", library.make_preference);
    find("cublasLtMatmulPreferenceDestroy", library.drop_preference);
    find("cublasLtMatmulPreferenceSetAttribute", library.set_preference);
    find("cublasLtMatmulAlgoGetHeuristic", library.choose);
    find("cublasLtMatmul", library.multiply);
    return missing;
}

/// What the library made and takes back.
template <class Thing>
class Owned {
public:
    using Drop = cublasStatus_t (*)(Thing);

    Owned(Thing thing, Drop drop) : thing_(thing), drop_(drop) {}
    Owned(Owned&& other) noexcept
        : thing_(std::exchange(other.thing_, nullptr)), drop_(other.drop_) {}
    Owned& operator=(Owned&&) = delete;
    ~Owned() {
        if (thing_ != nullptr) drop_(thing_);
    }

    Thing get() const { return thing_; }

private:
    Thing thing_;
    Drop drop_;
};

struct Plan {
    GemmSize size;
    Owned<cublasLtMatrixLayout_t> a;
    Owned<cublasLtMatrixLayout_t> b;
    Owned<cublasLtMatrixLayout_t> c;
    cublasLtMatmulAlgo_t way{};
    std::size_t workspace_bytes = 0;
};

class OpenCublasLt final : public CublasLt {
public:
    explicit OpenCublasLt(const Library& library)
        : library_(library),
          handle_(make<cublasLtHandle_t>(
              library.destroy, "cublasLtCreate", [&](auto* to) { return library_.create(to); })),
          product_(make<cublasLtMatmulDesc_t>(
              library.drop_product, "cublasLtMatmulDescCreate", [&](auto* to) {
                  return library_.make_product(to, CUBLAS_COMPUTE_32F, CUDA_R_32F);
              })) {}

    std::string version() const override {
        const std::size_t version = library_.version();
        return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
               std::to_string(version % 100);
    }

    void multiply(const GemmSize& size, const GemmOperands& operands, void* stream) override {
        const Plan& plan = plan_of(size);
        constexpr float kOne = 1;
        constexpr float kZero = 0;
        library_.check(
            library_.multiply(handle_.get(), product_.get(), &kOne, operands.b, plan.b.get(),
                              operands.a, plan.a.get(), &kZero, operands.c, plan.c.get(),
                              operands.c, plan.c.get(), &plan.way, operands.workspace,
                              plan.workspace_bytes, static_cast<cudaStream_t>(stream)),
            "cublasLtMatmul");
    }

private:
    template <class Thing, class Make>
    Owned<Thing> make(typename Owned<Thing>::Drop drop, const char* call, const Make& ask) const {
        Thing thing = nullptr;
        library_.check(ask(&thing), call);
        return {thing, drop};
    }

    /// Of a dense row-major matrix, as the library sees it.
    Owned<cublasLtMatrixLayout_t> layout(cudaDataType_t type,
                                         std::size_t rows,
                                         std::size_t columns) const {
        return make<cublasLtMatrixLayout_t>(
            library_.drop_layout, "cublasLtMatrixLayoutCreate", [&](auto* to) {
                return library_.make_layout(to, type, columns, rows,
                                            static_cast<std::int64_t>(columns));
            });
    }

    const Plan& plan_of(const GemmSize& size) {
        for (const Plan& plan : plans_)
            if (plan.size == size) return plan;
        Plan plan{size, layout(CUDA_R_16BF, size.m, size.k), layout(CUDA_R_16BF, size.k, size.n),
                  layout(CUDA_R_32F, size.m, size.n)};
        const auto preference = make<cublasLtMatmulPreference_t>(
            library_.drop_preference, "cublasLtMatmulPreferenceCreate",
            [&](auto* to) { return library_.make_preference(to); });
        library_.check(
            library_.set_preference(preference.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                    &kWorkspaceBytes, sizeof(kWorkspaceBytes)),
            "cublasLtMatmulPreferenceSetAttribute");
        cublasLtMatmulHeuristicResult_t choice{};
        int choices = 0;
        constexpr const char* kChoose = "cublasLtMatmulAlgoGetHeuristic";
        library_.check(
            library_.choose(handle_.get(), product_.get(), plan.b.get(), plan.a.get(), plan.c.get(),
                            plan.c.get(), preference.get(), 1, &choice, &choices),
            kChoose);
        library_.check(choices == 1 ? choice.state : CUBLAS_STATUS_NOT_SUPPORTED, kChoose);
        if (choice.workspaceSize > kWorkspaceBytes)
            throw std::runtime_error(std::string(kChoose) + ": needs more memory than it may");
        plan.way = choice.algo;
        plan.workspace_bytes = choice.workspaceSize;
        plans_.push_back(std::move(plan));
        return plans_.back();
    }

    Library library_;
    Owned<cublasLtHandle_t> handle_;
    Owned<cublasLtMatmulDesc_t> product_;
    std::vector<Plan> plans_;
};

}  // namespace

OpenedCublasLt open_cublaslt(std::span<const std::string> names) {
    const LateOpen opened = open_late(names);
    if (opened.handle == nullptr) return {nullptr, "cuBLASLt: " + opened.trouble};
    Library library;
    if (const char* const missing = bind(opened.handle, library))
        return {nullptr, "cuBLASLt: " + opened.file + " has no " + missing};
    try {
        return {std::make_unique<OpenCublasLt>(library), {}};
    } catch (const std::runtime_error& failure) {
        return {nullptr, "cuBLASLt: " + std::string(failure.what())};
    }
}

}  // namespace refit

#else

namespace refit {

OpenedCublasLt open_cublaslt(std::span<const std::string> /*names*/) {
    return {nullptr, "cuBLASLt: this build had no cublasLt.h"};
}

}  // namespace refit

#endif
