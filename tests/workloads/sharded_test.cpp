// What must hold for directories of many shards: odd names, thousands of tensors, and indexes and
// shards that do not belong together.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "engine/base/rng.hpp"
#include "tests/support/files.hpp"
#include "workloads/checkpoint.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

/// Tensor name -> file, in the order they were added.
using Placing = std::vector<std::pair<std::string, std::string>>;

void write_index(const fs::path& folder, const Placing& placing) {
    std::string entries;
    for (const auto& [tensor, file] : placing)
        entries += fmt::format("{}\"{}\":\"{}\"", entries.empty() ? "" : ",", tensor, file);
    write_text_file(folder / "model.safetensors.index.json",
                    fmt::format("{{\"weight_map\":{{{}}}}}", entries));
}

std::string refusal(const fs::path& path) {
    const auto opened = Checkpoint::open(path);
    if (opened.has_value()) return "accepted";
    return opened.error().where + ": " + opened.error().what;
}

TEST(ShardedCheckpoint, TakesAnyPlainNameOfAShard) {
    const TestFolder folder;
    Placing placing;
    for (const char* name : {"model-00001-of-000062.safetensors", "model-1-of-1.safetensors", "-",
                             "a b", "\xC3\xA9", "x.safetensors.bin", "%s", "consolidated.00"}) {
        std::string file = name;
        if (!file.ends_with(".safetensors")) file += ".safetensors";
        const std::string tensor = fmt::format("t{}", placing.size());
        placing.emplace_back(tensor, file);
        write_text_file(folder / file,
                        small_safetensors(tensor, static_cast<std::uint16_t>(placing.size()), 3));
    }
    write_index(folder.path(), placing);
    const auto opened = Checkpoint::open(folder.path());
    ASSERT_TRUE(opened.has_value()) << opened.error().what;
    EXPECT_EQ(opened.value()->files().size(), placing.size());
    for (std::size_t i = 0; i < placing.size(); ++i) {
        std::uint16_t word = 0;
        const auto id = opened.value()->catalog().find(placing[i].first);
        ASSERT_TRUE(id.has_value());
        opened.value()->read(*id, 0, std::span(&word, 1));
        EXPECT_EQ(word, i + 1) << placing[i].second;
    }
}

/// A file of several vectors of 3 words each; word k of tensor `number` is 3 * number + k.
std::string file_of(const std::vector<std::uint32_t>& numbers) {
    std::string entries;
    std::string data;
    for (const std::uint32_t number : numbers) {
        entries +=
            (entries.empty() ? "" : ",") + tensor_entry(fmt::format("layers.{}.w", number), "BF16",
                                                        "[3]", data.size(), data.size() + 6);
        for (std::uint32_t k = 0; k < 3; ++k) {
            data += static_cast<char>((3 * number + k) & 0xFF);
            data += static_cast<char>((3 * number + k) >> 8);
        }
    }
    return safetensors_header("{" + entries + "}") + data;
}

TEST(ShardedCheckpoint, FindsFiveThousandTensorsInFortyShards) {
    constexpr std::uint32_t kTensors = 5000;
    constexpr std::uint32_t kShards = 40;
    const TestFolder folder;
    std::vector<std::vector<std::uint32_t>> shards(kShards);
    Placing placing;
    Rng rng(40, 5000);
    for (std::uint32_t number = 0; number < kTensors; ++number) {
        const std::size_t shard = rng.below(kShards);
        shards[shard].push_back(number);
        placing.emplace_back(fmt::format("layers.{}.w", number),
                             fmt::format("s{}.safetensors", shard));
    }
    for (std::size_t shard = 0; shard < shards.size(); ++shard) {
        std::ranges::reverse(shards[shard]);
        write_text_file(folder / fmt::format("s{}.safetensors", shard), file_of(shards[shard]));
    }
    write_index(folder.path(), placing);
    const auto opened = Checkpoint::open(folder.path());
    ASSERT_TRUE(opened.has_value()) << opened.error().what;
    const Catalog& catalog = opened.value()->catalog();
    ASSERT_EQ(catalog.tensors().size(), kTensors);
    for (std::uint32_t number = 0; number < kTensors; ++number) {
        const auto id = catalog.find(fmt::format("layers.{}.w", number));
        ASSERT_TRUE(id.has_value()) << number;
        std::uint16_t words[3] = {};
        opened.value()->read(*id, 0, words);
        for (std::uint32_t k = 0; k < 3; ++k) ASSERT_EQ(words[k], 3 * number + k);
    }

    // One tensor of all these in a second shard, or in the wrong one, is still found.
    const Placing right = placing;
    std::swap(placing[1234].second, placing[std::size_t{1234} + 1].second);
    if (placing[1234].second != right[1234].second) {
        write_index(folder.path(), placing);
        const std::string wrong = refusal(folder.path());
        EXPECT_NE(wrong.find("'layers.1234.w'"), wrong.npos) << wrong;
        EXPECT_NE(wrong.find("does not hold it"), wrong.npos) << wrong;
    }
    write_index(folder.path(), right);
    auto& twice = shards[right[1234].second == "s0.safetensors" ? 1 : 0];
    twice.push_back(1234);
    const std::string twice_in = right[1234].second == "s0.safetensors" ? "s1" : "s0";
    write_text_file(folder / (twice_in + ".safetensors"), file_of(twice));
    const std::string two = refusal(folder.path());
    EXPECT_NE(two.find("'layers.1234.w' is in two files"), two.npos) << two;
    EXPECT_NE(two.find(twice_in), two.npos) << two;
}

TEST(ShardedCheckpoint, NamesTheShardThatIsMissingOrNoShard) {
    const TestFolder folder;
    write_text_file(folder / "a.safetensors", small_safetensors("a", 1, 3));
    write_index(folder.path(), {{"a", "a.safetensors"}, {"b", "b.safetensors"}});
    const std::string bad = (folder / "b.safetensors: ").string();
    EXPECT_EQ(refusal(folder.path()), bad + "no such file");

    for (const auto& [bytes, reason] : std::vector<std::pair<std::string, std::string>>{
             {"", "cut short"},
             {"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"},
             {"<!DOCTYPE html><html><body>503 Slow Down</body></html>", "web page"},
             {small_safetensors("b", 1, 3) + "x", "1 bytes after"},
             {small_safetensors("b", 1, 3).substr(0, 66), "cut short"}}) {
        write_text_file(folder / "b.safetensors", bytes);
        const std::string refused = refusal(folder.path());
        EXPECT_TRUE(refused.starts_with(bad)) << refused;
        EXPECT_NE(refused.find(reason), refused.npos) << refused;
    }
    fs::remove(folder / "b.safetensors");
    fs::create_directory(folder / "b.safetensors");
    EXPECT_EQ(refusal(folder.path()), bad + "this is not a regular file");
    fs::remove(folder / "b.safetensors");
    fs::create_symlink("nowhere", folder / "b.safetensors");
    EXPECT_EQ(refusal(folder.path()), bad + "no such file");
}

TEST(ShardedCheckpoint, NamesTheIndexThatIsNone) {
    const TestFolder folder;
    write_text_file(folder / "a.safetensors", small_safetensors("a", 1, 3));
    const fs::path index = folder / "model.safetensors.index.json";
    for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
             {"", "not valid JSON"},
             {"{}", "no weight_map"},
             {R"({"weight_map":{}})", "names no file"},
             {"[]", "no weight_map"},
             {"<!DOCTYPE html>", "not valid JSON"},
             {"version https://git-lfs.github.com/spec/v1\n", "not valid JSON"},
             {R"({"weight_map":{"a":"a.safetensors"}} x)", "not valid JSON"},
             {R"({"weight_map":{"a":"a.safetensors","a":"b.safetensors"}})", "twice"}}) {
        write_text_file(index, text);
        const std::string refused = refusal(folder.path());
        EXPECT_TRUE(refused.starts_with(index.string() + ": ")) << refused;
        EXPECT_NE(refused.find(reason), refused.npos) << text << " -> " << refused;
    }
    write_text_file(index, R"({"weight_map":{"a":"a.safetensors"}})");
    EXPECT_EQ(refusal(folder.path()), "accepted");
    // Given in place of its folder.
    EXPECT_NE(refusal(index).find("folder"), std::string::npos) << refusal(index);
}

}  // namespace
}  // namespace refit
