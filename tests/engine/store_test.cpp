// What must hold for object stores: the same contract for every one, then what a disk adds: whole
// or absent, checked, nothing left behind.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>
#include <thread>

#include "engine/base/rng.hpp"
#include "engine/codec/delta.hpp"
#include "engine/store/file_io.hpp"
#include "engine/store/object_store.hpp"
#include "tests/support/files.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

using MakeStore = std::function<std::unique_ptr<ObjectStore>(const fs::path&)>;

class AnyStore : public testing::TestWithParam<MakeStore> {
protected:
    TestFolder folder_;
    std::unique_ptr<ObjectStore> store_ = GetParam()(folder_ / "store");
};

INSTANTIATE_TEST_SUITE_P(Stores,
                         AnyStore,
                         testing::Values(MakeStore(make_directory_store),
                                         MakeStore([](const fs::path&) {
                                             return make_memory_store();
                                         })),
                         [](const auto& made) { return made.index == 0 ? "Directory" : "Memory"; });

/// A part under the name its bytes demand.
std::string put_part(ObjectStore& store, std::string_view text) {
    const std::string name = part_key(sha256(as_byte_span(text)));
    store.put(name, as_byte_span(text));
    return name;
}

TEST_P(AnyStore, ReturnsWhatWasPutAlsoWhenEmpty) {
    for (const std::string& text : {std::string(), std::string("one"), std::string(100'000, 'x')}) {
        const std::string name = part_key(sha256(as_byte_span(text)));
        EXPECT_FALSE(store_->has(name));
        EXPECT_EQ(store_->get(name).error().code, ErrorCode::not_found);
        EXPECT_EQ(put_part(*store_, text), name);
        EXPECT_TRUE(store_->has(name));
        EXPECT_EQ(as_text(store_->get(name).value()), text);
    }
}

TEST_P(AnyStore, PutAgainIsHarmless) {
    const std::string name = put_part(*store_, "twice");
    EXPECT_EQ(put_part(*store_, "twice"), name);
    EXPECT_EQ(as_text(store_->get(name).value()), "twice");
    EXPECT_EQ(store_->list("").size(), 1u);
}

TEST_P(AnyStore, ReadsEveryRangeAndRefusesEveryRangePastTheEnd) {
    const std::string text = "0123456789";
    const std::string name = put_part(*store_, text);
    for (std::uint64_t offset = 0; offset <= 12; ++offset) {
        for (std::uint64_t size = 0; size <= 12; ++size) {
            const auto range = store_->get_range(name, offset, size);
            ASSERT_EQ(range.has_value(), offset + size <= 10) << offset << " " << size;
            if (range.has_value()) {
                EXPECT_EQ(as_text(range.value()), text.substr(offset, size));
            } else {
                EXPECT_EQ(range.error().code, ErrorCode::not_found);
            }
        }
    }
    constexpr std::uint64_t kMost = ~std::uint64_t{0};
    EXPECT_FALSE(store_->get_range(name, kMost, 2).has_value());  // the sum wraps to 1
    EXPECT_FALSE(store_->get_range(name, 5, kMost).has_value());
    EXPECT_FALSE(store_->get_range("parts/none", 0, 0).has_value());
}

TEST_P(AnyStore, ListsByPrefixInOrder) {
    for (const char* name : {"b/2", "b/10", "a/x/deep", "b.txt", "bb/1"})
        store_->put(name, as_byte_span("x"));
    using Names = std::vector<std::string>;
    EXPECT_EQ(store_->list(""), (Names{"a/x/deep", "b.txt", "b/10", "b/2", "bb/1"}));
    EXPECT_EQ(store_->list("b/"), (Names{"b/10", "b/2"}));
    EXPECT_EQ(store_->list("b/1"), (Names{"b/10"}));
    EXPECT_EQ(store_->list("b"), (Names{"b.txt", "b/10", "b/2", "bb/1"}));
    EXPECT_EQ(store_->list("a/x"), (Names{"a/x/deep"}));
    EXPECT_EQ(store_->list("parts/"), Names{});
}

TEST_P(AnyStore, TakesManyWritersAtOnce) {
    constexpr int kNames = 20;
    std::vector<std::thread> writers;
    for (int writer = 0; writer < 4; ++writer) {
        writers.emplace_back([&] {
            for (int i = 0; i < kNames; ++i) {
                put_part(*store_, "object " + std::to_string(i));
                EXPECT_LE(store_->list("parts/").size(), std::size_t{kNames});
            }
        });
    }
    for (std::thread& writer : writers) writer.join();
    const auto names = store_->list("");
    EXPECT_EQ(names.size(), std::size_t{kNames});
    for (const std::string& name : names) EXPECT_TRUE(store_->get(name).has_value());
}

TEST(ObjectName, AllowsOnlyWhatIsSafeAsAPath) {
    for (const char* good : {"a", "parts/00ff", "a.b/c_d-e", "..a/b..", ".a"})
        EXPECT_TRUE(is_object_name(good)) << good;
    for (const char* bad : {"", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "../a", "A",
                            "a b", "a~1", "a\\b", "a\nb", "\xC3\xA4"})
        EXPECT_FALSE(is_object_name(bad)) << bad;
    EXPECT_FALSE(is_object_name(std::string_view("a\0b", 3)));
}

TEST(ObjectName, ABadOneIsABug) {
    TestFolder folder;
    const auto directory = make_directory_store(folder / "store");
    const auto memory = make_memory_store();
    EXPECT_DEATH(directory->put("../x", {}), "broken invariant");
    EXPECT_DEATH((void)directory->get("../x"), "broken invariant");
    EXPECT_DEATH((void)directory->list("../"), "broken invariant");
    EXPECT_DEATH(memory->put("../x", {}), "broken invariant");
}

TEST(ObjectName, IsMadeFromTheHash) {
    const Hash256 hash = sha256(as_byte_span("abc"));
    const std::string hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    EXPECT_EQ(part_key(hash), "parts/" + hex);
    EXPECT_EQ(manifest_key(hash), "manifests/" + hex);
}

/// Bytes rot in place.
void overwrite_file(const fs::path& path, std::string_view text) {
    File(path, O_WRONLY).write_at(0, as_byte_span(text));
}

TEST(DirectoryStore, KeepsObjectsAcrossReopenUnderTheirNames) {
    TestFolder folder;
    const fs::path root = folder / "a/b/store/";  // parents are missing, a slash at the end
    std::string name;
    {
        const auto store = make_directory_store(root);
        name = put_part(*store, "durable");
    }
    EXPECT_EQ(read_text_file(root / name), "durable");
    const auto again = make_directory_store(root);
    EXPECT_EQ(as_text(again->get(name).value()), "durable");
    EXPECT_EQ(again->list("parts/"), std::vector<std::string>{name});
}

TEST(DirectoryStore, NoticesEveryFlippedBitAndEveryCut) {
    TestFolder folder;
    const auto store = make_directory_store(folder / "store");
    const std::string text = "sixteen bytes ok";
    const std::string name = put_part(*store, text);
    const fs::path file = folder / "store" / name;
    for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
        std::string damaged = text;
        damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
        overwrite_file(file, damaged);
        const auto got = store->get(name);
        ASSERT_FALSE(got.has_value()) << "bit " << bit;
        EXPECT_EQ(got.error().code, ErrorCode::corrupt);
        EXPECT_EQ(got.error().where, file.string());
    }
    for (std::size_t keep = 0; keep < text.size(); ++keep) {
        write_text_file(file, text.substr(0, keep));
        EXPECT_EQ(store->get(name).error().code, ErrorCode::corrupt) << keep;
    }
    EXPECT_EQ(put_part(*store, text), name);  // a cut object is put anew
    EXPECT_EQ(as_text(store->get(name).value()), text);
}

/// A manifest of one unit of made-up bytes: the store checks the log, not the codec's bytes.
Manifest small_manifest() {
    Manifest manifest;
    manifest.open.codec = "full";
    manifest.open.unit_words = 64;
    manifest.open.chunk_bytes = 16;
    PartBuilder builder(manifest.open, 4);
    builder.add(as_byte_span("forty bytes that stand for a single unit"));
    builder.flush();
    manifest.parts = builder.parts();
    manifest.seal = make_seal(manifest.open, manifest.parts, 1, sha256(as_byte_span("next")));
    return manifest;
}

TEST(DirectoryStore, ChecksAManifestByItsSealedId) {
    TestFolder folder;
    const auto store = make_directory_store(folder / "store");
    const Manifest manifest = small_manifest();
    const ByteVector bytes = manifest.serialize();
    const std::string name = manifest_key(manifest.sealed_id());
    store->put(name, bytes);
    EXPECT_EQ(store->get(name).value(), bytes);

    const std::string other = manifest_key(sha256(as_byte_span("another")));
    store->put(other, bytes);
    EXPECT_EQ(store->get(other).error().code, ErrorCode::corrupt);

    for (std::size_t at = 0; at < bytes.size(); ++at) {
        ByteVector damaged = bytes;
        damaged[at] ^= std::byte{4};
        overwrite_file(folder / "store" / name, as_text(damaged));
        EXPECT_FALSE(store->get(name).has_value()) << "byte " << at;
    }
}

TEST(DirectoryStore, SecondPutWritesNothing) {
    TestFolder folder;
    const auto store = make_directory_store(folder / "store");
    const std::string name = put_part(*store, "once");
    struct stat before {
    }, after{};
    ASSERT_EQ(::stat((folder / "store" / name).c_str(), &before), 0);
    put_part(*store, "once");
    ASSERT_EQ(::stat((folder / "store" / name).c_str(), &after), 0);
    EXPECT_EQ(before.st_ino, after.st_ino);  // a rename would have brought another file
}

TEST(DirectoryStore, NeverShowsWhatACrashLeftBehind) {
    TestFolder folder;
    const auto store = make_directory_store(folder / "store");
    const std::string name = put_part(*store, "whole");
    const std::string crashed = part_key(sha256(as_byte_span("half")));
    write_text_file(folder / "store" / (crashed + "~77-0"), "ha");  // its temporary, cut short
    EXPECT_FALSE(store->has(crashed));
    EXPECT_EQ(store->get(crashed).error().code, ErrorCode::not_found);
    EXPECT_EQ(store->list(""), std::vector<std::string>{name});
    EXPECT_EQ(put_part(*store, "half"), crashed);
    EXPECT_EQ(as_text(store->get(crashed).value()), "half");
}

TEST(DirectoryStore, FullDiskIsAMachineErrorThatLeavesNothing) {
    TestFolder folder;
    if (!folder.shrink_to(64 << 10)) GTEST_SKIP() << "mounting a tiny file system needs root";
    const auto store = make_directory_store(folder / "store");
    const std::string small = put_part(*store, "fits");
    const std::string big(1 << 20, 'b');
    const std::string name = part_key(sha256(as_byte_span(big)));
    try {
        store->put(name, as_byte_span(big));
        FAIL() << "1 MiB went into 64 KiB";
    } catch (const MachineError& error) {
        const std::string what = error.what();
        EXPECT_NE(what.find(name), what.npos) << what;
        EXPECT_NE(what.find("No space left on device"), what.npos) << what;
    }
    EXPECT_FALSE(store->has(name));
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"store", "store/parts", "store/" + small}));
    EXPECT_EQ(as_text(store->get(small).value()), "fits");
}

TEST(DirectoryStore, RootThatIsAFileIsAMachineErrorNamingIt) {
    TestFolder folder;
    write_text_file(folder / "file", "x");
    try {
        (void)make_directory_store(folder / "file");
        FAIL() << "a file was taken for a folder";
    } catch (const MachineError& error) {
        EXPECT_NE(std::string(error.what()).find((folder / "file").string()), std::string::npos);
    }
}

}  // namespace
}  // namespace refit
