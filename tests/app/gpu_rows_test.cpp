// The GPU's rows of `refit bench compute`, with the CPU's product and clock in the GPU's place.
#include "app/bench/gpu_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>

#include "app/bench/compute_report.hpp"
#include "app/host.hpp"
#include "tests/app/driver.hpp"

namespace refit {
namespace {

/// A million words: its products take microseconds.
constexpr const char* kSmall =
    R"({"model_type": "llama", "hidden_size": 128, "num_hidden_layers": 4,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
        "intermediate_size": 256, "vocab_size": 4096, "tie_word_embeddings": false})";

class CpuInItsPlace final : public DeviceGemm {
public:
    std::string_view name() const override { return "cuBLASLt"; }
    std::string detail() const override { return "0.0.1"; }
    void multiply(const GemmSize& size,
                  std::span<const std::uint16_t> a,
                  std::span<const std::uint16_t> b,
                  std::span<float> c) override {
        gemm_->multiply(size, a, b, c);
        if (damaged) c[0] += 1;
        ++multiplied;
        // Repeats of little stand for repeats of all.
        a_.assign(a.begin(), a.begin() + 1);
        b_.assign(b.begin(), b.begin() + 1);
    }
    void start_clock() override { zero_ = host_now(); }
    DeviceSpan repeat(std::uint64_t count) override {
        const Nanoseconds begin = host_now();
        float out = 0;
        for (std::uint64_t i = 0; i < count; ++i) gemm_->multiply({1, 1, 1}, a_, b_, {&out, 1});
        return {(begin - zero_).count, (host_now() - zero_).count};
    }

    bool damaged = false;
    int multiplied = 0;

private:
    std::unique_ptr<Gemm> gemm_ = make_cpu_gemm();
    std::vector<std::uint16_t> a_;
    std::vector<std::uint16_t> b_;
    Nanoseconds zero_ = host_now();
};

class NvmlInItsPlace final : public Nvml {
public:
    NvmlReading read(const std::string& pci_bus_id) const override {
        EXPECT_EQ(pci_bus_id, "0000:19:00.0");
        return {"GPU", 0.97, 1980, std::nullopt};
    }
};

class GpuRows : public ::testing::Test {
protected:
    void SetUp() override {
        write_text_file(folder_ / "config.json", kSmall);
        architecture_ = load_architecture(folder_ / "config.json").value();
        pair_.profile = *find_profile("adam");
        pair_.words = kPairWordsMin;
    }

    GpuCompute measure(const Nvml* nvml) {
        return measure_gpu(console_, {gemm_, *device_, "GPU", nvml, "0000:19:00.0", 2_ms},
                           {architecture_, {}, 512}, {*find_codec("xc").value(), pair_}, 60_ms);
    }

    TestFolder folder_;
    volatile std::sig_atomic_t interrupt_ = 0;
    Console console_{interrupt_};
    Architecture architecture_;
    PairSpec pair_;
    CpuInItsPlace gemm_;
    std::unique_ptr<Device> device_ = make_cpu_device(1);
};

TEST_F(GpuRows, HaveEveryProductOnceAndSumToTheWindow) {
    const NvmlInItsPlace nvml;
    const GpuCompute gpu = measure(&nvml);
    EXPECT_EQ(gpu.trouble, "");
    EXPECT_EQ(gpu.gemm, "cuBLASLt, 0.0.1");
    // Distinct: q (as o), k (as v), gate (as up), down, head; four passes.
    EXPECT_EQ(gpu.rows.size(), 20u);
    std::map<std::string, int> passes;
    for (const ComputeRow& row : gpu.rows) {
        ++passes[row.pass];
        EXPECT_EQ(row.device, "GPU");
        EXPECT_EQ(row.check.checked, 64u);
        EXPECT_EQ(row.check.wrong, 0u);
        EXPECT_GT(row.flop_per_second, 0);
        EXPECT_GT(row.count, 0u);
    }
    EXPECT_EQ(
        passes,
        (std::map<std::string, int>{
            {"forward", 5}, {"input-gradient", 5}, {"weight-gradient", 5}, {"generation", 5}}));
    EXPECT_EQ(gemm_.multiplied, 20 + 1);
    ASSERT_EQ(gpu.stolen.size(), 2u);
    EXPECT_EQ(gpu.stolen[0].work, "stage");
    EXPECT_EQ(gpu.stolen[1].work, "encode");
    for (const GpuStolen& stolen : gpu.stolen) {
        EXPECT_GT(stolen.flop_per_second, 0);
        EXPECT_GT(stolen.rates.codec_bytes_per_second, 0);
        EXPECT_LE(stolen.rates.stolen_low, stolen.rates.stolen);
        // A slice is 1 ms at least, and there are five.
        EXPECT_GE(stolen.busy.window(), 5'000'000);
        EXPECT_LE(stolen.busy.beside, stolen.busy.stolen);
        EXPECT_GT(stolen.busy.stolen, 0);
    }
    ASSERT_TRUE(gpu.nvml.has_value());
    EXPECT_EQ(gpu.nvml->reading.sm_megahertz, 1980u);
    EXPECT_GE(gpu.nvml->busy.window(), 2'000'000);
    EXPECT_EQ(gpu.nvml->busy.stolen, 0);
    EXPECT_FALSE(measure(nullptr).nvml.has_value());
}

TEST_F(GpuRows, StandBesideTheCpusInTableAndDocument) {
    const NvmlInItsPlace nvml;
    ComputeBench bench;
    bench.codec = "xc";
    bench.products.rows.push_back(
        {"built-in, AVX2", "lm_head", "forward", {64, 32, 16}, 1, 50e9, 0.5, {64, 0}, {}});
    bench.gpu = measure(&nvml);
    const nlohmann::json compute = compute_document(bench, {"cpu", "device", 2, 1})["compute"];
    EXPECT_EQ(compute["products"].size(), 21u);
    EXPECT_FALSE(compute["products"][0].contains("device"));
    EXPECT_EQ(compute["products"][1]["device"], "GPU");
    EXPECT_TRUE(compute["products"][1]["share_of_peak"].is_null());
    ASSERT_EQ(compute["stolen"].size(), 2u);
    const nlohmann::json& busy = compute["stolen"][0]["busy"];
    const auto seconds = [&busy](const char* of) {
        return busy[of + std::string("_seconds")].get<double>();
    };
    EXPECT_NEAR(seconds("load") + seconds("stolen") + seconds("idle"), seconds("window"), 1e-8);
    EXPECT_TRUE(compute["stolen"][0]["on_core"].is_null());
    EXPECT_EQ(compute["gpu"]["state"], "measured");
    EXPECT_EQ(compute["gpu"]["nvml"]["busy"], 0.97);
    EXPECT_TRUE(compute["gpu"]["nvml"]["watts"].is_null());
    std::string text;
    for (const std::string& line : compute_table(bench, {"cpu", "device", 2, 1}))
        text += line + "\n";
    for (const char* part : {"cuBLASLt, 0.0.1 on GPU: forward\n", "GPU      beside encode: load ",
                             "NVML     busy 97 %, by events ", "; 1980 MHz, not told\n"})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST_F(GpuRows, SayWhichProductIsWrong) {
    gemm_.damaged = true;
    ComputeBench bench;
    bench.gpu = measure(nullptr);
    for (const ComputeRow& row : bench.gpu.rows) EXPECT_EQ(row.check.wrong, 1u) << row.name;
    EXPECT_TRUE(bench.products.exact());
    EXPECT_FALSE(bench.exact());
}

TEST(GpuRowsOfNoGpu, SayWhyThereAreNone) {
    ComputeBench bench;
    bench.gpu.trouble = "no CUDA driver here";
    EXPECT_TRUE(bench.exact());
    const nlohmann::json compute = compute_document(bench, {"cpu", "device", 2, 1})["compute"];
    EXPECT_EQ(compute["gpu"], nlohmann::json::parse(R"({"state": "not measured",
                                  "reason": "no CUDA driver here", "nvml": null})"));
    const std::vector<std::string> lines = compute_table(bench, {"cpu", "device", 2, 1});
    EXPECT_NE(std::ranges::find(lines, "GPU      not measured: no CUDA driver here"), lines.end());
}

}  // namespace
}  // namespace refit
