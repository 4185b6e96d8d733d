// `refit report`: every format of a kept run, and what it says of a damaged one.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/app/driver.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kScriptMax = 40 << 10;

/// One run with a dead relay and a cut link, kept in a folder for all tests.
class Report : public testing::Test {
protected:
    static void SetUpTestSuite() {
        folder_ = new TestFolder();
        const Outcome made = run_refit({"run", "--quiet", "--out", (*folder_ / "run").string()});
        ASSERT_EQ(made.code, 0) << made.err;
    }
    static void TearDownTestSuite() { delete folder_; }

    static fs::path run() { return *folder_ / "run"; }
    static nlohmann::json record() {
        return nlohmann::json::parse(read_text_file(run() / "record.json"));
    }
    /// The text of the run in a format; the file is made anew.
    static std::string text(const std::string& format) {
        const fs::path file = *folder_ / ("a." + format);
        const Outcome made = run_refit(
            {"report", run().string(), "--format", format, "-o", file.string(), "--json"});
        EXPECT_EQ(made.code, 0) << made.err;
        const std::string written = read_text_file(file);
        EXPECT_EQ(made.document()["bytes"], written.size());
        EXPECT_TRUE(made.document()["missing"].empty());
        return written;
    }

    static TestFolder* folder_;  // NOLINT(*-avoid-non-const-global-variables)
};

TestFolder* Report::folder_ = nullptr;  // NOLINT(*-avoid-non-const-global-variables)

TEST_F(Report, IsOnePageThatAsksForNothing) {
    const std::string page = text("html");
    EXPECT_EQ(page, text("html"));  // byte for byte
    for (const char* request :
         {"http://", "https://", "<img", "<iframe", "@import", "url(\"", "<link"})
        EXPECT_EQ(page.find(request), std::string::npos) << request;
    const std::size_t script = page.rfind("<script>");
    ASSERT_NE(script, std::string::npos);
    EXPECT_LT(page.size() - script, kScriptMax);
    for (const char* shown :
         {"Relay tree", "Who did what", "Bit-exact map", "What broke", "id=\"lanes\"", "h-payload",
          "prefers-color-scheme: dark", "@media print"})
        EXPECT_NE(page.find(shown), std::string::npos) << shown;
}

TEST_F(Report, CarriesTheDataOfThePlayer) {
    const std::string page = text("html");
    const std::string begin = "<script type=\"application/json\" id=\"run\">";
    const std::size_t from = page.find(begin) + begin.size();
    const auto data = nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
    EXPECT_EQ(data["refits"].size(), record()["refits"].size());
    bool died = false;
    for (const auto& node : data["nodes"])
        for (const auto& step : node["doing"]) died |= step[1] == "down";
    EXPECT_TRUE(died);
    for (const auto& cell : data["cells"]) {
        for (const auto& times : cell) {
            EXPECT_LE(times[0], times[1]);
            EXPECT_LE(times[1], times[2]);
            EXPECT_GT(times[2], 0);
        }
    }
}

TEST_F(Report, SumsEqualTheRecord) {
    const auto trace = nlohmann::json::parse(text("trace"));
    std::uint64_t sent = 0;
    double idle = 0;
    double all = 0;
    for (const auto& event : trace["traceEvents"]) {
        if (event["ph"] == "i" && event["name"] == "chunk_sent")
            sent += event["args"]["amount"].get<std::uint64_t>();
        if (event["ph"] != "X" || event["cat"] != "rollouts" || event["name"] == "down") continue;
        all += event["dur"].get<double>();
        if (event["name"] != "busy") idle += event["dur"].get<double>();
    }
    EXPECT_EQ(sent, record()["wire"]["bytes_sent"]);
    EXPECT_NEAR(idle / all, record()["gpu_idle"]["fraction"]["value"], 1e-9);
    EXPECT_NEAR(all / 1e6, record()["gpu_idle"]["replica_seconds"], 1e-6);

    const std::string csv = text("csv");
    EXPECT_NE(csv.find("\nspeedup," + record()["speedup"]["value"].dump() + ",1,"),
              std::string::npos);
    const std::string metrics = text("prom");
    EXPECT_NE(metrics.find("refit_mismatched_words_total 0\n"), std::string::npos);
    EXPECT_NE(text("md").find("| speed-up |"), std::string::npos);
}

TEST_F(Report, ShowsWhatIsWholeOfADamagedRecording) {
    const fs::path damaged = *folder_ / "damaged";
    fs::create_directory(damaged);
    fs::copy_file(run() / "record.json", damaged / "record.json");
    const std::string bytes = read_text_file(run() / "run.timeline");
    std::ofstream(damaged / "run.timeline", std::ios::binary)
        << bytes.substr(0, bytes.size() * 9 / 10);
    const Outcome made = run_refit({"report", damaged.string(), "--json"});
    EXPECT_EQ(made.code, 0) << made.err;
    ASSERT_EQ(made.document()["missing"].size(), 1u);
    EXPECT_NE(made.err.find("not whole: the recording is cut inside a block"), std::string::npos)
        << made.err;
    EXPECT_NE(read_text_file(damaged / "report.html").find("class=\"missing\""), std::string::npos);
}

TEST_F(Report, TakesTheNewestRunByDefault) {
    const std::vector<std::string> home{"XDG_STATE_HOME=" + (*folder_ / "state").string()};
    const Outcome none = run_refit({"report"}, {.extra = home});
    EXPECT_EQ(none.code, 3);
    EXPECT_TRUE(none.one_line()) << none.err;
    ASSERT_EQ(run_refit({"run", "scenarios/smoke.toml", "--quiet"},
                        {.folder = REFIT_SOURCE_DIR, .extra = home})
                  .code,
              0);
    const Outcome made = run_refit({"report", "--format", "md", "--json"}, {.extra = home});
    EXPECT_EQ(made.code, 0) << made.err;
    const std::string output = made.document()["output"];
    EXPECT_NE(output.find("/state/refit/runs/run-"), std::string::npos);
    EXPECT_TRUE(fs::exists(output));
}

TEST_F(Report, IsComparedFigureByFigure) {
    const Outcome other =
        run_refit({"run", "--quiet", "--codec", "xor-zstd", "--out", (*folder_ / "b").string()});
    ASSERT_EQ(other.code, 0) << other.err;
    const Outcome same = run_refit({"compare", run().string(), run().string(), "--json"});
    EXPECT_EQ(same.code, 0) << same.err;
    EXPECT_TRUE(same.document()["texts"].empty());
    const nlohmann::json alike = same.document();
    for (const auto& value : alike["values"]) EXPECT_FALSE(value["differs"]) << value;

    const Outcome made = run_refit({"compare", run().string(), (*folder_ / "b").string()});
    EXPECT_EQ(made.code, 0) << made.err;
    EXPECT_NE(made.out.find("xc | xor-zstd"), std::string::npos) << made.out;
    EXPECT_EQ(made.out.find("host"), std::string::npos);
    const auto document =
        run_refit({"compare", run().string(), (*folder_ / "b").string(), "--json"}).document();
    const auto record_b = nlohmann::json::parse(read_text_file(*folder_ / "b" / "record.json"));
    for (const auto& value : document["values"]) {
        if (value["key"] != "codec.payload_bytes") continue;
        EXPECT_EQ(value["a"], record()["codec"]["payload_bytes"]["value"]);
        EXPECT_EQ(value["b"], record_b["codec"]["payload_bytes"]["value"]);
        EXPECT_GT(value["ratio"], 2);
        EXPECT_EQ(value["provenance"], "measured");
    }
    EXPECT_EQ(run_refit({"compare", run().string(), (*folder_ / "none").string()}).code, 3);
    EXPECT_EQ(run_refit({"compare", run().string()}).code, 2);
}

TEST_F(Report, RefusesWhatIsNoRun) {
    const fs::path empty = *folder_ / "empty";
    fs::create_directory(empty);
    const Outcome none = run_refit({"report", empty.string()});
    EXPECT_EQ(none.code, 3);
    EXPECT_TRUE(none.one_line()) << none.err;
    std::ofstream(empty / "run.timeline") << "something else";
    const Outcome other = run_refit({"report", empty.string()});
    EXPECT_EQ(other.code, 3);
    EXPECT_NE(other.err.find("is no recording of a run"), std::string::npos) << other.err;
    EXPECT_FALSE(fs::exists(empty / "report.html"));
    EXPECT_EQ(run_refit({"report", run().string(), "--format", "pdf"}).code, 2);
}

}  // namespace
}  // namespace refit
