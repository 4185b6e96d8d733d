// The compute load in the program: what a run of a model says of it, and `refit bench compute`.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "app/bench/compute_report.hpp"
#include "tests/app/driver.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

/// A million words: its products take microseconds.
constexpr const char* kSmall =
    R"({"model_type": "llama", "hidden_size": 128, "num_hidden_layers": 4,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
        "intermediate_size": 256, "vocab_size": 4096, "tie_word_embeddings": false})";

class Compute : public ::testing::Test {
protected:
    void SetUp() override {
        fs::create_directory(folder_ / "small");
        write_text_file(config(), kSmall);
    }
    std::string config() const { return (folder_ / "small" / "config.json").string(); }

    Outcome run(std::vector<std::string> more) const {
        std::vector<std::string> all = {
            "run",   "--model",         config(), "--out", (folder_ / "run").string(),
            "--set", "delta.chunk=4KiB"};
        all.insert(all.end(), more.begin(), more.end());
        const Outcome outcome = run_refit(all);
        fs::remove_all(folder_ / "run");
        return outcome;
    }

    TestFolder folder_;
};

TEST_F(Compute, OfARunStandsUnderHostAndNowhereElse) {
    const Outcome plain = run({"--json"});
    const Outcome loaded = run({"--json", "--compute", "60ms"});
    ASSERT_EQ(plain.code, 0) << plain.err;
    ASSERT_EQ(loaded.code, 0) << loaded.err;
    nlohmann::json without = plain.document();
    nlohmann::json with = loaded.document();
    EXPECT_FALSE(without["host"].contains("compute"));
    const nlohmann::json compute = with["host"]["compute"];
    EXPECT_EQ(keys_of(compute),
              (std::set<std::string>{"gemm", "cores", "flop_per_second", "seconds", "rounds",
                                     "unit_words", "stage", "encode"}));
    EXPECT_GT(compute["flop_per_second"], 0);
    EXPECT_EQ(compute["rounds"], 5);
    EXPECT_EQ(compute["unit_words"], 4 << 20);
    for (const char* work : {"stage", "encode"}) {
        EXPECT_EQ(keys_of(compute[work]),
                  (std::set<std::string>{"flop_per_second_beside", "codec_bytes_per_second",
                                         "codec_bytes_per_second_beside", "stolen", "stolen_range",
                                         "on_core"}));
        EXPECT_GT(compute[work]["flop_per_second_beside"], 0);
        EXPECT_GT(compute[work]["codec_bytes_per_second"], 0);
        EXPECT_LT(compute[work]["stolen"], 1);
        EXPECT_LE(compute[work]["stolen_range"][0], compute[work]["stolen"]);
        EXPECT_GE(compute[work]["stolen_range"][1], compute[work]["stolen"]);
    }
    without.erase("host");
    with.erase("host");
    EXPECT_EQ(without.dump(), with.dump());
}

TEST_F(Compute, SaysInWordsWhatItIs) {
    const Outcome outcome = run({"--compute", "60ms"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const std::size_t at = outcome.out.find("compute  emulated on this CPU: ");
    ASSERT_NE(at, std::string::npos) << outcome.out;
    const std::string line = outcome.out.substr(at, outcome.out.find('\n', at) - at);
    for (const char* part :
         {" GFLOP/s at the model's shapes (", "; stolen beside stage ", ", beside encode ", " % ("})
        EXPECT_NE(line.find(part), std::string::npos) << line;
    EXPECT_EQ(run({}).out.find("compute "), std::string::npos);
}

TEST_F(Compute, AStepThatFollowsFromFlopShowsItsArithmetic) {
    const std::vector<std::string> flags = {
        "--set", "loop.step=0 s",
        "--set", "compute.tokens_per_step=1000000",
        "--set", "compute.trainer={ value = \"1 TFLOP/s\", source = \"a guess\" }"};
    // A layer has 128 x (128 + 64 + 64 + 128) + 3 x 128 x 256 weights, the head 128 x 4096.
    constexpr std::uint64_t kFlop = 6 * (4 * (128 * 384 + 3 * 128 * 256) + 128 * 4096);
    static_assert(kFlop == 6'684'672);
    const Outcome text = run(flags);
    ASSERT_EQ(text.code, 0) << text.err;
    EXPECT_NE(text.out.find("step: 6,684,672 FLOP a token x 1,000,000 tokens / 0.001 PFLOP/s = "
                            "6.68 s, extrapolated (a guess)"),
              std::string::npos)
        << text.out;
    std::vector<std::string> json = flags;
    json.emplace_back("--json");
    const nlohmann::json record = run(json).document();
    const nlohmann::json step = record["derived_times"]["step"];
    EXPECT_EQ(step["flop_per_token"], kFlop);
    EXPECT_EQ(step["tokens"], 1'000'000);
    EXPECT_EQ(step["flop_per_second"], 1'000'000'000'000);
    EXPECT_EQ(step["source"], "a guess");
    EXPECT_DOUBLE_EQ(step["seconds"]["value"], 6.684672);
    EXPECT_EQ(step["seconds"]["provenance"], "extrapolated");
    EXPECT_EQ(record["refit"]["seconds"]["provenance"], "extrapolated");
    EXPECT_FALSE(run({"--json"}).document().contains("derived_times"));
}

TEST_F(Compute, IsRefusedWithoutAModelInOneLine) {
    expect_refused(run_refit({"run", "smoke", "--compute", "2s"}), 3,
                   "compute.seconds: the load is of a model: needs source.model (--model)");
    expect_refused(run_refit({"run", "--model", "qwen3-8b", "--compute", "fast"}), 3,
                   "compute.seconds: \"fast\" is not a duration");
    expect_refused(run_refit({"run", "--base", "a", "--new", "b", "--compute", "2s"}), 2,
                   "--compute");
}

TEST_F(Compute, BenchHasARowPerProductAndOnePerKindOfWork) {
    const Outcome outcome =
        run_refit({"bench", "compute", "--model", config(), "--time", "1s", "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const nlohmann::json document = outcome.document();
    EXPECT_EQ(document["schema"], "refit.bench/1");
    EXPECT_TRUE(document["rows"].empty());
    const nlohmann::json& compute = document["compute"];
    EXPECT_EQ(compute["model"], "small");
    EXPECT_GT(compute["peak_flop_per_second"], 0);
    std::set<std::string> gemms;
    const nlohmann::json& gpu = compute["gpu"];
    EXPECT_EQ(gpu["state"] == "measured", !gpu.contains("reason")) << gpu;
    std::size_t of_gpu = 0;
    for (const auto& row : compute["products"]) {
        EXPECT_EQ(row["wrong"], 0) << row;
        of_gpu += row.contains("device") ? 1u : 0u;
        if (row.contains("device")) continue;
        EXPECT_EQ(keys_of(row),
                  (std::set<std::string>{"name", "pass", "gemm", "m", "n", "k", "count",
                                         "flop_per_second", "share_of_peak", "checked", "wrong"}));
        EXPECT_EQ(row["checked"], 64);
        EXPECT_GT(row["share_of_peak"], 0);
        gemms.insert(row["gemm"]);
    }
    // Distinct: q (as o), k (as v), gate (as up), down, head; four passes.
    EXPECT_EQ(of_gpu, gpu["state"] == "measured" ? 20u : 0u);
    EXPECT_EQ(compute["products"].size() - of_gpu, 20 * gemms.size());
    EXPECT_EQ(gemms.size(), make_onednn_gemm() == nullptr ? 1u : 2u);
    EXPECT_EQ(compute["stolen"].size(), 2 * (gemms.size() + (of_gpu > 0 ? 1 : 0)));
    for (const auto& row : compute["stolen"]) {
        EXPECT_EQ(row["codec"], "xc");
        EXPECT_TRUE(row["work"] == "stage" || row["work"] == "encode");
        EXPECT_GT(row["flop_per_second_beside"], 0);
    }
}

TEST(ComputeReport, SaysWhatIsWrongAndWhoHadNoCore) {
    ComputeBench bench;
    bench.model = "m";
    bench.codec = "xc";
    bench.products.peak_flop_per_second = 100e9;
    bench.products.rows.push_back(
        {"built-in, AVX2", "lm_head", "forward", {64, 32, 16}, 1, 50e9, 0.5, {64, 0}, {}});
    EXPECT_TRUE(bench.products.exact());
    bench.products.rows.push_back(
        {"built-in, AVX2", "mlp.gate", "forward", {64, 8, 16}, 1, 25e9, 0.25, {64, 3}, {}});
    EXPECT_FALSE(bench.products.exact());
    HostCompute compute;
    compute.gemm = "built-in, AVX2";
    compute.flop_per_second = 50e9;
    compute.stage = {48e9, 2e9, 1.9e9, 0.04, 0.01, 0.06, 0.99};
    compute.encode = {25e9, 1e9, 0.5e9, 0.5, 0.4, 0.6, 0.52};
    bench.stolen.push_back(compute);
    std::string text;
    for (const std::string& line : compute_table(bench, {"cpu", "device", 2, 1}))
        text += line + "\n";
    for (const char* part :
         {"64 x 32 x 16     50.0     0.50      0\n", "0.25      3\n", "4.0 % (1.0 .. 6.0)\n",
          "50.0 % (40.0 .. 60.0), with 52 % of a core\n"})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(BenchCompute, TakesNoFlagsOfTheOtherBench) {
    expect_refused(run_refit({"bench", "compute", "--words", "64Ki"}), 2,
                   "bench: --words is not for bench compute");
    expect_refused(run_refit({"bench", "codec", "--model", "qwen3-8b"}), 2,
                   "bench: --model is not for bench codec");
    expect_refused(run_refit({"bench", "compute", "--", "--benchmark_min_time=1"}), 2,
                   "bench: FLAGS is not for bench compute");
    expect_refused(run_refit({"bench", "compute", "--time", "soon"}), 3,
                   "\"soon\" is not a duration");
    expect_refused(run_refit({"bench", "compute", "--time", "0 s"}), 3, "--time: takes a time");
    expect_refused(run_refit({"bench", "flights"}), 2, "not flights");
    expect_refused(run_refit({"bench", "compute", "--model", "qwen9"}), 3, "qwen9");
}

}  // namespace
}  // namespace refit
