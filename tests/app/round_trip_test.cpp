// encode, apply, verify, inspect over a real trace with every codec: files equal byte for byte.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/app/driver.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> codec_names() {
    std::vector<std::string> names;
    const auto document = run_refit({"list", "codecs", "--json"}).document();
    for (const auto& entry : document["entries"]) names.push_back(entry["name"]);
    return names;
}

/// Counted here on the raw bytes, past the header; independent of the program.
std::uint64_t count_changed_words(const std::string& base, const std::string& next) {
    std::uint64_t header = 0;
    std::memcpy(&header, base.data(), sizeof(header));
    std::uint64_t changed = 0;
    for (std::size_t at = sizeof(header) + header; at + 1 < base.size(); at += 2)
        changed += base[at] != next[at] || base[at + 1] != next[at + 1] ? 1 : 0;
    return changed;
}

TEST(RoundTrip, EveryCodecRebuildsTheRealTraceByteForByte) {
    const TestFolder folder;
    const TracePair pair = trace_pair(folder);
    const std::string base = read_text_file(pair.base);
    const std::string next = read_text_file(pair.next);
    ASSERT_EQ(base.size(), next.size());
    const std::uint64_t changed = count_changed_words(base, next);
    ASSERT_GT(changed, 0u);
    const auto codecs = codec_names();
    ASSERT_GE(codecs.size(), 5u);
    for (const std::string& codec : codecs) {
        SCOPED_TRACE(codec);
        const std::string delta = (folder / (codec + ".rfd")).string();
        const std::string output = (folder / (codec + ".safetensors")).string();
        const Outcome encoded =
            run_refit({"encode", "--base", pair.base.string(), "--new", pair.next.string(), "-o",
                       delta, "--codec", codec, "--json"});
        ASSERT_EQ(encoded.code, 0) << encoded.err;
        EXPECT_EQ(encoded.document()["changed_words"], changed);
        EXPECT_EQ(encoded.document()["file_bytes"], fs::file_size(delta));
        EXPECT_EQ(encoded.err, "");

        const auto inspected = run_refit({"inspect", delta, "--json"}).document();
        EXPECT_EQ(inspected["kind"], "delta");
        EXPECT_EQ(inspected["codec"], codec);
        EXPECT_EQ(inspected["changed_words"], changed);
        EXPECT_EQ(inspected["payload_bytes"], encoded.document()["payload_bytes"]);

        const Outcome applied =
            run_refit({"apply", "--base", pair.base.string(), "--delta", delta, "-o", output});
        ASSERT_EQ(applied.code, 0) << applied.err;
        EXPECT_TRUE(read_text_file(output) == next);

        const Outcome verified = run_refit({"verify", "--base", pair.base.string(), "--delta",
                                            delta, "--new", pair.next.string(), "--json"});
        EXPECT_EQ(verified.code, 0) << verified.err;
        EXPECT_EQ(verified.document()["words_checked"], inspected["words"]);
    }
}

TEST(RoundTrip, ThreadsDoNotChangeAByteAndDryRunsWriteNothing) {
    const TestFolder folder;
    const TracePair pair = trace_pair(folder);
    const std::vector<std::string> encode{"encode", "--base", pair.base.string(), "--new",
                                          pair.next.string()};
    const auto with = [](std::vector<std::string> words, std::vector<std::string> more) {
        words.insert(words.end(), more.begin(), more.end());
        return words;
    };
    const std::string one = (folder / "one.rfd").string();
    const std::string three = (folder / "three.rfd").string();
    ASSERT_EQ(run_refit(with(encode, {"-o", one, "--threads", "1"})).code, 0);
    ASSERT_EQ(run_refit(with(encode, {"-o", three, "--threads", "3"})).code, 0);
    EXPECT_TRUE(read_text_file(one) == read_text_file(three));

    const auto before = folder.names();
    const Outcome dry =
        run_refit(with(encode, {"-o", (folder / "x").string(), "--dry-run", "--json"}));
    EXPECT_EQ(dry.code, 0);
    EXPECT_EQ(dry.document()["file_bytes"], fs::file_size(one));
    EXPECT_EQ(run_refit({"apply", "--base", pair.base.string(), "--delta", one, "-o",
                         (folder / "y").string(), "--dry-run"})
                  .code,
              0);
    EXPECT_EQ(folder.names(), before);
}

TEST(RoundTrip, DirectoriesComeBackWithIndexAndEveryFile) {
    const TestFolder folder;
    const std::string index =
        R"({"metadata":{},"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})";
    for (const std::uint16_t first : {std::uint16_t{10}, std::uint16_t{20}}) {
        const fs::path checkpoint = folder / (first == 10 ? "base" : "next");
        write_text_file(checkpoint / "one.safetensors", small_safetensors("a", first, 300));
        write_text_file(checkpoint / "two.safetensors", small_safetensors("b", 7, 5));
        write_text_file(checkpoint / "model.safetensors.index.json", index);
    }
    const Start here{.folder = folder.path(), .extra = {}};
    ASSERT_EQ(run_refit({"encode", "--base", "base", "--new", "next", "-o", "d"}, here).code, 0);
    const Outcome applied =
        run_refit({"apply", "--base", "base", "--delta", "d", "-o", "out"}, here);
    ASSERT_EQ(applied.code, 0) << applied.err;
    for (const char* name : {"one.safetensors", "two.safetensors", "model.safetensors.index.json"})
        EXPECT_EQ(read_text_file(folder / "out" / name), read_text_file(folder / "next" / name));
    EXPECT_EQ(run_refit({"verify", "out", "next"}, here).code, 0);
    const auto inspected = run_refit({"inspect", "out", "--json"}, here).document();
    EXPECT_EQ(inspected["kind"], "directory");
    EXPECT_EQ(inspected["words"], 305);
}

TEST(RoundTrip, NothingChangedIsASmallDelta) {
    const TestFolder folder;
    write_text_file(folder / "a", small_safetensors("t", 1, 4096));
    const Start here{.folder = folder.path(), .extra = {}};
    fs::rename(folder / "a", folder / "a.safetensors");
    ASSERT_EQ(
        run_refit({"encode", "--base", "a.safetensors", "--new", "a.safetensors", "-o", "d"}, here)
            .code,
        0);
    EXPECT_LE(fs::file_size(folder / "d"), 4096u);
    ASSERT_EQ(
        run_refit({"apply", "--base", "a.safetensors", "--delta", "d", "-o", "o.safetensors"}, here)
            .code,
        0);
    EXPECT_EQ(read_text_file(folder / "o.safetensors"), read_text_file(folder / "a.safetensors"));
}

TEST(Verify, CountsMismatchesByTensor) {
    const TestFolder folder;
    write_text_file(folder / "a.safetensors", small_safetensors("t", 0, 100));
    std::string other = small_safetensors("t", 0, 100);
    other.back() = static_cast<char>(other.back() ^ 1);
    other[other.size() - 100] = static_cast<char>(other[other.size() - 100] ^ 1);
    write_text_file(folder / "b.safetensors", other);
    const Start here{.folder = folder.path(), .extra = {}};
    const Outcome verified =
        run_refit({"verify", "a.safetensors", "b.safetensors", "--json"}, here);
    EXPECT_EQ(verified.code, 4);
    EXPECT_EQ(verified.document()["mismatches"], 2);
    EXPECT_EQ(verified.document()["tensors"][0]["name"], "t");
    EXPECT_EQ(verified.document()["exact"], false);

    // A sound delta, checked against a version it does not lead to.
    ASSERT_EQ(
        run_refit({"encode", "--base", "a.safetensors", "--new", "a.safetensors", "-o", "d"}, here)
            .code,
        0);
    EXPECT_EQ(
        run_refit({"verify", "--base", "a.safetensors", "--delta", "d", "--new", "b.safetensors"},
                  here)
            .code,
        4);
}

TEST(Map, ProvesLayoutsOfTheTrace) {
    const TestFolder folder;
    const std::string model = trace_pair(folder).base.string();
    for (const char* serve : {"tp:tp4", "rows:tp3", "columns:tp2", "fsdp:dp3", "replicated:r2"}) {
        const Outcome mapped =
            run_refit({"map", model, "--train", "fsdp:dp4", "--serve", serve, "--json"});
        ASSERT_EQ(mapped.code, 0) << mapped.err;
        const auto document = mapped.document();
        EXPECT_EQ(document["train"]["copies_max"], 1);
        EXPECT_EQ(document["train"]["held_words"], document["words"]);
        EXPECT_EQ(document["transfer_words"], document["serve"]["held_words"]);
    }
}

}  // namespace
}  // namespace refit
