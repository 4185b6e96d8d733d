// `refit view`: a kept run as a picture, and what it says where it cannot draw one.
#include <gtest/gtest.h>

#include "tests/app/driver.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

/// One short run, kept in a folder for all tests.
class View : public testing::Test {
protected:
    static void SetUpTestSuite() {
        folder_ = new TestFolder();
        const Outcome made =
            run_refit({"run", "smoke", "--quiet", "--out", (*folder_ / "run").string()});
        ASSERT_EQ(made.code, 0) << made.err;
    }
    static void TearDownTestSuite() { delete folder_; }

    /// Why nothing is drawn here; empty where pictures are.
    static std::string why_none() {
        const Outcome drawn =
            run_refit({"view", run(), "--size", "1280x720", "--png", file("probe.png")});
        return drawn.code == 1 ? drawn.err : "";
    }

    static std::string run() { return (*folder_ / "run").string(); }
    static std::string file(const char* name) { return (*folder_ / name).string(); }

    static TestFolder* folder_;  // NOLINT(*-avoid-non-const-global-variables)
};

TestFolder* View::folder_ = nullptr;  // NOLINT(*-avoid-non-const-global-variables)

TEST_F(View, DrawsTheSameBytesForTheSameMoment) {
    const Outcome first = run_refit({"view", run(), "--png", file("a.png"), "--json"});
    if (first.code == 1) {
        EXPECT_TRUE(first.one_line()) << first.err;
        ASSERT_NE(first.err.find("no picture can be drawn here"), std::string::npos) << first.err;
        GTEST_SKIP() << first.err;
    }
    ASSERT_EQ(first.code, 0) << first.err;
    const std::string png = read_text_file(file("a.png"));
    EXPECT_EQ(first.document()["bytes"], png.size());
    EXPECT_EQ(first.document()["width"], 1600);
    ASSERT_EQ(run_refit({"view", run(), "--png", file("b.png")}).code, 0);
    EXPECT_EQ(read_text_file(file("b.png")), png);
    ASSERT_EQ(run_refit({"view", run(), "--png", file("c.png"), "--at", "1"}).code, 0);
    EXPECT_NE(read_text_file(file("c.png")), png);
    ASSERT_EQ(run_refit({"view", run(), "--png", file("d.png"), "--theme", "dark"}).code, 0);
    EXPECT_NE(read_text_file(file("d.png")), png);
    ASSERT_EQ(run_refit({"view", run(), "--png", file("e.png"), "--at", "1e9"}).code, 0);
    EXPECT_EQ(read_text_file(file("e.png")), png);  // past the end is the end
}

TEST_F(View, SaysInOneLineThatNothingDraws) {
    const Outcome none = run_refit({"view", run(), "--png", file("none.png")},
                                   {.extra = {"__EGL_VENDOR_LIBRARY_FILENAMES=/nowhere"}});
    expect_refused(none, 1, "no picture can be drawn here");
    EXPECT_FALSE(fs::exists(file("none.png")));
}

TEST_F(View, RefusesWhatIsNoRunAndNoPicture) {
    fs::create_directory(*folder_ / "empty");
    expect_refused(run_refit({"view", (*folder_ / "empty").string()}), 3, "run.timeline");
    for (const char* size : {"1600", "1600x", "1600x900x3", "10x10", "99999x900", "-1600x900", ""})
        EXPECT_EQ(run_refit({"view", run(), "--size", size}).code, 2) << size;
    EXPECT_EQ(run_refit({"view", run(), "--at", "-1"}).code, 2);
    EXPECT_EQ(run_refit({"view", run(), "--theme", "blue"}).code, 2);
    EXPECT_EQ(run_refit({"view", run(), "--fonts", file("no-folder")}).code, 2);
}

TEST_F(View, RefusesWhatIsNoFilm) {
    const std::vector<std::vector<std::string>> wrong = {
        {"--gif", "no.gif", "--png", "no.png"},
        {"--gif", "no.gif", "--mp4", "no.mp4"},
        {"--gif", ""},
        {"--gif", "no.gif", "--at", "1"},
        {"--gif", "no.gif", "--from", "2", "--to", "1"},
        {"--gif", "no.gif", "--from", "2", "--to", "2"},
        {"--gif", "no.gif", "--to", "0"},
        {"--gif", "no.gif", "--from", "1e8"},
        {"--gif", "no.gif", "--from", "-1"},
        {"--gif", "no.gif", "--seconds", "2"},
        {"--gif", "no.gif", "--seconds", "601"},
        {"--gif", "no.gif", "--fps", "0"},
        {"--gif", "no.gif", "--fps", "51"},
        {"--gif", "no.gif", "--fps", "50", "--seconds", "22"},
        {"--mp4", "no.mp4", "--fps", "61"},
        {"--mp4", "no.mp4", "--size", "1281x720"},
        {"--png", "no.png", "--fps", "5"},
        {"--from", "1"}};
    for (const auto& flags : wrong) {
        std::vector<std::string> words{"view", run()};
        words.insert(words.end(), flags.begin(), flags.end());
        const Outcome refused = run_refit(words, {.folder = folder_->path(), .extra = {}});
        EXPECT_EQ(refused.code, 2) << testing::PrintToString(flags) << refused.err;
        EXPECT_TRUE(refused.one_line()) << refused.err;
    }
    for (const char* name : {"no.gif", "no.mp4", "no.png"}) EXPECT_FALSE(fs::exists(file(name)));
}

TEST_F(View, FilmsTheSameBytesTwice) {
    if (const std::string why = why_none(); !why.empty()) GTEST_SKIP() << why;
    const std::vector<std::string> film{"view",      run(), "--size", "1280x720",
                                        "--seconds", "3",   "--fps",  "4"};
    const auto into = [&](const char* name, const std::vector<std::string>& more) {
        std::vector<std::string> words = film;
        words.insert(words.end(), {"--json", "--gif", file(name)});
        words.insert(words.end(), more.begin(), more.end());
        const Outcome made = run_refit(words);
        EXPECT_EQ(made.code, 0) << made.err;
        return std::pair(made.document(), read_text_file(file(name)));
    };
    const auto [document, gif] = into("a.gif", {});
    EXPECT_EQ(gif.substr(0, 6), "GIF89a");
    EXPECT_EQ(document["bytes"], gif.size());
    EXPECT_EQ(document["frames"], 5);
    EXPECT_EQ(document["frames_per_second"], 4);
    EXPECT_EQ(document["from_seconds"], 0.0);
    EXPECT_EQ(into("b.gif", {}).second, gif);
    const auto [part, other] = into("c.gif", {"--from", "0.5", "--to", "1.5"});
    EXPECT_EQ(part["from_seconds"], 0.5);
    EXPECT_EQ(part["to_seconds"], 1.5);
    EXPECT_NE(other, gif);
}

/// A program of this name that runs instead of the real one.
void pretend_ffmpeg(const TestFolder& folder, const std::string& script) {
    fs::create_directories(folder / "bin");
    write_text_file(folder / "bin/ffmpeg", "#!/bin/sh\n" + script);
    fs::permissions(folder / "bin/ffmpeg", fs::perms::owner_all);
}

TEST_F(View, SendsEveryFrameToFfmpeg) {
    if (const std::string why = why_none(); !why.empty()) GTEST_SKIP() << why;
    const std::vector<std::string> film{"view", run(),   "--size", "1280x720", "--seconds",
                                        "3",    "--fps", "4",      "--mp4",    "film.mp4"};
    const TestFolder folder;
    const Start start{.folder = folder.path(),
                      .extra = {"PATH=" + (folder / "bin").string() + ":/usr/bin:/bin"}};
    pretend_ffmpeg(folder, "for last; do :; done\nexec cat >\"${last#file:}\"\n");
    const Outcome made = run_refit(film, start);
    ASSERT_EQ(made.code, 0) << made.err;
    // Five frames, the last for two seconds.
    EXPECT_EQ(fs::file_size(folder / "film.mp4"), 3 * 1280 * 720 * (4 + 8));

    for (const auto& [script, says] : std::vector<std::pair<std::string, std::string>>{
             {"echo no such encoder >&2\necho more >&2\nexit 1\n", "ffmpeg: no such encoder"},
             {"cat >/dev/null\nexit 3\n", "ffmpeg: exit code 3"},
             {"head -c 3000000 >/dev/null\nexit 0\n", "ffmpeg ended before"},
             {"kill -9 $$\n", "ended by signal 9"}}) {
        pretend_ffmpeg(folder, script);
        fs::remove(folder / "film.mp4");
        expect_refused(run_refit(film, start), 1, says);
        EXPECT_EQ(folder.names(), (std::vector<std::string>{"bin", "bin/ffmpeg"})) << script;
    }
    expect_refused(run_refit(film, {.folder = folder.path(), .extra = {"PATH=/nowhere"}}), 1,
                   "needs ffmpeg");
    EXPECT_FALSE(fs::exists(folder / "film.mp4"));
}

TEST_F(View, MakesAnMp4) {
    if (const std::string why = why_none(); !why.empty()) GTEST_SKIP() << why;
    const Outcome made = run_refit({"view", run(), "--size", "1280x720", "--seconds", "3", "--fps",
                                    "4", "--mp4", file("film.mp4")});
    if (made.err.find("needs ffmpeg") != std::string::npos) GTEST_SKIP() << made.err;
    ASSERT_EQ(made.code, 0) << made.err;
    const std::string mp4 = read_text_file(file("film.mp4"));
    EXPECT_EQ(mp4.substr(4, 4), "ftyp");
    EXPECT_LT(mp4.find("moov"), mp4.find("mdat"));  // plays before it is all there
}

TEST(ShippedRecording, IsWholeExactAndOfARelayThatDied) {
    const fs::path shipped = fs::path(REFIT_SOURCE_DIR) / "results/faults";
    const TestFolder folder;
    const std::string csv = (folder / "record.csv").string();
    const Outcome read =
        run_refit({"report", shipped.string(), "--format", "csv", "-o", csv, "--json"});
    ASSERT_EQ(read.code, 0) << read.err;
    EXPECT_TRUE(read.document()["missing"].empty()) << read.out;
    const auto record = nlohmann::json::parse(read_text_file(shipped / "record.json"));
    EXPECT_EQ(record["verify"]["exact"], true);
    EXPECT_EQ(record["verify"]["mismatches"], 0);
    EXPECT_EQ(record["commit"]["reencodes"], 0);
    EXPECT_NE(record["faults"].dump().find("eu-west/relay-2 down"), std::string::npos);
    std::uintmax_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(shipped)) bytes += entry.file_size();
    EXPECT_LE(bytes, std::uintmax_t{4} << 20);
    // Where it was made is nobody's business: no text is a path from the root, or has one inside.
    const nlohmann::json inside =
        run_refit({"inspect", (shipped / "run.timeline").string(), "--json"}).document();
    std::string texts = read_text_file(shipped / "record.json");
    for (const char* key : {"title", "sites", "links"}) texts += inside[key].dump();
    for (const char* root : {"\"/", " /"}) EXPECT_EQ(texts.find(root), std::string::npos) << root;
}

}  // namespace
}  // namespace refit
