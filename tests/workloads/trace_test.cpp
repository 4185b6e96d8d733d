// What must hold for step sources over files: versions come back bit for bit, and a delta from
// another version, in another order or damaged is refused by name.
#include "workloads/trace.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "engine/base/rng.hpp"
#include "engine/store/file_io.hpp"
#include "tests/engine/codec_fixture.hpp"
#include "tests/support/files.hpp"
#include "workloads/checkpoint.hpp"
#include "workloads/decode_checkpoint.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

const fs::path kShared = fs::path(REFIT_SOURCE_DIR) / "../shared";
const fs::path kShipped = fs::path(REFIT_SOURCE_DIR) / "workloads/traces/dense";

std::string trace_toml(std::string_view base, std::string_view deltas) {
    return fmt::format(
        "name = \"a trace\"\nlicence = \"none yet\"\norigin = \"a test\"\nbase = \"{}\"\n"
        "deltas = [{}]\n",
        base, deltas);
}

/// Writes the delta from one checkpoint to the next.
void write_delta(Device& device, const fs::path& from, const fs::path& to, const fs::path& rfd) {
    const auto base = Checkpoint::open(from);
    const auto next = Checkpoint::open(to);
    ASSERT_TRUE(base.has_value() && next.has_value());
    const Catalog& catalog = base.value()->catalog();
    const test::Sample sample{catalog, all_words(catalog, *base.value()),
                              all_words(catalog, *next.value())};
    test::DeltaOptions options;
    options.unit_words = std::uint64_t{1} << 20;
    options.chunk_bytes = 1024;
    options.chunks_per_part = 16;
    write_text_file(rfd, as_text(test::encode_rfd(device, sample, options)));
}

/// Three versions of two tensors, and the deltas between them.
class SmallTrace : public testing::Test {
protected:
    SmallTrace() {
        Rng rng(11, 1);
        std::string data(2 * 330, '\0');
        for (char& byte : data) byte = static_cast<char>(rng.next());
        for (int version = 0; version < 3; ++version) {
            const std::string header = safetensors_header(
                fmt::format(R"({{"__metadata__":{{"step":"{}"}},{},{}}})", version,
                            tensor_entry("z.weight", "BF16", "[3,100]", 0, 600),
                            tensor_entry("a.weight", "F16", "[30]", 600, 660)));
            write_text_file(path(version), header + data);
            for (int change = 0; change < 9; ++change) data[rng.below(data.size())] ^= 0x55;
        }
        write_delta(*device_, path(0), path(1), folder_ / "d01.rfd");
        write_delta(*device_, path(1), path(2), folder_ / "d12.rfd");
    }

    fs::path path(int version) const { return folder_ / fmt::format("v{}.safetensors", version); }
    std::vector<std::uint16_t> words(int version) const {
        const auto opened = Checkpoint::open(path(version));
        return all_words(opened.value()->catalog(), *opened.value());
    }
    Result<std::unique_ptr<StepSource>> open(std::string_view toml) {
        write_text_file(folder_ / "trace.toml", toml);
        return open_trace(folder_ / "trace.toml", *device_);
    }
    Error error(std::string_view toml) {
        const auto opened = open(toml);
        return opened.has_value() ? Error{ErrorCode::missed, "accepted"} : opened.error();
    }

    TestFolder folder_;
    std::unique_ptr<Device> device_ = make_cpu_device(2);
};

TEST_F(SmallTrace, RebuildsEveryVersionBitForBit) {
    const auto opened = open(trace_toml("v0.safetensors", R"("d01.rfd", "d12.rfd")"));
    ASSERT_TRUE(opened.has_value()) << opened.error().where << opened.error().what;
    const StepSource& source = *opened.value();
    EXPECT_EQ(source.name(), "a trace");
    ASSERT_EQ(source.versions(), 3u);
    for (int v = 0; v < 3; ++v) {
        EXPECT_EQ(all_words(source.catalog(), source.version(static_cast<std::uint64_t>(v))),
                  words(v));
    }
    EXPECT_NE(words(0), words(1));
    EXPECT_NE(words(1), words(2));
}

TEST_F(SmallTrace, MayHoldTheBaseAlone) {
    const auto opened = open(trace_toml("v2.safetensors", ""));
    ASSERT_TRUE(opened.has_value()) << opened.error().what;
    EXPECT_EQ(opened.value()->versions(), 1u);
    EXPECT_EQ(all_words(opened.value()->catalog(), opened.value()->version(0)), words(2));
}

TEST_F(SmallTrace, RefusesAnotherOrderAGapAndAnotherBase) {
    for (const auto& [base, deltas, blamed] :
         std::vector<std::tuple<const char*, const char*, const char*>>{
             {"v0.safetensors", R"("d12.rfd", "d01.rfd")", "d12.rfd"},
             {"v0.safetensors", R"("d12.rfd")", "d12.rfd"},
             {"v1.safetensors", R"("d01.rfd")", "d01.rfd"},
             {"v0.safetensors", R"("d01.rfd", "d01.rfd")", "d01.rfd"}}) {
        const Error refused = error(trace_toml(base, deltas));
        EXPECT_EQ(refused.code, ErrorCode::wrong_base) << refused.what;
        EXPECT_EQ(refused.where, (folder_ / blamed).string());
        EXPECT_NE(refused.what.find("the delta is from version"), std::string::npos)
            << refused.what;  // before any tile is decoded
    }
}

TEST_F(SmallTrace, NoticesAWordThatNoDeltaTouches) {
    const auto untouched = [&] {
        for (std::size_t i = 0;; ++i)
            if (words(0)[i] == words(1)[i] && words(1)[i] == words(2)[i]) return i;
    }();
    std::string file = read_text_file(path(0));
    // Canonical order is a.weight, z.weight; the file has z.weight first.
    const std::size_t in_file = untouched < 30 ? 300 + untouched : untouched - 30;
    file[file.size() - 660 + 2 * in_file] ^= 0x10;
    write_text_file(folder_ / "drift.safetensors", file);
    const Error refused = error(trace_toml("drift.safetensors", R"("d01.rfd")"));
    EXPECT_EQ(refused.code, ErrorCode::wrong_base) << refused.what;
}

TEST_F(SmallTrace, RefusesADeltaForOtherTensors) {
    write_text_file(folder_ / "other.safetensors", small_safetensors("w", 1, 4));
    const Error refused = error(trace_toml("other.safetensors", R"("d01.rfd")"));
    EXPECT_EQ(refused.code, ErrorCode::wrong_base) << refused.what;
}

TEST_F(SmallTrace, RefusesEveryDamagedByteOfADelta) {
    const std::string good = read_text_file(folder_ / "d01.rfd");
    const std::string toml = trace_toml("v0.safetensors", R"("bad.rfd")");
    write_text_file(folder_ / "bad.rfd", good);
    write_text_file(folder_ / "trace.toml", toml);
    File file(folder_ / "bad.rfd", O_WRONLY);
    for (std::size_t at = 0; at < good.size(); ++at) {
        const auto good_byte = static_cast<std::byte>(good[at]);
        const std::byte bad_byte = good_byte ^ std::byte{0x04};
        file.write_at(at, std::span(&bad_byte, 1));
        EXPECT_FALSE(open_trace(folder_ / "trace.toml", *device_).has_value())
            << "byte " << at << " of " << good.size();
        file.write_at(at, std::span(&good_byte, 1));
    }
    EXPECT_TRUE(open_trace(folder_ / "trace.toml", *device_).has_value());
}

TEST_F(SmallTrace, RefusesADeltaWhoseSealPromisesAnotherVersion) {
    const auto base = Checkpoint::open(path(0));
    const Catalog& catalog = base.value()->catalog();
    const test::Sample sample{catalog, words(0), words(1)};
    const test::DeltaOptions options;
    ByteVector file;
    const OpenRecord open = test::open_for(*device_, sample, options);
    RfdWriter writer([&](ByteSpan bytes) { file.insert(file.end(), bytes.begin(), bytes.end()); },
                     catalog, open);
    PartBuilder builder(open, options.chunks_per_part);
    std::uint64_t changed = 0;
    for (const EncodedUnit& unit : test::encode_units(*device_, sample, options)) {
        changed += unit.changed_words;
        if (const auto part = builder.add(unit.bytes)) writer.write(*part);
    }
    if (const auto part = builder.flush()) writer.write(*part);
    writer.finish({}, builder.parts(), changed, sha256(as_byte_span("a lie")));
    write_text_file(folder_ / "lie.rfd", as_text(file));
    const Error refused = error(trace_toml("v0.safetensors", R"("lie.rfd")"));
    EXPECT_EQ(refused.code, ErrorCode::corrupt) << refused.what;
    EXPECT_NE(refused.what.find("seal"), std::string::npos) << refused.what;
}

TEST_F(SmallTrace, RefusesBadTraceFilesInOneLine) {
    const std::string good = trace_toml("v0.safetensors", R"("d01.rfd")");
    const fs::path file = folder_ / "trace.toml";
    const auto expect = [&](const std::string& toml, std::string_view reason) {
        const Error refused = error(toml);
        EXPECT_EQ(refused.code, ErrorCode::invalid_input) << toml;
        EXPECT_EQ(refused.where, file.string());
        EXPECT_NE(refused.what.find(reason), std::string::npos) << refused.what;
        EXPECT_EQ(refused.what.find('\n'), std::string::npos) << refused.what;
    };
    expect(good + "extra = 1\n", "unknown key 'extra'");
    expect(good + "name = \"twice\"\n", "line 6");
    expect(good + "deltas", "line 6");
    expect("\xFF\xFE", "line 1");
    for (const char* key : {"name", "licence", "origin", "base", "deltas"}) {
        std::string without;
        std::istringstream lines(good);
        for (std::string line; std::getline(lines, line);)
            if (!line.starts_with(key)) without += line + "\n";
        expect(without, std::string(key) + " must be");
        expect(without + key + " = 3\n", std::string(key) + " must be");
    }
    expect(trace_toml("v0.safetensors", "1"), "deltas must be");
    expect(trace_toml("", ""), "base must be");
    expect(std::string((1 << 20) + 1, '#'), "limit");

    fs::remove(file);
    const auto missing = open_trace(file, *device_);
    EXPECT_EQ(missing.error().code, ErrorCode::not_found);
    EXPECT_EQ(missing.error().where, file.string());
    EXPECT_EQ(open_trace(folder_.path(), *device_).error().code, ErrorCode::invalid_input);
}

TEST_F(SmallTrace, NamesTheMissingFile) {
    const Error no_base = error(trace_toml("v9.safetensors", ""));
    EXPECT_EQ(no_base.code, ErrorCode::not_found);
    EXPECT_EQ(no_base.where, (folder_ / "v9.safetensors").string());
    const Error no_delta = error(trace_toml("v0.safetensors", R"("d99.rfd")"));
    EXPECT_EQ(no_delta.code, ErrorCode::not_found) << no_delta.what;
    EXPECT_EQ(no_delta.where, (folder_ / "d99.rfd").string());
}

TEST_F(SmallTrace, CheckpointsAloneAreVersionsToo) {
    const auto opened = open_checkpoints({path(0), path(1), path(2)});
    ASSERT_TRUE(opened.has_value()) << opened.error().what;
    EXPECT_EQ(opened.value()->name(), "v0.safetensors");
    ASSERT_EQ(opened.value()->versions(), 3u);
    for (int v = 0; v < 3; ++v) {
        EXPECT_EQ(all_words(opened.value()->catalog(),
                            opened.value()->version(static_cast<std::uint64_t>(v))),
                  words(v));
    }
}

TEST(OpenCheckpoints, NamesTheFirstTensorThatDiffers) {
    TestFolder folder;
    const auto write = [&](const char* name, const std::vector<std::string>& entries,
                           std::size_t bytes) {
        write_text_file(folder / name,
                        safetensors_header(fmt::format("{{{}}}", fmt::join(entries, ","))) +
                            std::string(bytes, '\0'));
        return folder / name;
    };
    const std::string a = tensor_entry("a", "BF16", "[2]", 0, 4);
    const std::string b = tensor_entry("b", "BF16", "[2,3]", 4, 16);
    const fs::path first = write("first.safetensors", {a, b}, 16);
    const auto difference = [&](const fs::path& other) {
        const auto opened = open_checkpoints({first, first, other});
        if (opened.has_value()) return std::string("accepted");
        EXPECT_EQ(opened.error().code, ErrorCode::invalid_input);
        EXPECT_EQ(opened.error().where, other.string());
        EXPECT_NE(opened.error().what.find(first.string()), std::string::npos);
        return opened.error().what;
    };
    EXPECT_EQ(difference(write("same.safetensors", {b, a}, 16)), "accepted");
    EXPECT_TRUE(difference(write("less.safetensors", {a}, 4)).find("lacks tensor 'b'") !=
                std::string::npos);
    const std::string c = tensor_entry("aa", "BF16", "[1]", 16, 18);
    EXPECT_TRUE(
        difference(write("more.safetensors", {a, b, c}, 18)).find("has tensor 'aa', which") !=
        std::string::npos);
    const std::string turned = tensor_entry("b", "BF16", "[3,2]", 4, 16);
    EXPECT_TRUE(difference(write("shape.safetensors", {a, turned}, 16))
                    .find("'b' as BF16 [3,2], it is BF16 [2,3]") != std::string::npos);
    const std::string half = tensor_entry("a", "F16", "[2]", 0, 4);
    EXPECT_TRUE(difference(write("type.safetensors", {half, turned}, 16))
                    .find("'a' as F16 [2], it is BF16 [2]") != std::string::npos);
}

TEST(OpenCheckpoints, RefusesTensorsThatAreNotWordsByName) {
    const TestFolder folder;
    const std::string word = tensor_entry("a", "BF16", "[2]", 0, 4);
    const std::string single = tensor_entry("router.bias", "F32", "[1]", 4, 8);
    const fs::path file = folder / "mixed.safetensors";
    write_text_file(
        file, safetensors_header(fmt::format("{{{},{}}}", word, single)) + std::string(8, '\0'));
    const auto opened = open_checkpoints({file, file});
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().code, ErrorCode::unsupported);
    EXPECT_EQ(opened.error().where, file.string());
    EXPECT_NE(opened.error().what.find("'router.bias'"), std::string::npos);
}

TEST(OpenCheckpoints, AskingForAVersionThatIsNotThereIsABug) {
    TestFolder folder;
    write_text_file(folder / "one.safetensors", small_safetensors("w", 1, 4));
    const auto opened = open_checkpoints({folder / "one.safetensors"});
    ASSERT_TRUE(opened.has_value());
    EXPECT_DEATH((void)opened.value()->version(1), "broken invariant");
    EXPECT_DEATH((void)open_checkpoints({}), "broken invariant");
}

/// The three versions of the real trace, through a trace built here from the plain files.
TEST(RealTrace, RebuildsTheVersionsItWasMadeFrom) {
    const fs::path dense = kShared / "traces/dense";
    if (!fs::exists(dense)) GTEST_SKIP() << dense << " is not here";
    TestFolder folder;
    const auto device = make_cpu_device();
    const auto version = [&](const char* v) { return dense / v / "model.safetensors"; };
    write_delta(*device, version("v0"), version("v1"), folder / "v1.rfd");
    write_delta(*device, version("v1"), version("v2"), folder / "v2.rfd");
    fs::create_directories(folder / "v0");
    fs::copy_file(version("v0"), folder / "v0/model.safetensors");
    write_text_file(folder / "trace.toml", trace_toml("v0", R"("v1.rfd", "v2.rfd")"));

    const auto rebuilt = open_trace(folder / "trace.toml", *device);
    ASSERT_TRUE(rebuilt.has_value()) << rebuilt.error().where << rebuilt.error().what;
    const auto files = open_checkpoints({dense / "v0", dense / "v1", dense / "v2"});
    ASSERT_TRUE(files.has_value()) << files.error().what;
    EXPECT_EQ(files.value()->name(), "v0");
    EXPECT_EQ(rebuilt.value()->catalog().id(), files.value()->catalog().id());
    EXPECT_EQ(rebuilt.value()->catalog().words(), Words{4'574'272});
    ASSERT_EQ(rebuilt.value()->versions(), 3u);
    for (std::uint64_t v = 0; v < 3; ++v) {
        EXPECT_TRUE(all_words(rebuilt.value()->catalog(), rebuilt.value()->version(v)) ==
                    all_words(files.value()->catalog(), files.value()->version(v)))
            << "version " << v;
    }
}

/// SHA-256 over header bytes and words put back in file order: what README.md of the trace states.
std::string file_hash(const CheckpointFile& file, const StepSource& source, std::uint64_t version) {
    Sha256 hash;
    hash.update(file.header);
    for (const FileTensor& tensor : file.tensors) {
        const std::uint32_t id = source.catalog().find(tensor.name).value();
        std::vector<std::uint16_t> words(source.catalog().tensor(id).words);
        source.version(version).read(id, 0, words);
        hash.update(std::as_bytes(std::span(words)));
    }
    return to_hex(hash.finish());
}

TEST(ShippedTrace, RebuildsTheFilesWhoseHashesItsReadmeStates) {
    const auto device = make_cpu_device();
    const auto opened = open_trace(kShipped / "long.toml", *device);
    ASSERT_TRUE(opened.has_value()) << opened.error().where << opened.error().what;
    ASSERT_EQ(opened.value()->versions(), 17u);
    const auto base = Checkpoint::open(kShipped / "v0");
    ASSERT_TRUE(base.has_value()) << base.error().what;
    CheckpointFile file = base.value()->files()[0];
    const std::string readme = read_text_file(kShipped / "README.md");
    EXPECT_NE(readme.find(file_hash(file, *opened.value(), 0)), std::string::npos);
    for (const std::uint64_t v : {1u, 2u, 16u}) {
        const auto delta = RfdReader::open(kShipped / fmt::format("v{}.rfd", v));
        ASSERT_TRUE(delta.has_value());
        ASSERT_FALSE(delta.value().attachments().empty());
        const auto& attachments = delta.value().attachments();
        const bool found = std::ranges::any_of(attachments, [&](const Attachment& attachment) {
            file.header = attachment.bytes;
            return readme.find(file_hash(file, *opened.value(), v)) != std::string::npos;
        });
        EXPECT_TRUE(found) << "version " << v;
    }
}

TEST(ShippedTrace, IsTheSameWithItsFirstStepsAlone) {
    const auto device = make_cpu_device();
    const auto few = open_trace(kShipped / "trace.toml", *device);
    const auto many = open_trace(kShipped / "long.toml", *device);
    ASSERT_TRUE(few.has_value() && many.has_value());
    ASSERT_EQ(few.value()->versions(), 3u);
    const Catalog& catalog = few.value()->catalog();
    const Grid grid(catalog);
    const DeltaContext context{catalog, grid, 1};
    for (std::uint64_t v = 0; v < 3; ++v) {
        EXPECT_EQ(read_version(*device, context, few.value()->version(v), [](Bytes) {}),
                  read_version(*device, context, many.value()->version(v), [](Bytes) {}));
    }
}

TEST(ShippedTrace, IsSmall) {
    std::uintmax_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(kShipped))
        if (entry.is_regular_file()) bytes += entry.file_size();
    EXPECT_GT(bytes, 9'000'000u);
    EXPECT_LE(bytes, std::uintmax_t{12} << 20);
}

}  // namespace
}  // namespace refit
