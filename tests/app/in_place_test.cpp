// `apply --in-place` as a user runs it: exact, again, refused over links, and the old checkpoint
// after every failure. What a crash leaves is tested below, in engine/in_place_crash_test.cpp.
#include <gtest/gtest.h>
#include <sys/mount.h>

#include "tests/app/driver.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

class InPlace : public testing::Test {
protected:
    void SetUp() override {
        next_ = small_safetensors("t", 1, 40'000);
        for (std::size_t at = next_.size() - 80'000; at < next_.size(); at += 66)
            next_[at] = static_cast<char>(next_[at] ^ 0x15);
        base_ = small_safetensors("t", 1, 40'000);
        write_text_file(inputs_ / "base.safetensors", base_);
        write_text_file(inputs_ / "next.safetensors", next_);
        encode("base.safetensors", "next.safetensors", "d.rfd");
        write_text_file(work_ / "m.safetensors", base_);
    }

    void encode(const std::string& base, const std::string& next, const std::string& delta) {
        const Start here{.folder = inputs_.path(), .extra = {}};
        const Outcome encoded =
            run_refit({"encode", "--with-files", "--base", base, "--new", next, "-o", delta}, here);
        ASSERT_EQ(encoded.code, 0) << encoded.err;
    }

    Outcome apply(const std::string& target, std::vector<std::string> more = {}) const {
        std::vector<std::string> words{"apply",   "--in-place",
                                       "--base",  (work_ / target).string(),
                                       "--delta", (inputs_ / "d.rfd").string()};
        words.insert(words.end(), more.begin(), more.end());
        return run_refit(words, start_);
    }

    void expect_refused(const Outcome& outcome, int code, const std::string& about) const {
        EXPECT_EQ(outcome.code, code) << outcome.err;
        EXPECT_TRUE(outcome.one_line()) << outcome.err;
        EXPECT_TRUE(outcome.err.starts_with("refit: " + about)) << outcome.err;
        EXPECT_EQ(outcome.out, "");
    }

    TestFolder inputs_;
    TestFolder work_;
    Start start_;
    std::string base_;
    std::string next_;
};

TEST_F(InPlace, OverwritesAndAgainChangesNothing) {
    const Outcome first = apply("m.safetensors", {"--json"});
    ASSERT_EQ(first.code, 0) << first.err;
    EXPECT_EQ(first.document()["written"], true);
    EXPECT_TRUE(read_text_file(work_ / "m.safetensors") == next_);
    EXPECT_EQ(work_.names(), std::vector<std::string>{"m.safetensors"});
    const Outcome second = apply("m.safetensors", {"--json"});
    EXPECT_EQ(second.code, 0) << second.err;
    EXPECT_EQ(second.document()["written"], false);
    EXPECT_TRUE(read_text_file(work_ / "m.safetensors") == next_);
}

TEST_F(InPlace, AnotherBaseIsLeftAsItIs) {
    std::string drifted = base_;
    drifted.back() = static_cast<char>(drifted.back() ^ 1);
    write_text_file(work_ / "m.safetensors", drifted);
    expect_refused(apply("m.safetensors"), 3, (work_ / "m.safetensors").string() + ": is version ");
    EXPECT_TRUE(read_text_file(work_ / "m.safetensors") == drifted);
    EXPECT_EQ(work_.names(), std::vector<std::string>{"m.safetensors"});
}

TEST_F(InPlace, LinksAreRefusedUnlessTheyAreAllowed) {
    fs::rename(work_ / "m.safetensors", work_ / "blob");
    fs::create_symlink("blob", work_ / "m.safetensors");
    expect_refused(apply("m.safetensors"), 3, "");
    EXPECT_TRUE(read_text_file(work_ / "blob") == base_);
    EXPECT_EQ(apply("m.safetensors", {"--allow-linked"}).code, 0);
    EXPECT_TRUE(fs::is_symlink(work_ / "m.safetensors"));
    EXPECT_TRUE(read_text_file(work_ / "m.safetensors") == next_);

    write_text_file(work_ / "one.safetensors", base_);
    fs::create_hard_link(work_ / "one.safetensors", work_ / "two.safetensors");
    expect_refused(apply("one.safetensors"), 3, (work_ / "one.safetensors").string() + ": ");
    EXPECT_TRUE(read_text_file(work_ / "two.safetensors") == base_);
    EXPECT_EQ(apply("one.safetensors", {"--allow-linked"}).code, 0);
    EXPECT_TRUE(read_text_file(work_ / "two.safetensors") == next_);
}

TEST_F(InPlace, FoldersOfLinksAreRefusedUnlessTheyAreAllowed) {
    const std::string index = R"({"weight_map":{"t":"a.safetensors"}})";
    write_text_file(inputs_ / "old/a.safetensors", base_);
    write_text_file(inputs_ / "new/a.safetensors", next_);
    for (const char* folder : {"old", "new"})
        write_text_file(inputs_ / folder / "model.safetensors.index.json", index);
    encode("old", "new", "d.rfd");
    write_text_file(work_ / "blobs/1234", base_);
    write_text_file(work_ / "blobs/5678", index);
    fs::create_directories(work_ / "snapshot");
    fs::create_symlink("../blobs/1234", work_ / "snapshot/a.safetensors");
    fs::create_symlink("../blobs/5678", work_ / "snapshot/model.safetensors.index.json");
    const auto names = work_.names();
    expect_refused(apply("snapshot"), 3, (work_ / "snapshot").string());
    EXPECT_TRUE(read_text_file(work_ / "blobs/1234") == base_);
    const Outcome allowed = apply("snapshot", {"--allow-linked"});
    EXPECT_EQ(allowed.code, 0) << allowed.err;
    EXPECT_TRUE(read_text_file(work_ / "blobs/1234") == next_);
    EXPECT_EQ(work_.names(), names);
    EXPECT_TRUE(fs::is_symlink(work_ / "snapshot/a.safetensors"));
}

TEST_F(InPlace, NoSpaceForTheJournalLeavesTheOldFile) {
    start_.file_limit = 1000;  // the journal needs more
    expect_refused(apply("m.safetensors"), 1, "");
    EXPECT_TRUE(read_text_file(work_ / "m.safetensors") == base_);
    EXPECT_EQ(work_.names(), std::vector<std::string>{"m.safetensors"});
    start_.file_limit = 0;

    if (!work_.shrink_to(88'000)) GTEST_SKIP() << "mounting a small tmpfs needs root";
    write_text_file(work_ / "m.safetensors", base_);
    expect_refused(apply("m.safetensors"), 1, "");
    EXPECT_TRUE(read_text_file(work_ / "m.safetensors") == base_);
    EXPECT_EQ(work_.names(), std::vector<std::string>{"m.safetensors"});
}

TEST_F(InPlace, ReadOnlyTargetsAreMachineFailuresThatTouchNothing) {
    if (!work_.shrink_to(1 << 20)) GTEST_SKIP() << "mounting needs root";
    write_text_file(work_ / "m.safetensors", base_);
    if (::mount("", work_.path().c_str(), "", MS_REMOUNT | MS_RDONLY, "") != 0)
        GTEST_SKIP() << "remounting read-only is not allowed here";
    expect_refused(apply("m.safetensors"), 1, "");
    const std::string delta = (inputs_ / "d.rfd").string();
    const std::string base = (inputs_ / "base.safetensors").string();
    const std::string output = (work_ / "out.safetensors").string();
    expect_refused(run_refit({"apply", "--base", base, "--delta", delta, "-o", output}), 1, output);
    expect_refused(run_refit({"encode", "--base", base, "--new", base, "-o", output}), 1, output);
    EXPECT_TRUE(read_text_file(work_ / "m.safetensors") == base_);
    EXPECT_EQ(work_.names(), std::vector<std::string>{"m.safetensors"});
}

TEST_F(InPlace, FoldersGetNewShardsFilesAndIndex) {
    const auto index = [](const std::string& map) { return "{\"weight_map\":{" + map + "}}"; };
    for (const fs::path& folder : {inputs_ / "old", work_ / "model"}) {
        write_text_file(folder / "a.safetensors", base_);
        write_text_file(folder / "b.safetensors", small_safetensors("u", 5, 10));
        write_text_file(folder / "config.json", "{}");
        write_text_file(folder / "notes.txt", "stay");
        write_text_file(folder / "model.safetensors.index.json",
                        index(R"("t":"a.safetensors","u":"b.safetensors")"));
    }
    const fs::path next = inputs_ / "new";
    write_text_file(next / "a.safetensors", next_);
    write_text_file(next / "c.safetensors", small_safetensors("u", 6, 10));
    write_text_file(next / "config.json", "{\"more\": 1}");
    write_text_file(next / "model.safetensors.index.json",
                    index(R"("t":"a.safetensors","u":"c.safetensors")"));
    encode("old", "new", "d.rfd");
    const Outcome applied = apply("model");
    ASSERT_EQ(applied.code, 0) << applied.err;
    for (const char* name :
         {"a.safetensors", "c.safetensors", "config.json", "model.safetensors.index.json"})
        EXPECT_TRUE(read_text_file(work_ / "model" / name) == read_text_file(next / name)) << name;
    EXPECT_FALSE(fs::exists(work_ / "model/b.safetensors"));
    EXPECT_EQ(read_text_file(work_ / "model/notes.txt"), "stay");
    EXPECT_EQ(work_.names().size(), 7u);  // the lone file, the folder, five in it
}

TEST_F(InPlace, OtherCommandsSayThatAnUpdateIsUnfinished) {
    fs::rename(work_ / "m.safetensors", work_ / "m.safetensors.refit-applying");
    const std::string name = (work_ / "m.safetensors").string();
    for (const char* command : {"inspect", "verify"}) {
        std::vector<std::string> words{command, name};
        if (words[0] == "verify") words.push_back(name);
        const Outcome outcome = run_refit(words);
        expect_refused(outcome, 3, name + ": ");
        EXPECT_NE(outcome.err.find("--in-place"), std::string::npos) << outcome.err;
    }
}

TEST_F(InPlace, WhatIsNoCheckpointIsRefused) {
    for (const char* name : {"none.safetensors", "none/x.safetensors", "s3://bucket/x", "x.bin"}) {
        const std::vector<std::string> words{"apply", "--in-place", "--base",
                                             name,    "--delta",    (inputs_ / "d.rfd").string()};
        expect_refused(run_refit(words, {.folder = work_.path(), .extra = {}}), 3, name);
    }
    EXPECT_EQ(work_.names(), std::vector<std::string>{"m.safetensors"});
}

TEST_F(InPlace, FlagsThatContradictAreUsageErrors) {
    EXPECT_EQ(apply("m.safetensors", {"-o", "x"}).code, 2);
    EXPECT_EQ(apply("m.safetensors", {"--dry-run"}).code, 2);
    EXPECT_EQ(run_refit({"apply", "--base", "a", "--delta", "b"}).code, 2);
    EXPECT_EQ(run_refit({"apply", "--base", "a", "--delta", "b", "-o", "c", "--allow-linked"}).code,
              2);
}

}  // namespace
}  // namespace refit
