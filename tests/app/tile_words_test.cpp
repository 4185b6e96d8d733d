// The words of a kept run made again: from its request, from the shipped trace, and what is said
// where neither is there; and `refit view --page weights` over them.
#include "app/tile_words.hpp"

#include <gtest/gtest.h>

#include "app/run_folder.hpp"
#include "app/run_request.hpp"
#include "tests/app/driver.hpp"
#include "viz/cut_view.hpp"
#include "viz/words_view.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

const fs::path kDataRoot = REFIT_SOURCE_DIR;

SavedRun load(const fs::path& folder) {
    auto run = load_run(folder);
    REFIT_ASSERT(run.has_value());
    return std::move(run).value();
}

/// All three kinds of run, lived through once.
class TileWordsOfRuns : public testing::Test {
protected:
    static void SetUpTestSuite() {
        folder_ = new TestFolder();
        run_into("trace", {"smoke"});
        run_into("model",
                 {"--model", "qwen3-30b-a3b", "--sample", "0.001%", "--seed", "3", "--steps", "2"});
        const TracePair pair = trace_pair(*folder_);
        fs::copy(pair.base, *folder_ / "base", fs::copy_options::recursive);
        fs::copy(pair.next, *folder_ / "next", fs::copy_options::recursive);
        run_into("files", {"smoke", "--base", (*folder_ / "base").string(), "--new",
                           (*folder_ / "next").string()});
    }
    static void TearDownTestSuite() { delete folder_; }

    static void run_into(const char* name, std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "run");
        arguments.insert(arguments.end(), {"--quiet", "--out", (*folder_ / name).string()});
        const Outcome made = run_refit(arguments);
        ASSERT_EQ(made.code, 0) << made.err;
    }
    static std::shared_ptr<const TileWords> words(const SavedRun& run,
                                                  const fs::path& folder,
                                                  std::uint64_t version) {
        const auto tensor = pick_tensor(run.recording.cast.catalog);
        REFIT_ASSERT(tensor.has_value());
        return words_of_run(folder, run, *tensor, kDataRoot)(version);
    }
    static void expect_exact(const TileWords& tile) {
        ASSERT_EQ(tile.missing, "");
        const WordsView view = view_words(tile, 20);
        EXPECT_TRUE(view.exact(tile));
        EXPECT_GT(view.changed, 0u);
        EXPECT_GT(tile.delta_bytes, 0u);
        EXPECT_EQ(tile.tiles.size() > tile.tile, true);
    }

    static TestFolder* folder_;  // NOLINT(*-avoid-non-const-global-variables)
};

TestFolder* TileWordsOfRuns::folder_ = nullptr;  // NOLINT(*-avoid-non-const-global-variables)

TEST_F(TileWordsOfRuns, AreThoseOfTheTraceWithAndWithoutItsRequest) {
    const SavedRun run = load(*folder_ / "trace");
    const auto asked = words(run, *folder_ / "trace", 1);
    expect_exact(*asked);
    EXPECT_NE(asked->source.find("as many words of the model change"), std::string::npos);
    EXPECT_EQ(asked->codec, "xc");
    const auto shipped = words(run, *folder_ / "no-folder", 1);
    expect_exact(*shipped);
    EXPECT_EQ(shipped->base, asked->base);
    EXPECT_EQ(shipped->next, asked->next);
    EXPECT_NE(shipped->source.find("shipped"), std::string::npos);
    EXPECT_NE(words(run, *folder_ / "trace", 99)->missing, "");
}

TEST_F(TileWordsOfRuns, SayWhenTheyAreNotThoseThatTheRecordCounted) {
    SavedRun run = load(*folder_ / "trace");
    run.record["refits"][0]["changed_words"] = 1;
    EXPECT_NE(words(run, *folder_ / "trace", 1)->source.find("but not as many"), std::string::npos);
}

TEST_F(TileWordsOfRuns, OfAModelFollowFromWhatWasAsked) {
    const SavedRun run = load(*folder_ / "model");
    const auto first = words(run, *folder_ / "model", 1);
    const auto second = words(run, *folder_ / "model", 2);
    expect_exact(*first);
    expect_exact(*second);
    EXPECT_EQ(first->next, second->base);
    EXPECT_NE(first->source.find("seed 3"), std::string::npos) << first->source;
    const auto lost = words(run, *folder_ / "no-folder", 1);
    EXPECT_NE(lost->missing.find("request.json"), std::string::npos) << lost->missing;
    EXPECT_TRUE(lost->base.empty());
}

TEST_F(TileWordsOfRuns, NameTheCheckpointThatIsGone) {
    const SavedRun run = load(*folder_ / "files");
    expect_exact(*words(run, *folder_ / "files", 1));
    fs::rename(*folder_ / "next", *folder_ / "moved");
    const auto lost = words(run, *folder_ / "files", 1);
    fs::rename(*folder_ / "moved", *folder_ / "next");
    EXPECT_NE(lost->missing.find((*folder_ / "next").string()), std::string::npos) << lost->missing;
}

TEST_F(TileWordsOfRuns, AreNotMadeFromAnotherRunsRequest) {
    for (const auto& [of, request] : {std::pair("trace", "model"), std::pair("model", "trace")}) {
        const SavedRun run = load(*folder_ / of);
        const auto other = words(run, *folder_ / request, 1);
        EXPECT_NE(other->missing.find("other tensors"), std::string::npos) << other->missing;
    }
}

TEST_F(TileWordsOfRuns, AreDrawnOnThePageOfWeights) {
    const std::string run = (*folder_ / "trace").string();
    const auto draw = [&](const std::vector<std::string>& more) {
        std::vector<std::string> arguments = {"view", run, "--png", (*folder_ / "a.png").string()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_refit(arguments);
    };
    EXPECT_EQ(draw({"--tensor", "lm_head.weight"}).code, 2);
    EXPECT_EQ(draw({"--page", "no-page"}).code, 2);
    expect_refused(draw({"--page", "weights", "--tensor", "no.tensor"}), 3, "no.tensor");
    const Outcome first = draw({"--page", "weights"});
    if (first.code == 1) GTEST_SKIP() << first.err;
    ASSERT_EQ(first.code, 0) << first.err;
    const std::string png = read_text_file(*folder_ / "a.png");
    ASSERT_EQ(draw({"--page", "weights"}).code, 0);
    EXPECT_EQ(read_text_file(*folder_ / "a.png"), png);
    ASSERT_EQ(draw({}).code, 0);
    EXPECT_NE(read_text_file(*folder_ / "a.png"), png);
    ASSERT_EQ(draw({"--page", "weights", "--tensor", "model.norm.weight"}).code, 0);
    EXPECT_NE(read_text_file(*folder_ / "a.png"), png);
}

TEST(RunRequest, ComesBackAndTrustsNothing) {
    const TestFolder folder;
    const RunRequest asked{"/a/b.toml", {{"seed", "3"}}, {"speedup>=2"}, {"/c", "/d"}};
    write_text_file(folder / "r.json", to_text(asked));
    const auto back = load_request(folder / "r.json");
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back.value().file, asked.file);
    EXPECT_EQ(back.value().overrides, asked.overrides);
    EXPECT_EQ(back.value().require, asked.require);
    EXPECT_EQ(back.value().versions, asked.versions);
    for (const char* text :
         {"", "[]", "{}", R"({"schema": 3})",
          R"({"schema": "refit.request/1", "scenario": "a", "overrides": [["a"]], "require": []})",
          R"({"schema": "refit.request/1", "scenario": "a", "overrides": [], "require": [1]})",
          R"({"schema": "refit.request/1", "scenario": "a", "overrides": [], "require": [],
              "versions": "a"})"}) {
        write_text_file(folder / "r.json", text);
        EXPECT_FALSE(load_request(folder / "r.json").has_value()) << text;
    }
}

}  // namespace
}  // namespace refit
