// Runs of models that no memory holds: what a sampled run claims, what a full one proves, and that
// a killed full run ends with the same record.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "engine/codec/change_stats.hpp"
#include "tests/app/driver.hpp"
#include "workloads/change_profile.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

/// 142 million words: little to sample, a second to run in full.
std::string small_llama(int layers = 6) {
    return fmt::format(
        R"({{"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": {},
             "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 128,
             "intermediate_size": 2816, "vocab_size": 32000, "tie_word_embeddings": false}})",
        layers);
}

class ModelRun : public ::testing::Test {
protected:
    void SetUp() override {
        fs::create_directory(folder_ / "llama-small");
        write_text_file(config(), small_llama());
    }
    fs::path config() const { return folder_ / "llama-small" / "config.json"; }

    std::vector<std::string> arguments(std::vector<std::string> more) const {
        std::vector<std::string> all = {"run", "--model", config().string(), "--changed",
                                        "3%",  "--json",  "--set",           "delta.chunk=4KiB"};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
    nlohmann::json run(std::vector<std::string> more) const {
        const Outcome outcome = run_refit(arguments(std::move(more)));
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return outcome.document();
    }
    static nlohmann::json without_host(nlohmann::json record) {
        record.erase("host");
        return record;
    }

    TestFolder folder_;
};

void expect_interval(const nlohmann::json& figure) {
    EXPECT_EQ(figure["provenance"], "extrapolated");
    ASSERT_TRUE(figure.contains("ci95")) << figure;
    EXPECT_LT(figure["ci95"][0], figure["value"]);
    EXPECT_GT(figure["ci95"][1], figure["value"]);
}

TEST_F(ModelRun, ASampleSaysHowSureItIsAndChecksWhatItTook) {
    const nlohmann::json record = run({"--sample", "20%", "--out", (folder_ / "a").string()});
    EXPECT_EQ(record["model"]["name"], "llama-small");
    EXPECT_EQ(record["link_scale"], 1.0);
    const double fraction = record["sampled_fraction"];
    EXPECT_GT(fraction, 0.15);
    EXPECT_LT(fraction, 0.6);
    expect_interval(record["codec"]["payload_bytes"]);
    expect_interval(record["codec"]["bits_per_parameter"]);
    expect_interval(record["changed"]);
    expect_interval(record["refit"]["seconds"]);
    EXPECT_NEAR(record["changed"]["value"].get<double>(), 0.03, 0.0012);
    EXPECT_EQ(record["verify"]["exact"], true);
    EXPECT_EQ(record["verify"]["mismatches"], 0);
    const double words = record["model"]["parameters"];
    EXPECT_GE(record["verify"]["words_checked"].get<double>(), 1.9 * fraction * words);
    EXPECT_GT(record["wire"]["phantom_bytes"], 0);
    EXPECT_LT(record["wire"]["phantom_bytes"], record["wire"]["bytes_sent"]);
    const double shares = record["refit"]["encode_seconds"]["value"].get<double>() +
                          record["refit"]["wire_seconds"]["value"].get<double>() +
                          record["refit"]["stage_seconds"]["value"].get<double>() +
                          record["refit"]["pause_seconds"]["value"].get<double>();
    EXPECT_NEAR(shares, record["refit"]["seconds"]["value"].get<double>(), 1e-9);

    const nlohmann::json again =
        run({"--sample", "20%", "--threads", "1", "--out", (folder_ / "b").string()});
    EXPECT_EQ(without_host(again), without_host(record));
    const nlohmann::json other =
        run({"--sample", "20%", "--seed", "2", "--out", (folder_ / "c").string()});
    EXPECT_NE(without_host(other), without_host(record));
}

/// Starts a full run and kills it as soon as its journal has a part.
void start_and_kill(const std::vector<std::string>& arguments, const fs::path& journal) {
    const pid_t child = fork();
    if (child == 0) {
        std::vector<std::string> all = {REFIT_PROGRAM};
        all.insert(all.end(), arguments.begin(), arguments.end());
        std::vector<char*> argv;
        for (std::string& text : all) argv.push_back(text.data());
        argv.push_back(nullptr);
        if (std::freopen("/dev/null", "w", stdout) == nullptr ||
            std::freopen("/dev/null", "w", stderr) == nullptr)
            _exit(127);
        execv(REFIT_PROGRAM, argv.data());
        _exit(127);
    }
    constexpr std::uintmax_t kHead = 8 + 4 + 32 + 8;
    std::error_code absent;
    int status = 0;
    for (int i = 0; i < 60'000; ++i) {
        if (fs::file_size(journal, absent) > kHead && !absent) break;
        if (waitpid(child, &status, WNOHANG) == child) FAIL() << "it ended by itself";
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
}

TEST_F(ModelRun, AFullRunChecksEveryWordAndAKilledOneEndsWithTheSameRecord) {
    const fs::path whole = folder_ / "whole";
    const nlohmann::json record = run({"--full", "--out", whole.string()});
    EXPECT_EQ(record["sampled_fraction"], 1.0);
    EXPECT_EQ(record["codec"]["payload_bytes"]["provenance"], "measured");
    EXPECT_EQ(record["verify"]["mismatches"], 0);
    EXPECT_GE(record["verify"]["words_checked"].get<double>(),
              2 * record["model"]["parameters"].get<double>());
    EXPECT_EQ(record["wire"]["phantom_bytes"], 0);
    EXPECT_EQ(record["passes"]["sample_contains_payload"], true);
    EXPECT_FALSE(fs::exists(whole / "bit-pass.journal.1"));

    const fs::path killed = folder_ / "killed";
    ASSERT_NO_FATAL_FAILURE(start_and_kill(arguments({"--full", "--out", killed.string()}),
                                           killed / "bit-pass.journal.1"));
    EXPECT_FALSE(fs::exists(killed / "record.json"));
    const Outcome resumed = run_refit({"run", "--resume", killed.string(), "--json"});
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_GT(resumed.document()["host"]["resumed_words"], 0);
    EXPECT_EQ(without_host(resumed.document()), without_host(record));
    EXPECT_EQ(without_host(nlohmann::json::parse(read_text_file(killed / "record.json"))),
              without_host(record));

    const Outcome finished = run_refit({"run", "--resume", killed.string()});
    EXPECT_EQ(finished.code, 3);
    EXPECT_NE(finished.err.find("is finished"), std::string::npos);
}

TEST_F(ModelRun, AMeasuredProfileGivesEachKindItsRate) {
    // Half of the words of one kind of tensor change, about one in fifty of all others.
    const auto device = make_cpu_device(1);
    WordPair pair = make_pair(*device, {.profile = *find_profile("adam"),
                                        .words = std::uint64_t{1} << 20,
                                        .changed_per_million = 20'000,
                                        .versions = {}});
    for (const Tensor& tensor : pair.catalog.tensors()) {
        if (tensor_kind(tensor.name) != "up_proj") continue;
        for (std::uint64_t i = tensor.first_word; i < tensor.first_word + tensor.words; ++i)
            pair.next[i] = static_cast<std::uint16_t>(pair.base[i] ^ (i & 1));
    }
    const Grid grid(pair.catalog);
    ChangeProfile profile = measure_profile(
        *device, pair,
        measure_change(*device, pair.catalog, grid, MemoryWeights(pair.catalog, pair.base),
                       MemoryWeights(pair.catalog, pair.next)));
    profile.base = "a";
    profile.next = "b";
    const std::string file = (folder_ / "mine.toml").string();
    write_text_file(file, profile_toml(profile));

    const std::vector<std::string> arguments = {"run",       "--model", config().string(),
                                                "--profile", file,      "--json"};
    const Outcome outcome = run_refit(arguments);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const nlohmann::json kinds = outcome.document()["refits"][0]["changed_by_kind"];
    EXPECT_NEAR(kinds["up_proj"].get<double>(), 0.5, 0.01);
    for (const char* kind : {"q_proj", "down_proj", "embed_tokens"}) {
        const KindChange& measured = profile.kinds[kind];
        const double rate =
            static_cast<double>(measured.changed) / static_cast<double>(measured.words);
        EXPECT_NEAR(kinds[kind].get<double>() / rate, 1, 0.02) << kind;
    }
}

TEST_F(ModelRun, WrongModelsRatesAndFoldersAreRefusedInOneLine) {
    const auto refused = [&](const std::vector<std::string>& arguments, int code,
                             const std::string& part) {
        const Outcome outcome = run_refit(arguments);
        EXPECT_EQ(outcome.code, code) << outcome.err;
        EXPECT_TRUE(outcome.one_line()) << outcome.err;
        EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
        EXPECT_EQ(outcome.out, "");
    };
    refused({"run", "--model", "kimi-k3-1t"}, 3, "kimi-k2-1t");
    refused({"run", "--model", "qwen3-0.6b", "--profile", "adams"}, 3, "adam");
    refused({"run", "--model", "qwen3-0.6b", "--profile", config().string()}, 3, "config.json");
    refused({"run", "--profile", config().string(), "--changed", "1%"}, 3, "--changed");
    refused({"run", "--model", "qwen3-0.6b", "--changed", "99%"}, 3, "at most");
    refused({"run", "--model", "qwen3-0.6b", "--changed", "200%"}, 2, "fraction");
    refused({"run", "--model", "qwen3-0.6b", "--full", "--sample", "1%"}, 2, "excludes");
    refused({"run", "--resume", folder_.path().string()}, 3, "request.json");
    refused({"run", "--resume", "x", "--codec", "cf"}, 2, "excludes");
    write_text_file(config(), R"({"model_type": "llama", "hidden_size": 1024})");
    refused(arguments({"--out", (folder_ / "a").string()}), 3, config().string());
    write_text_file(config(), small_llama(0));
    refused(arguments({"--out", (folder_ / "a").string()}), 3, config().string());
    write_text_file(config(), "{");
    refused(arguments({"--out", (folder_ / "a").string()}), 3, config().string());
    refused(arguments({"--full", "--quiet", "--out", (folder_ / "a").string()}), 3,
            config().string());
    EXPECT_FALSE(fs::exists(folder_ / "a"));
}

}  // namespace
}  // namespace refit
