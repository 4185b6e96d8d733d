// The call sequence of the GPU's Gemm, against a library of the same interface and a runtime
// without a GPU: neither says anything of speed.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "kernels/cuda/cublaslt_gemm.hpp"
#include "kernels/cuda/gemm_cublaslt.hpp"
#include "tests/kernels/fake_cublaslt.hpp"
#include "tests/simt/fake_runtime.hpp"

namespace refit {

void* stream_address(FakeRuntime::Stream stream) {
    return std::bit_cast<void*>(static_cast<std::uintptr_t>(stream));
}

namespace {

const std::string kLibrary[] = {REFIT_FAKE_CUBLASLT};

FakeCublasLt& fake() {
    static const auto of = reinterpret_cast<FakeCublasLtOf>(
        dlsym(dlopen(REFIT_FAKE_CUBLASLT, RTLD_NOW | RTLD_LOCAL), "refit_fake_cublaslt"));
    return *of();
}

/// Whole numbers from -8 to 8: sums are exact in any order.
std::vector<std::uint16_t> small_numbers(std::size_t count, std::uint32_t seed) {
    std::mt19937 engine(seed);
    std::vector<std::uint16_t> words(count);
    for (std::uint16_t& word : words) {
        const auto value = static_cast<float>(static_cast<int>(engine() % 17) - 8);
        word = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
    }
    return words;
}

struct Operands {
    explicit Operands(const GemmSize& of)
        : size(of),
          a(small_numbers(of.m * of.k, 1)),
          b(small_numbers(of.k * of.n, 2)),
          c(of.m * of.n, std::nanf("")) {}

    void multiply(Gemm& gemm) { gemm.multiply(size, a, b, c); }
    std::vector<float> expected() const {
        std::vector<float> out(c.size());
        make_cpu_gemm("scalar")->multiply(size, a, b, out);
        return out;
    }

    GemmSize size;
    std::vector<std::uint16_t> a;
    std::vector<std::uint16_t> b;
    std::vector<float> c;
};

class CublasLtCalls : public ::testing::Test {
protected:
    void SetUp() override { fake() = FakeCublasLt{}; }
    void TearDown() override {
        EXPECT_EQ(fake().broken, 0);
        EXPECT_EQ(fake().live, 0);
        EXPECT_EQ(state_->hazards, 0u);
        EXPECT_TRUE(state_->nothing_left());
    }

    std::unique_ptr<DeviceGemm> make() {
        OpenedCublasLt opened = open_cublaslt(kLibrary);
        EXPECT_EQ(opened.trouble, "");
        return std::make_unique<kernels::CublasLtGemm<FakeRuntime>>(FakeRuntime(state_), 3,
                                                                    std::move(opened.library));
    }

    std::shared_ptr<FakeRuntimeState> state_ = std::make_shared<FakeRuntimeState>();
};

TEST_F(CublasLtCalls, MultiplyEveryShapeAroundATileAsTheBuiltInDoes) {
    const auto gemm = make();
    EXPECT_EQ(gemm->name(), "cuBLASLt");
    EXPECT_EQ(gemm->detail(), "13.1.2");
    constexpr std::size_t kSides[] = {1, 2, 7, 8, 9, 15, 16, 17, 33};
    int shapes = 0;
    for (const std::size_t m : kSides) {
        for (const std::size_t n : kSides) {
            for (const std::size_t k : kSides) {
                Operands of({m, n, k});
                of.multiply(*gemm);
                ASSERT_EQ(of.c, of.expected()) << m << " x " << n << " x " << k;
                ++shapes;
            }
        }
    }
    EXPECT_EQ(fake().products, shapes);
    EXPECT_EQ(fake().asked, shapes);
    EXPECT_EQ(state_->devices_used, std::set<int>{3});
    EXPECT_NE(fake().stream, nullptr);
}

TEST_F(CublasLtCalls, AskOncePerShapeHowToMultiply) {
    const auto gemm = make();
    Operands first({5, 6, 7});
    Operands second({7, 6, 5});
    for (int round = 0; round < 3; ++round) {
        first.multiply(*gemm);
        second.multiply(*gemm);
        gemm->repeat(2);
    }
    EXPECT_EQ(fake().asked, 2);
    EXPECT_EQ(fake().products, 3 * 4);
    EXPECT_EQ(second.c, second.expected());
}

TEST_F(CublasLtCalls, RepeatProductsWithoutACopyBetweenTheEvents) {
    const auto gemm = make();
    Operands of({4, 4, 4});
    of.multiply(*gemm);
    gemm->start_clock();
    const std::uint64_t before = state_->calls;
    // The runtime's clock moves a second with each event: one starts the clock, two stand around.
    EXPECT_EQ(gemm->repeat(5), (DeviceSpan{1'000'000'000, 2'000'000'000}));
    EXPECT_EQ(gemm->repeat(1), (DeviceSpan{3'000'000'000, 4'000'000'000}));
    EXPECT_EQ(fake().products, 1 + 5 + 1);
    // use, two events, a wait and two times of each: nothing is copied.
    EXPECT_EQ(state_->calls - before, 2 * 6u);
    gemm->start_clock();
    EXPECT_EQ(gemm->repeat(1).begin, 1'000'000'000);
}

TEST_F(CublasLtCalls, ThatFailThrowOneLineAndLeaveNothingBehind) {
    for (const char* call : {"cublasLtMatrixLayoutCreate", "cublasLtMatmulPreferenceCreate",
                             "cublasLtMatmulPreferenceSetAttribute",
                             "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmul"}) {
        const auto gemm = make();
        Operands of({4, 5, 6});
        fake().failing = call;
        try {
            of.multiply(*gemm);
            ADD_FAILURE() << call;
        } catch (const std::runtime_error& failure) {
            EXPECT_EQ(failure.what(), std::string(call) + ": a fault that is made up");
        }
        fake().failing = "";
        of.multiply(*gemm);
        EXPECT_EQ(of.c, of.expected());
    }
    for (const char* call : {"cublasLtCreate", "cublasLtMatmulDescCreate"}) {
        fake().failing = call;
        const OpenedCublasLt opened = open_cublaslt(kLibrary);
        EXPECT_EQ(opened.library, nullptr);
        EXPECT_EQ(opened.trouble, std::string("cuBLASLt: ") + call + ": a fault that is made up");
    }
}

TEST_F(CublasLtCalls, TakeNoWayThatIsNoneOrTooLarge) {
    const auto gemm = make();
    Operands of({4, 5, 6});
    fake().choices = 0;
    EXPECT_THROW(of.multiply(*gemm), std::runtime_error);
    fake().choices = 1;
    fake().workspace = CublasLt::kWorkspaceBytes + 1;
    EXPECT_THROW(of.multiply(*gemm), std::runtime_error);
    EXPECT_EQ(fake().products, 0);
    fake().workspace = CublasLt::kWorkspaceBytes;
    of.multiply(*gemm);
    EXPECT_EQ(of.c, of.expected());
}

TEST_F(CublasLtCalls, SurviveEveryFailureOfTheRuntime) {
    std::uint64_t failures = 0;
    for (std::uint64_t at = 1; at < 100; ++at) {
        state_->calls = 0;
        state_->fail_at = at;
        Operands of({3, 4, 5});
        try {
            const auto gemm = make();
            of.multiply(*gemm);
            gemm->repeat(2);
        } catch (const std::runtime_error&) {
            ++failures;
            EXPECT_TRUE(state_->nothing_left()) << at;
            continue;
        }
        break;
    }
    EXPECT_GT(failures, 15u);
    EXPECT_LT(failures, 50u);
    state_->fail_at = 0;
    const auto gemm = make();
    Operands of({3, 4, 5});
    of.multiply(*gemm);
    state_->fail_at = state_->calls + 4;
    EXPECT_THROW(of.multiply(*gemm), std::runtime_error);
    EXPECT_DEATH(gemm->repeat(1), "broken precondition");
    of.multiply(*gemm);
    EXPECT_EQ(of.c, of.expected());
}

TEST_F(CublasLtCalls, TakeSpansOfTheirSizesOnly) {
    const auto gemm = make();
    const std::vector<std::uint16_t> words(12);
    std::vector<float> c(9);
    EXPECT_DEATH(gemm->multiply({3, 3, 5}, words, words, c), "broken precondition");
    EXPECT_DEATH(gemm->multiply({0, 3, 4}, {}, words, {}), "broken precondition");
    EXPECT_DEATH(gemm->repeat(1), "broken precondition");
}

TEST(CublasLtLibrary, ThatIsMissingOrAnotherIsNone) {
    const std::string missing[] = {"/nowhere/libcublasLt.so.13"};
    const OpenedCublasLt none = open_cublaslt(missing);
    EXPECT_EQ(none.library, nullptr);
    EXPECT_TRUE(none.trouble.starts_with("cuBLASLt: /nowhere/libcublasLt.so.13")) << none.trouble;
    const std::string other[] = {REFIT_FAKE_NVML};
    EXPECT_EQ(open_cublaslt(other).trouble, "cuBLASLt: " REFIT_FAKE_NVML " has no cublasLtCreate");
}

TEST(CublasLtLibrary, OfThisMachineIsThereOrSaysWhyNot) {
    const OpenedGpuGemm opened = open_cublaslt_gemm();
    EXPECT_EQ(opened.gemm == nullptr, !opened.trouble.empty()) << opened.trouble;
    EXPECT_EQ(opened.trouble.find('\n'), std::string::npos);
    if (opened.gemm == nullptr) return;
    Operands of({33, 17, 65});
    of.multiply(*opened.gemm);
    EXPECT_EQ(of.c, of.expected());
}

}  // namespace
}  // namespace refit
