// tests/gpu_check.sh as it runs where a GPU is, on the executor; and the table made of its file.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/app/driver.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

const std::string kRoot = REFIT_SOURCE_DIR;

struct Ran {
    int code;
    std::string out;
};

Ran run(const TestFolder& folder, const std::string& command) {
    const std::string log = (folder / "log").string();
    const int status = std::system((command + " >'" + log + "' 2>&1").c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text_file(log)};
}

Ran check(const TestFolder& folder, const std::string& program, const std::string& backend) {
    return run(folder, kRoot + "/tests/gpu_check.sh --backend " + backend + " --refit '" + program +
                           "' -o '" + (folder / "gpu.json").string() + "'");
}

/// A program that is refit, but for what `instead` does.
std::string wrapped(const TestFolder& folder, const std::string& instead) {
    const fs::path file = folder / "refit";
    write_text_file(file, "#!/bin/sh\n" + instead + "\nexec '" REFIT_PROGRAM "' \"$@\"\n");
    fs::permissions(file, fs::perms::owner_all);
    return file.string();
}

std::string state_of(const nlohmann::json& document, const std::string& step) {
    for (const auto& of : document["steps"])
        if (of["name"] == step) return of["state"];
    return "missing";
}

TEST(GpuCheck, PassesOnTheExecutorAndKeepsEveryDocument) {
    const TestFolder folder;
    const Ran ran = check(folder, REFIT_PROGRAM, "simt");
    EXPECT_EQ(ran.code, 0) << ran.out;
    EXPECT_TRUE(ran.out.ends_with("\n5 passed, 0 failed, 3 skipped\n")) << ran.out;
    const auto document = nlohmann::json::parse(read_text_file(folder / "gpu.json"));
    EXPECT_EQ(document["schema"], "refit.gpu/1");
    EXPECT_EQ(document["backend"], "simt");
    EXPECT_EQ(document["card"], "");
    EXPECT_EQ(document["passed"], 5);
    EXPECT_EQ(document["failed"], 0);
    EXPECT_EQ(document["skipped"], 3);
    EXPECT_EQ(document["steps"].size(), 8u);
    for (const auto& step : document["steps"])
        EXPECT_EQ(step["state"] == "skipped", !step["reason"].get<std::string>().empty()) << step;
    EXPECT_EQ(document["doctor"]["schema"], "refit.doctor/1");
    EXPECT_FALSE(document["kernels"]["kernels"]["rows"].empty());
    EXPECT_FALSE(document["compute"]["compute"]["products"].empty());
    EXPECT_TRUE(document["net_1"].is_null());
    EXPECT_EQ(document["run"]["backend"], "simt");
    EXPECT_TRUE(document["run"]["verify"]["exact"]);
    EXPECT_TRUE(document["run"]["gpu_idle"].contains("by_cause"));

    // No result of a GPU, so no table of one.
    const Ran table = run(folder, "python3 " + kRoot + "/tests/tools/readme_gpu.py --print '" +
                                      (folder / "gpu.json").string() + "'");
    EXPECT_NE(table.code, 0);
    EXPECT_NE(table.out.find("nothing here was measured on a GPU"), std::string::npos);
}

TEST(GpuCheck, CountsWhatFailsAndSaysWhy) {
    const TestFolder folder;
    // A mismatch of kernels, a broken doctor, other bytes of one codec, a run that is not exact.
    const std::string program =
        wrapped(folder,
                "case \"$*\" in\n"
                "*kernels*) echo 'refit: diff differs' >&2; exit 4 ;;\n"
                "doctor*) exit 1 ;;\n"
                "encode*index-value*simt*)\n"
                "    shift; while [ \"$1\" != -o ]; do shift; done; echo x >\"$2\"; exit 0 ;;\n"
                "compute*|*compute*) echo '{}'; exit 0 ;;\n"
                "run*simt*) echo '{\"verify\": {\"exact\": false}, \"by_cause\": 0}'; exit 0 ;;\n"
                "esac");
    const Ran ran = check(folder, program, "simt");
    EXPECT_EQ(ran.code, 1) << ran.out;
    EXPECT_TRUE(ran.out.ends_with("\n1 passed, 4 failed, 3 skipped\n")) << ran.out;
    for (const char* says : {"exit code 4: refit: diff differs", "index-value: other bytes",
                             "not exact", "exit code 1: "})
        EXPECT_NE(ran.out.find(says), std::string::npos) << says << "\n" << ran.out;
    const auto document = nlohmann::json::parse(read_text_file(folder / "gpu.json"));
    EXPECT_EQ(document["failed"], 4);
    EXPECT_EQ(state_of(document, "kernels"), "failed");
    EXPECT_EQ(state_of(document, "matrix products"), "passed");
    EXPECT_TRUE(document["kernels"].is_null());
}

TEST(GpuCheck, WithoutAGpuFailsInsteadOfMeasuringNothing) {
    const TestFolder folder;
    // Whatever this machine has: no row of kernels is measured, and nothing else answers.
    const std::string program = wrapped(
        folder,
        "case \"$*\" in\n"
        "*kernels*) echo '{\"state\": \"not measured\", \"reason\": \"no driver\"}'; exit 0 ;;\n"
        "*net*--ranks\\ 1*) echo 'refit: NCCL: \"no\" lib\\here' >&2; exit 1 ;;\n"
        "*net*) sleep 30 ;;\n"
        "*) exit 3 ;;\n"
        "esac");
    write_text_file(folder / "timeout",
                    "#!/bin/sh\nshift 3\ncase \"$*\" in *ranks\\ 2*) exit 124 ;; esac\n\"$@\"\n");
    fs::permissions(folder / "timeout", fs::perms::owner_all);
    const std::string path = "PATH='" + folder.path().string() + "':\"$PATH\" ";
    const Ran ran = run(folder, path + kRoot + "/tests/gpu_check.sh --refit '" + program +
                                    "' -o '" + (folder / "gpu.json").string() + "'");
    EXPECT_EQ(ran.code, 1) << ran.out;
    EXPECT_NE(ran.out.find("no row is measured: \"reason\": \"no driver\""), std::string::npos)
        << ran.out;
    EXPECT_NE(ran.out.find("not done after 20 s"), std::string::npos) << ran.out;
    const auto document = nlohmann::json::parse(read_text_file(folder / "gpu.json"));
    EXPECT_EQ(state_of(document, "NCCL, 1 rank"), "skipped");
    EXPECT_EQ(state_of(document, "NCCL, 2 ranks"), "failed");
    EXPECT_EQ(state_of(document, "refit, end to end"), "failed");
}

TEST(GpuCheck, RefusesWhatItCannotDo) {
    const TestFolder folder;
    EXPECT_EQ(check(folder, REFIT_PROGRAM, "cpu").code, 2);
    const Ran ran = check(folder, (folder / "nothing").string(), "simt");
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.out.find("no program at"), std::string::npos) << ran.out;
    EXPECT_FALSE(fs::exists(folder / "gpu.json"));
}

TEST(ReadmeGpu, HasARowPerOperationOfTheLargestSize) {
    const TestFolder folder;
    const auto row = [](const char* operation, const char* backend, std::uint64_t words,
                        const char* state) {
        return nlohmann::json{{"operation", operation},
                              {"backend", backend},
                              {"state", state},
                              {"words", words},
                              {"tiles", 4},
                              {"changed", 0.03},
                              {"floor_bytes", 4.0 * static_cast<double>(words)},
                              {"bytes_per_second", 2.5e12},
                              {"share_of_ceiling", 0.625},
                              {"words_per_second", 1.25e12},
                              {"wrong", 0}};
    };
    const nlohmann::json document = {
        {"backend", "cuda"},
        {"card", "A Card"},
        {"driver", "580.1"},
        {"commit", "abc"},
        {"passed", 8},
        {"failed", 0},
        {"skipped", 0},
        {"kernels",
         {{"kernels",
           {{"rows",
             {row("copy", "cuda", 1 << 20, "measured"), row("diff", "cuda", 1 << 24, "measured"),
              row("diff", "cpu", 1 << 26, "measured"),
              row("digest", "cuda", 1 << 26, "proved")}}}}}}};
    write_text_file(folder / "gpu.json", document.dump());
    const Ran ran = run(folder, "python3 " + kRoot + "/tests/tools/readme_gpu.py --print '" +
                                    (folder / "gpu.json").string() + "'");
    EXPECT_EQ(ran.code, 0) << ran.out;
    EXPECT_EQ(ran.out,
              "A Card, driver 580.1, commit abc: 16 Mi words in 4 tiles, 3.0 % changed; 8 passed, "
              "0 failed, 0 skipped\n\n"
              "| operation | bytes it must move, a word | GB/s of these | of the copy | 10^9 "
              "words/s | wrong |\n|---|---|---|---|---|---|\n"
              "| `diff` | 4.000 | 2500 | 0.62 | 1250.0 | 0 |\n");
}

TEST(ReadmeGpu, IsWhatTheReadmeSays) {
    const TestFolder folder;
    const Ran ran = run(folder, "python3 " + kRoot + "/tests/tools/readme_gpu.py --check");
    EXPECT_EQ(ran.code, 0) << ran.out;
}

}  // namespace
}  // namespace refit
