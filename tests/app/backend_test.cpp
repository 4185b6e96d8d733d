// What --backend chooses: the CUDA kernels on the host executor give the record, the delta and the
// checkpoint that the CPU backend gives.
#include <gtest/gtest.h>

#include "tests/app/driver.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

const fs::path kDense = fs::path(REFIT_SOURCE_DIR) / "workloads/traces/dense";

TEST(Backend, SimtRunsTheSmokeScenarioToTheSameRecord) {
    const auto record = [](const std::string& backend) {
        const Outcome outcome = run_refit({"run", "--backend", backend, "--json", "smoke"});
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return outcome.document();
    };
    nlohmann::json cpu = record("cpu");
    nlohmann::json simt = record("simt");
    EXPECT_EQ(simt["backend"], "simt");
    EXPECT_EQ(simt["verify"]["exact"], true);
    for (const char* key : {"backend", "backend_reason", "host"}) {
        EXPECT_NE(cpu[key], simt[key]) << key;
        cpu.erase(key);
        simt.erase(key);
    }
    EXPECT_EQ(cpu, simt);
}

TEST(Backend, SimtAppliesAndEncodesToTheSameBytes) {
    const TestFolder folder;
    const std::string base = (kDense / "v0").string();
    const std::string delta = (kDense / "v1.rfd").string();
    const std::string v1 = (folder / "v1.safetensors").string();
    Outcome outcome =
        run_refit({"apply", "--backend", "simt", "--base", base, "--delta", delta, "-o", v1});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    for (const std::string backend : {"cpu", "simt"}) {
        outcome = run_refit({"encode", "--backend", backend, "--base", base, "--new", v1, "-o",
                             (folder / (backend + ".rfd")).string()});
        ASSERT_EQ(outcome.code, 0) << outcome.err;
    }
    EXPECT_EQ(read_text_file(folder / "cpu.rfd"), read_text_file(folder / "simt.rfd"));
    outcome = run_refit({"verify", "--base", base, "--delta", delta, "--new", v1});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST(Backend, OthersAreRefused) {
    const Outcome outcome = run_refit({"run", "--backend", "opencl"});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find("simt"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace refit
