// What must hold for checkpoints: words come out bit for bit at any offset, a copy equals the file
// byte for byte, every broken input is refused by name, and a writer leaves all or nothing.
#include "workloads/checkpoint.hpp"

#include <gtest/gtest.h>

#include "engine/base/rng.hpp"
#include "tests/support/files.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

using HeaderList = std::vector<std::pair<std::string, ByteVector>>;

const fs::path kCases = fs::path(REFIT_SOURCE_DIR) / "../shared/cases/files";

/// An Error's code and whole line, as the program would print it.
struct Refusal {
    ErrorCode code;
    std::string line;
};

Refusal refusal(const fs::path& path) {
    const auto opened = Checkpoint::open(path);
    if (opened.has_value()) return {ErrorCode::missed, "accepted"};
    const Error& error = opened.error();
    const std::string line = error.where + ": " + error.what;
    EXPECT_EQ(line.find('\n'), line.npos) << line;
    return {error.code, line};
}

void expect_refused(const fs::path& path, ErrorCode code, std::string_view reason) {
    const Refusal refused = refusal(path);
    EXPECT_EQ(refused.code, code) << refused.line;
    EXPECT_NE(refused.line.find(reason), std::string::npos) << refused.line;
    EXPECT_TRUE(refused.line.starts_with(path.string().substr(0, path.string().find("//"))))
        << refused.line;
}

std::vector<std::uint16_t> read_tensor(const Checkpoint& checkpoint, std::string_view name) {
    const auto id = checkpoint.catalog().find(name);
    EXPECT_TRUE(id.has_value()) << name;
    std::vector<std::uint16_t> words(checkpoint.catalog().tensor(id.value()).words);
    checkpoint.read(id.value(), 0, words);
    return words;
}

HeaderList headers_of(const Checkpoint& checkpoint) {
    HeaderList headers;
    for (const CheckpointFile& file : checkpoint.files())
        headers.emplace_back(file.name, file.header);
    return headers;
}

Result<CheckpointContents> contents_of(const Checkpoint& checkpoint) {
    return read_contents(checkpoint.is_directory(), headers_of(checkpoint), checkpoint.index(),
                         checkpoint.other_files());
}

Result<std::unique_ptr<CheckpointWriter>> create_like(const fs::path& target,
                                                      const Checkpoint& checkpoint) {
    REFIT_TRY(contents, contents_of(checkpoint));
    return CheckpointWriter::create(target, contents);
}

/// Writes every byte in runs of random length and random order, then commits.
void copy_bytes(const Checkpoint& from, CheckpointWriter& to, std::uint64_t seed) {
    Rng rng(seed, 1);
    struct Run {
        std::size_t tensor;
        std::uint64_t first, bytes;
    };
    std::vector<Run> runs;
    for (std::size_t t = 0; t < from.tensors().size(); ++t) {
        const std::uint64_t bytes = from.tensors()[t].bytes;
        for (std::uint64_t at = 0; at < bytes;) {
            const std::uint64_t run = std::min(1 + rng.below(13), bytes - at);
            runs.push_back({t, at, run});
            at += run;
        }
    }
    for (std::size_t i = runs.size(); i > 1; --i) std::swap(runs[i - 1], runs[rng.below(i)]);
    for (const Run& run : runs) {
        ByteVector bytes(run.bytes);
        from.read_bytes(from.tensors()[run.tensor], run.first, bytes);
        to.write(to.tensors()[run.tensor], run.first, bytes);
    }
    for (std::size_t i = 0; i < from.other_files().size(); ++i) {
        ByteVector bytes(from.other_files()[i].bytes);
        from.read_other(i, 0, bytes);
        to.write_other(i, 0, bytes);
    }
    to.commit();
}

/// Two shards, three tensors; "b" lies in both data orders to tell names from places.
void write_sharded(const fs::path& folder, std::string_view map) {
    write_text_file(folder / "one.safetensors", small_safetensors("b", 100, 5));
    std::string two =
        safetensors_header(fmt::format("{{{},{}}}", tensor_entry("c", "F16", "[2]", 0, 4),
                                       tensor_entry("a", "BF16", "[3]", 4, 10)));
    two += std::string("\1\0\2\0\x0A\0\x0B\0\x0C\0", 10);
    write_text_file(folder / "two.safetensors", two);
    write_text_file(folder / "model.safetensors.index.json", map);
}

constexpr std::string_view kMap =
    R"({"metadata":{"total_size":20}, "weight_map":{"c":"two.safetensors","b":"one.safetensors",)"
    R"("a":"two.safetensors"} } )";

TEST(Checkpoint, ReadsWordsOfOneFile) {
    TestFolder folder;
    write_text_file(folder / "m.safetensors", small_safetensors("w", 0x3F80, 9));
    const auto opened = Checkpoint::open(folder / "m.safetensors");
    ASSERT_TRUE(opened.has_value()) << opened.error().what;
    const Checkpoint& checkpoint = *opened.value();
    EXPECT_FALSE(checkpoint.is_directory());
    EXPECT_EQ(checkpoint.path(), folder / "m.safetensors");
    EXPECT_TRUE(checkpoint.index().empty());
    ASSERT_EQ(checkpoint.files().size(), 1u);
    EXPECT_EQ(checkpoint.files()[0].name, "m.safetensors");
    EXPECT_EQ(checkpoint.files()[0].data_bytes, 18u);
    for (std::uint64_t first = 0; first <= 9; ++first) {
        for (std::uint64_t count = 0; first + count <= 9; ++count) {
            std::vector<std::uint16_t> words(count);
            checkpoint.read(0, first, words);
            for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(words[i], 0x3F80 + first + i);
        }
    }
    std::vector<std::uint16_t> beyond(2);
    EXPECT_DEATH(checkpoint.read(0, 8, beyond), "broken invariant");
    EXPECT_DEATH(checkpoint.read(0, ~std::uint64_t{0}, beyond), "broken invariant");
}

TEST(Checkpoint, ReadsADirectoryThroughItsIndex) {
    TestFolder folder;
    write_sharded(folder.path(), kMap);
    for (const fs::path& path : {folder.path(), folder / ""}) {
        const auto opened = Checkpoint::open(path);
        ASSERT_TRUE(opened.has_value()) << opened.error().what;
        const Checkpoint& checkpoint = *opened.value();
        EXPECT_TRUE(checkpoint.is_directory());
        EXPECT_EQ(as_text(checkpoint.index()), kMap);
        EXPECT_EQ(checkpoint.files().size(), 2u);
        using Words = std::vector<std::uint16_t>;
        EXPECT_EQ(read_tensor(checkpoint, "a"), (Words{10, 11, 12}));
        EXPECT_EQ(read_tensor(checkpoint, "b"), (Words{100, 101, 102, 103, 104}));
        EXPECT_EQ(read_tensor(checkpoint, "c"), (Words{1, 2}));
        EXPECT_EQ(checkpoint.catalog().tensor(2).type, WordType::f16);
    }
}

TEST(Checkpoint, ReadsADirectoryWithOneFileAndNoIndex) {
    TestFolder folder;
    write_text_file(folder / "model.safetensors", small_safetensors("w", 7, 3));
    write_text_file(folder / "config.json", "{}");
    const auto opened = Checkpoint::open(folder.path());
    ASSERT_TRUE(opened.has_value()) << opened.error().what;
    EXPECT_TRUE(opened.value()->is_directory());
    EXPECT_TRUE(opened.value()->index().empty());
    EXPECT_EQ(read_tensor(*opened.value(), "w"), (std::vector<std::uint16_t>{7, 8, 9}));
}

TEST(Checkpoint, RefusesAnIndexThatDisagreesWithTheFiles) {
    TestFolder folder;
    const fs::path index = folder / "model.safetensors.index.json";
    const auto with_map = [&](std::string_view entries) {
        write_sharded(folder.path(), fmt::format("{{\"weight_map\":{{{}}}}}", entries));
        return refusal(folder.path());
    };
    const std::string one = R"("b":"one.safetensors")";
    const std::string both = one + R"(,"a":"two.safetensors","c":"two.safetensors")";
    EXPECT_EQ(with_map(both).line, "accepted");

    const Refusal missing = with_map(one + R"(,"x":"three.safetensors")");
    EXPECT_EQ(missing.code, ErrorCode::not_found);
    EXPECT_NE(missing.line.find("three.safetensors: "), std::string::npos) << missing.line;

    for (const std::string& wrong : {both + R"(,"d":"two.safetensors")",
                                     one + R"(,"a":"one.safetensors","c":"two.safetensors")"}) {
        const Refusal refused = with_map(wrong);
        EXPECT_EQ(refused.code, ErrorCode::invalid_input);
        EXPECT_TRUE(refused.line.starts_with(index.string())) << refused.line;
        EXPECT_NE(refused.line.find("does not hold it"), std::string::npos) << refused.line;
    }
    EXPECT_NE(with_map(R"("b":"../one.safetensors")").line.find("plain name"), std::string::npos);
    EXPECT_NE(with_map(both + "," + one).line.find("twice"), std::string::npos);

    with_map(both);
    write_text_file(folder / "two.safetensors", small_safetensors("b", 0, 1));
    EXPECT_NE(refusal(folder.path()).line.find("two files"), std::string::npos);
}

TEST(Checkpoint, RefusesEveryHostileFileOfTheFieldByName) {
    if (!fs::exists(kCases)) GTEST_SKIP() << kCases << " is not here";
    TestFolder folder;
    std::size_t refused = 0;
    for (const auto& entry : fs::directory_iterator(kCases / "c07")) {
        const Refusal alone = refusal(entry.path());
        fs::create_directories(folder / "shard");
        fs::copy_file(entry.path(), folder / "shard/model.safetensors",
                      fs::copy_options::overwrite_existing);
        const Refusal in_directory = refusal(folder / "shard");
        if (entry.path().stem() == "good") {
            EXPECT_EQ(alone.line, "accepted");
            EXPECT_EQ(in_directory.line, "accepted");
            continue;
        }
        ++refused;
        EXPECT_EQ(alone.code, ErrorCode::invalid_input) << entry.path() << alone.line;
        EXPECT_TRUE(alone.line.starts_with(entry.path().string() + ": ")) << alone.line;
        EXPECT_EQ(in_directory.code, ErrorCode::invalid_input);
        EXPECT_TRUE(in_directory.line.starts_with((folder / "shard/model.safetensors: ").string()))
            << in_directory.line;
    }
    EXPECT_EQ(refused, 21u);
}

TEST(Checkpoint, RefusesEveryTruncationAndEveryAddedByte) {
    TestFolder folder;
    const std::string file = small_safetensors("w", 1, 4);
    write_text_file(folder / "cut.safetensors", file);
    EXPECT_EQ(refusal(folder / "cut.safetensors").line, "accepted");
    for (std::size_t keep = file.size(); keep-- > 0;) {
        fs::resize_file(folder / "cut.safetensors", keep);
        EXPECT_EQ(refusal(folder / "cut.safetensors").code, ErrorCode::invalid_input) << keep;
    }
    write_text_file(folder / "long.safetensors", file + "x");
    expect_refused(folder / "long.safetensors", ErrorCode::invalid_input,
                   "1 bytes after the last tensor");
}

TEST(Checkpoint, NamesForeignFormatsAndTheWayToSafetensors) {
    TestFolder folder;
    for (const char* name : {"pytorch_model.bin", "x.pt", "x.pth", "x.ckpt", "__0_0.distcp"}) {
        write_text_file(folder / "sub" / name, "whatever");
        expect_refused(folder / "sub" / name, ErrorCode::unsupported, "safetensors");
        expect_refused(folder / "sub", ErrorCode::unsupported, "safetensors");
        fs::remove(folder / "sub" / name);
    }
    for (const char* address : {"s3://bucket/model", "hf://org/model", "gs://b/m", "https://x/y"})
        expect_refused(address, ErrorCode::unsupported, "safetensors");
    expect_refused(folder / "sub", ErrorCode::not_found, "model.safetensors.index.json");
    expect_refused(folder / "none.safetensors", ErrorCode::not_found, "no such file");
    expect_refused(folder / "sub/model.safetensors", ErrorCode::not_found, "no such file");
    expect_refused("/dev/null", ErrorCode::invalid_input, "not a regular file");
}

TEST(Checkpoint, ListsOtherDtypesAndReadsWordsAtOddOffsets) {
    if (!fs::exists(kCases)) GTEST_SKIP() << kCases << " is not here";
    for (const char* mod : {"mod0", "mod1", "mod3"}) {
        const fs::path path = kCases / "c05" / (std::string(mod) + "_base.safetensors");
        const auto opened = Checkpoint::open(path);
        ASSERT_TRUE(opened.has_value()) << opened.error().what;
        const Checkpoint& checkpoint = *opened.value();
        EXPECT_EQ(checkpoint.other_tensors(),
                  (std::vector<std::string>{"e4m3", "e5m2", "f32", "f64", "flag", "i32", "i64",
                                            "i8", "u8"}));
        ASSERT_EQ(checkpoint.catalog().tensors().size(), 2u);
        const std::string bytes = read_text_file(path);
        for (const FileTensor& tensor : checkpoint.files()[0].tensors) {
            if (tensor.name != "bf16" && tensor.name != "f16") continue;
            const std::size_t at = checkpoint.files()[0].header.size() + tensor.begin;
            const auto words = read_tensor(checkpoint, tensor.name);
            EXPECT_EQ(as_text(std::as_bytes(std::span(words))),
                      bytes.substr(at, tensor.end - tensor.begin));
        }
    }
}

TEST(Checkpoint, AddressesWordsPast32Bits) {
    TestFolder folder;
    constexpr std::uint64_t kRows = 262144, kColumns = 8960, kWords = kRows * kColumns;
    const fs::path path = folder / "big.safetensors";
    const std::string header = safetensors_header(fmt::format(
        "{{{}}}",
        tensor_entry("w", "BF16", fmt::format("[{},{}]", kRows, kColumns), 0, 2 * kWords)));
    write_text_file(path, header);
    fs::resize_file(path, header.size() + 2 * kWords);  // sparse: a few KiB on disk
    const std::uint64_t places[] = {0, (1u << 31) - 1, 1u << 31, (1u << 31) + 1, kWords - 1};
    {
        std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
        for (const std::uint64_t place : places) {
            file.seekp(static_cast<std::streamoff>(header.size() + 2 * place));
            file.write("\x80\x3F", 2);
        }
        ASSERT_TRUE(file.good());
    }
    const auto opened = Checkpoint::open(path);
    ASSERT_TRUE(opened.has_value()) << opened.error().what;
    EXPECT_EQ(opened.value()->catalog().words(), Words{2'348'810'240});
    for (const std::uint64_t place : places) {
        std::uint16_t word = 0;
        opened.value()->read(0, place, std::span(&word, 1));
        EXPECT_EQ(word, 0x3F80) << place;
    }
    std::uint16_t word = 1;
    opened.value()->read(0, (1u << 31) + 2, std::span(&word, 1));
    EXPECT_EQ(word, 0);
}

TEST(CheckpointWriter, CopiesEveryFileOfTheFieldByteForByte) {
    if (!fs::exists(kCases)) GTEST_SKIP() << kCases << " is not here";
    TestFolder folder;
    std::size_t copied = 0;
    for (const char* group : {"c01", "c03", "c04", "c05", "c06", "c08", "c09", "c10"}) {
        for (const auto& entry : fs::directory_iterator(kCases / group)) {
            const auto opened = Checkpoint::open(entry.path());
            ASSERT_TRUE(opened.has_value()) << entry.path() << opened.error().what;
            const fs::path target = folder / entry.path().filename().string();
            auto writer = create_like(target, *opened.value());
            ASSERT_TRUE(writer.has_value()) << entry.path() << writer.error().what;
            copy_bytes(*opened.value(), *writer.value(), copied);
            EXPECT_EQ(read_text_file(target), read_text_file(entry.path())) << entry.path();
            ++copied;
        }
    }
    EXPECT_GE(copied, 31u);
}

TEST(CheckpointWriter, CopiesADirectoryByteForByte) {
    TestFolder folder;
    write_sharded(folder / "in", kMap);
    write_text_file(folder / "in/config.json", "{\"layers\": 2}");
    write_text_file(folder / "in/.hidden", "not a part of it");
    fs::create_directories(folder / "in/original");
    const auto opened = Checkpoint::open(folder / "in");
    ASSERT_TRUE(opened.has_value());
    ASSERT_EQ(opened.value()->other_files().size(), 1u);
    EXPECT_EQ(opened.value()->other_files()[0].name, "config.json");
    EXPECT_EQ(opened.value()->other_files()[0].bytes, 13u);
    EXPECT_EQ(opened.value()->other_folders(), std::vector<std::string>{"original"});
    for (const fs::path& target : {folder / "out", folder / "with_slash/"}) {
        auto writer = create_like(target, *opened.value());
        ASSERT_TRUE(writer.has_value()) << writer.error().what;
        EXPECT_FALSE(fs::exists(target));
        copy_bytes(*opened.value(), *writer.value(), 3);
        for (const char* name :
             {"one.safetensors", "two.safetensors", "model.safetensors.index.json", "config.json"})
            EXPECT_EQ(read_text_file(target / name), read_text_file(folder / "in" / name));
    }
    // Three folders: 4 files, a hidden one and a folder in the first, 4 files in the others.
    EXPECT_EQ(folder.names().size(), 3u + 6 + 4 + 4);
}

TEST(CheckpointWriter, KeepsAFolderOfOneFileAFolder) {
    TestFolder folder;
    write_text_file(folder / "in/model.safetensors", small_safetensors("w", 7, 3));
    const auto opened = Checkpoint::open(folder / "in");
    ASSERT_TRUE(opened.has_value());
    auto writer = create_like(folder / "out", *opened.value());
    ASSERT_TRUE(writer.has_value()) << writer.error().what;
    copy_bytes(*opened.value(), *writer.value(), 4);
    EXPECT_EQ(read_text_file(folder / "out/model.safetensors"),
              read_text_file(folder / "in/model.safetensors"));
}

TEST(Checkpoint, SaysThatAnUpdateInPlaceWasInterrupted) {
    TestFolder folder;
    write_text_file(folder / "m.safetensors.refit-applying", small_safetensors("w", 7, 3));
    expect_refused(folder / "m.safetensors", ErrorCode::invalid_input, "run it again");
    write_sharded(folder / "in", kMap);
    fs::rename(folder / "in/model.safetensors.index.json",
               folder / "in/model.safetensors.index.json.refit-applying");
    expect_refused(folder / "in", ErrorCode::invalid_input, "run it again");
}

class WriterTarget : public testing::Test {
protected:
    WriterTarget() {
        write_text_file(folder_ / "in.safetensors", small_safetensors("w", 5, 4));
        auto opened = Checkpoint::open(folder_ / "in.safetensors");
        EXPECT_TRUE(opened.has_value());
        source_ = std::move(opened).value();
    }
    Result<std::unique_ptr<CheckpointWriter>> create(const fs::path& target) {
        return create_like(target, *source_);
    }
    static Error create_error(const fs::path& target,
                              const HeaderList& headers,
                              std::string_view index) {
        const auto contents = read_contents(!index.empty(), headers, to_bytes(index), {});
        if (!contents.has_value()) return contents.error();
        const auto made = CheckpointWriter::create(target, contents.value());
        if (made.has_value()) return Error{ErrorCode::missed, "accepted"};
        EXPECT_EQ(made.error().where, target.string());
        return made.error();
    }

    TestFolder folder_;
    std::unique_ptr<Checkpoint> source_;
};

TEST_F(WriterTarget, KeepsTheOldFileUntilCommitAndLeavesNothingWithoutIt) {
    const fs::path target = folder_ / "out.safetensors";
    write_text_file(target, "old");
    const auto before = folder_.names();
    {
        auto writer = create(target);
        ASSERT_TRUE(writer.has_value());
        const std::uint16_t word = 9;
        writer.value()->write(writer.value()->tensors()[0], 0, std::as_bytes(std::span(&word, 1)));
        EXPECT_EQ(read_text_file(target), "old");
        EXPECT_EQ(folder_.names().size(), before.size() + 1);  // the hidden temporary
    }
    EXPECT_EQ(folder_.names(), before);
    EXPECT_EQ(read_text_file(target), "old");

    auto writer = create(target);
    copy_bytes(*source_, *writer.value(), 1);
    EXPECT_EQ(read_text_file(target), read_text_file(folder_ / "in.safetensors"));
    EXPECT_EQ(folder_.names(), before);
}

TEST_F(WriterTarget, RefusesTargetsThatAreInTheWay) {
    fs::create_directories(folder_ / "taken");
    fs::create_symlink("nowhere", folder_ / "dangling");
    const auto before = folder_.names();
    for (const fs::path& bad : {folder_ / "taken", folder_ / "slash/", fs::path("/dev/null"),
                                folder_ / "dangling", fs::path(".")}) {
        const auto made = create(bad);
        ASSERT_FALSE(made.has_value()) << bad;
        EXPECT_EQ(made.error().code, ErrorCode::invalid_input);
        EXPECT_EQ(made.error().where, bad.string());
    }
    EXPECT_EQ(create(folder_ / "none/x.safetensors").error().code, ErrorCode::not_found);

    const HeaderList headers = headers_of(*source_);
    constexpr std::string_view kIndex = R"({"weight_map":{"w":"in.safetensors"}})";
    for (const char* taken : {"taken", "in.safetensors", "dangling"})
        EXPECT_EQ(create_error(folder_ / taken, headers, kIndex).code, ErrorCode::invalid_input);
    EXPECT_EQ(folder_.names(), before);
}

TEST_F(WriterTarget, RefusesHeadersAndIndexesThatDisagree) {
    const fs::path out = folder_ / "out";
    const auto before = folder_.names();
    const ByteVector good = source_->files()[0].header;
    const auto header = [](std::string_view json) { return to_bytes(safetensors_header(json)); };
    EXPECT_EQ(create_error(out, {}, "").code, ErrorCode::invalid_input);
    EXPECT_EQ(create_error(out, {{"a", good}, {"b", good}}, "").code, ErrorCode::invalid_input);
    EXPECT_EQ(create_error(out, {{"x", to_bytes("{}")}}, "").code, ErrorCode::invalid_input);
    constexpr std::string_view kIndex = R"({"weight_map":{"w":"a.safetensors"}})";
    const ByteVector empty = header("{}");
    EXPECT_EQ(create_error(out, {{"../a.safetensors", good}}, kIndex).code,
              ErrorCode::invalid_input);
    EXPECT_EQ(create_error(out, {{"model.safetensors.index.json", good}}, kIndex).code,
              ErrorCode::invalid_input);
    EXPECT_EQ(create_error(out, {{"b.safetensors", good}}, kIndex).code, ErrorCode::invalid_input);
    EXPECT_EQ(create_error(out, {{"a.safetensors", good}, {"b.safetensors", empty}}, kIndex).code,
              ErrorCode::invalid_input);  // the index does not know b
    EXPECT_EQ(create_error(out, {{"a.safetensors", good}, {"a.safetensors", empty}}, kIndex).code,
              ErrorCode::invalid_input);
    EXPECT_EQ(create_error(out, {{"a.safetensors", good}}, kIndex).what, "accepted");
    const HeaderList one{{"model.safetensors", good}};
    EXPECT_TRUE(read_contents(true, one, {}, {{"config.json", 3}}).has_value());
    EXPECT_FALSE(read_contents(false, one, {}, {{"config.json", 3}}).has_value());
    EXPECT_FALSE(read_contents(true, {{"a.safetensors", good}}, {}, {}).has_value());
    for (const char* name :
         {"", "a/b", "..", ".bashrc", "model.safetensors", "model.safetensors.index.json", "a\\b"})
        EXPECT_FALSE(read_contents(true, one, {}, {{name, 3}}).has_value()) << name;
    EXPECT_EQ(folder_.names(), before);
}

TEST(CheckpointWriter, FullDiskShowsBeforeAnyWorkAndLeavesNothing) {
    TestFolder folder;
    if (!folder.shrink_to(64 << 10)) GTEST_SKIP() << "mounting a tiny file system needs root";
    constexpr std::uint64_t kWords = 1 << 20;
    const std::string header = safetensors_header(fmt::format(
        "{{{}}}", tensor_entry("w", "BF16", fmt::format("[{}]", kWords), 0, 2 * kWords)));
    for (const std::string_view index : {"", R"({"weight_map":{"w":"a.safetensors"}})"}) {
        try {
            const auto contents = read_contents(
                !index.empty(), {{"a.safetensors", to_bytes(header)}}, to_bytes(index), {});
            (void)CheckpointWriter::create(folder / "out", contents.value());
            FAIL() << "2 MiB went into 64 KiB";
        } catch (const MachineError& error) {
            const std::string what = error.what();
            EXPECT_NE(what.find("No space left on device"), what.npos) << what;
            EXPECT_NE(what.find(folder.path().string()), what.npos) << what;
        }
        EXPECT_TRUE(folder.names().empty());
    }
}

}  // namespace
}  // namespace refit
