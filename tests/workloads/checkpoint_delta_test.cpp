// Whole checkpoints through an .rfd file: tensors of any dtype that come, go, grow and change type,
// shards that move, other files; beside the base and in its place. Every file equals byte for byte.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "engine/base/rng.hpp"
#include "engine/codec/zstd_frame.hpp"
#include "tests/support/files.hpp"
#include "workloads/apply_in_place.hpp"
#include "workloads/delta_contents.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

struct TestTensor {
    std::string dtype;
    std::vector<std::uint64_t> shape;
    std::string bytes;
};
using Tensors = std::map<std::string, TestTensor>;

const std::map<std::string, std::uint64_t> kBits{{"BF16", 16}, {"F16", 16},    {"F32", 32},
                                                 {"I64", 64},  {"F8_E4M3", 8}, {"F4", 4},
                                                 {"U8", 8},    {"C64", 64}};

std::string random_text(Rng& rng, std::uint64_t bytes) {
    std::string text(bytes, '\0');
    for (char& c : text) c = static_cast<char>(rng.below(256));
    return text;
}

TestTensor random_tensor(Rng& rng) {
    auto type = kBits.begin();
    std::advance(type, static_cast<std::ptrdiff_t>(rng.below(kBits.size())));
    TestTensor tensor{rng.chance(500'000) ? "BF16" : type->first, {}, {}};
    std::uint64_t elements = 1;
    for (std::uint64_t rank = rng.below(4); rank > 0; --rank) {
        tensor.shape.push_back(rng.chance(50'000) ? 0 : 1 + rng.below(24));
        elements *= tensor.shape.back();
    }
    if (elements % 2 != 0) {  // half-byte types need an even number
        tensor.shape.push_back(2);
        elements *= 2;
    }
    tensor.bytes = random_text(rng, elements * kBits.at(tensor.dtype) / 8);
    return tensor;
}

Tensors random_tensors(Rng& rng) {
    Tensors tensors;
    for (std::uint64_t n = rng.below(12); n > 0; --n)
        tensors["layers." + std::to_string(rng.below(5)) + "." + std::to_string(n) + ".weight"] =
            random_tensor(rng);
    return tensors;
}

/// Some bytes change, some tensors go, come, or become others.
Tensors next_of(Rng& rng, const Tensors& base) {
    Tensors next;
    for (const auto& [name, tensor] : base) {
        if (rng.chance(100'000)) continue;
        TestTensor changed = rng.chance(100'000) ? random_tensor(rng) : tensor;
        for (char& c : changed.bytes)
            if (rng.chance(20'000)) c = static_cast<char>(c ^ (1 << rng.below(8)));
        next[name] = std::move(changed);
    }
    for (std::uint64_t n = rng.below(3); n > 0; --n)
        next["new." + std::to_string(n)] = random_tensor(rng);
    return next;
}

std::string file_of(const Tensors& tensors, std::string_view padding) {
    std::string entries;
    std::string data;
    for (const auto& [name, tensor] : tensors) {
        entries +=
            (entries.empty() ? "" : ",") +
            tensor_entry(name, tensor.dtype, fmt::format("[{}]", fmt::join(tensor.shape, ",")),
                         data.size(), data.size() + tensor.bytes.size());
        data += tensor.bytes;
    }
    return safetensors_header(fmt::format("{{{}{}}}", entries, padding)) + data;
}

/// A folder of up to `shards` shards, an index, and perhaps other files.
void write_folder(Rng& rng, const fs::path& folder, const Tensors& tensors, std::uint64_t shards) {
    std::map<std::string, Tensors> files;
    std::string map;
    for (const auto& [name, tensor] : tensors) {
        const std::string file = "part-" + std::to_string(rng.below(shards)) + ".safetensors";
        files[file][name] = tensor;
        map += fmt::format("{}\"{}\":\"{}\"", map.empty() ? "" : ",", name, file);
    }
    fs::create_directories(folder);
    for (const auto& [file, held] : files) write_text_file(folder / file, file_of(held, ""));
    write_text_file(folder / "model.safetensors.index.json",
                    fmt::format("{{\"weight_map\":{{{}}}}}", map));
    for (const char* other : {"config.json", "tokenizer.model"})
        if (rng.chance(700'000))
            write_text_file(folder / other, random_text(rng, rng.below(4) * 5000));
}

/// Every file below a folder, or the file itself.
std::map<std::string, std::string> bytes_of(const fs::path& path) {
    std::map<std::string, std::string> files;
    if (!fs::is_directory(path)) return {{"", read_text_file(path)}};
    for (const auto& entry : fs::recursive_directory_iterator(path))
        files[entry.path().lexically_relative(path).string()] = read_text_file(entry.path());
    return files;
}

std::unique_ptr<Checkpoint> open_checked(const fs::path& path) {
    auto opened = Checkpoint::open(path);
    EXPECT_TRUE(opened.has_value()) << opened.error().where << ": " << opened.error().what;
    return std::move(opened).value();
}

ByteVector encode(const fs::path& base,
                  const fs::path& next,
                  const std::string& codec,
                  unsigned lanes) {
    const auto device = make_cpu_device(lanes);
    const auto from = open_checked(base);
    const auto to = open_checked(next);
    const auto match = match_checkpoints(*from, *to, true);
    EXPECT_TRUE(match.has_value());
    ByteVector file;
    const DeltaOutput output{
        [&](ByteSpan bytes) { file.insert(file.end(), bytes.begin(), bytes.end()); },
        [&](std::uint64_t offset, ByteSpan bytes) {
            ASSERT_LE(offset + bytes.size(), file.size());
            std::ranges::copy(bytes, file.begin() + static_cast<std::ptrdiff_t>(offset));
        }};
    CheckpointEncoder encoder(*device, *find_codec(codec).value(), *from, *to,
                              [] { return Nanoseconds{}; });
    const auto summary = encoder.encode(match.value(), output, [](Bytes) {});
    EXPECT_TRUE(summary.has_value());
    EXPECT_EQ(summary.value().file.count, file.size());
    return file;
}

Status apply_beside(const ByteVector& file, const fs::path& base, const fs::path& output) {
    const auto device = make_cpu_device(2);
    REFIT_TRY(delta, RfdReader::parse(file));
    REFIT_TRY(contents, read_delta_contents(delta));
    REFIT_TRY(from, Checkpoint::open(base));
    REFIT_TRY(decoder, CheckpointDecoder::create(*device, delta, *from, "delta"));
    REFIT_TRY(writer, CheckpointWriter::create(output, contents.contents));
    REFIT_CHECK(decoder.decode(
        [&](const Tile& tile, DecodedTile& decoded) {
            const auto next = overwrite_tile(*device, decoder.context(), decoded);
            for (const Piece& piece : tile.pieces)
                writer->write(contents.words[piece.tensor], 2 * piece.tensor_first,
                              piece_bytes(next, piece));
        },
        [&](std::size_t item, std::uint64_t first, ByteSpan next, bool) {
            if (contents.is_other(item)) {
                writer->write_other(contents.other(item), first, next);
            } else {
                writer->write(contents.opaque[item], first, next);
            }
        },
        [](Bytes) {}));
    writer->commit();
    return Done{};
}

Result<InPlaceResult> apply_in_place(const ByteVector& file, const fs::path& base) {
    const auto device = make_cpu_device(1);
    const auto disk = make_posix_disk();
    REFIT_TRY(delta, RfdReader::parse(file));
    InPlaceApply apply(*device, *disk, base, false);
    return apply.apply(delta, "delta", [](Bytes) {});
}

/// Both ways lead from base to next; `target` is a copy of base that is overwritten.
void expect_exact(const fs::path& base, const fs::path& next, const fs::path& out, std::size_t n) {
    const auto& codecs = builtin_codecs();
    const std::string codec(codecs[n % codecs.size()]->name());
    const ByteVector file = encode(base, next, codec, 1);
    EXPECT_TRUE(encode(base, next, codec, 3) == file) << codec;
    const Status beside = apply_beside(file, base, out / "beside");
    ASSERT_TRUE(beside.has_value()) << codec << ": " << beside.error().what;
    EXPECT_TRUE(bytes_of(out / "beside") == bytes_of(next)) << codec;

    const fs::path target = out / "target";
    fs::copy(base, target, fs::copy_options::recursive);
    const auto placed = apply_in_place(file, target);
    ASSERT_TRUE(placed.has_value()) << codec << ": " << placed.error().what;
    EXPECT_TRUE(placed.value().applied);
    auto expected = bytes_of(next);
    for (const auto& [name, bytes] : bytes_of(base)) {
        // Other files the new version lacks stay; an update in place removes only shards.
        if (!name.empty() && !name.ends_with(".safetensors")) expected.try_emplace(name, bytes);
    }
    EXPECT_TRUE(bytes_of(target) == expected) << codec;
    const auto again = apply_in_place(file, target);
    ASSERT_TRUE(again.has_value()) << again.error().what;
}

TEST(CheckpointDelta, SingleFilesOfAnyDtypeComeBackByteForByte) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Rng rng(seed, 1);
        const TestFolder folder;
        fs::create_directories(folder / "out");
        const Tensors base = random_tensors(rng);
        write_text_file(folder / "base.safetensors", file_of(base, ""));
        write_text_file(folder / "next.safetensors",
                        file_of(next_of(rng, base), rng.chance(300'000) ? "   " : ""));
        expect_exact(folder / "base.safetensors", folder / "next.safetensors", folder / "out",
                     seed);
    }
}

TEST(CheckpointDelta, FoldersComeBackByteForByteWithShardsThatMove) {
    for (std::uint64_t seed = 100; seed < 140; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Rng rng(seed, 1);
        const TestFolder folder;
        fs::create_directories(folder / "out");
        Tensors base = random_tensors(rng);
        base["always"] = TestTensor{"BF16", {4}, random_text(rng, 8)};
        Tensors next = rng.chance(500'000) ? base : next_of(rng, base);
        for (auto& [name, tensor] : next)
            if (!tensor.bytes.empty() && rng.chance(500'000)) tensor.bytes[0] ^= 1;
        next["always"] = TestTensor{"BF16", {4}, random_text(rng, 8)};
        Rng layout(seed, 2);
        Rng same_layout(seed, 2);
        write_folder(layout, folder / "base", base, 3);
        write_folder(rng.chance(500'000) ? same_layout : rng, folder / "next", next, 3);
        expect_exact(folder / "base", folder / "next", folder / "out", seed);
    }
}

/// Words, opaque tensors that stay, change, come and are retyped, one of them over a tile long.
std::pair<Tensors, Tensors> golden_pair() {
    Rng rng(2026, 4);
    const std::uint64_t elements = kOpaqueTileBytes / 8 + 3;
    Tensors base{{"a.weight", {"BF16", {6, 5}, random_text(rng, 60)}},
                 {"b.scale", {"F64", {elements}, std::string(8 * elements, '\1')}},
                 {"c.bias", {"F16", {7}, random_text(rng, 14)}},
                 {"d.bias", {"BF16", {4}, random_text(rng, 8)}},
                 {"e.gone", {"U8", {3}, random_text(rng, 3)}}};
    Tensors next = base;
    next["a.weight"].bytes[8] ^= 3;
    next["b.scale"].bytes[kOpaqueTileBytes + 9] ^= 1;
    next["d.bias"] = {"F32", {4}, random_text(rng, 16)};
    next["f.new"] = {"I64", {2}, random_text(rng, 16)};
    next.erase("e.gone");
    return {base, next};
}

void expect_golden(const fs::path& path, const std::string& bytes) {
    if (std::getenv("REFIT_WRITE_GOLDEN") != nullptr) write_text_file(path, bytes);
    EXPECT_TRUE(read_text_file(path) == bytes) << path;
}

TEST(CheckpointDelta, GoldenFileHoldsExactlyTheseBytes) {
    const fs::path golden = fs::path(REFIT_SOURCE_DIR) / "tests/golden/checkpoint";
    const auto [base, next] = golden_pair();
    expect_golden(golden / "base.safetensors", file_of(base, ""));
    expect_golden(golden / "next.safetensors", file_of(next, ""));
    const ByteVector file =
        encode(golden / "base.safetensors", golden / "next.safetensors", "index-value", 2);
    const TestFolder folder;
    const Status applied = apply_beside(file, golden / "base.safetensors", folder / "out");
    ASSERT_TRUE(applied.has_value()) << applied.error().what;
    EXPECT_TRUE(read_text_file(folder / "out") == file_of(next, ""));
    constexpr unsigned kGoldenZstd = 10504;
    if (zstd_library_version() != kGoldenZstd)
        GTEST_SKIP() << "zstd is not 1.5.4: the bytes of its frames are not compared";
    expect_golden(golden / "delta.rfd", std::string(as_text(file)));
}

TEST(CheckpointDelta, TensorsLongerThanATileTravelInPieces) {
    Rng rng(5, 1);
    const TestFolder folder;
    fs::create_directories(folder / "out");
    const std::uint64_t elements = kOpaqueTileBytes / 2 + 1001;
    Tensors base{{"scale", {"F32", {elements}, random_text(rng, 4 * elements)}},
                 {"w", {"BF16", {600, 1001}, random_text(rng, 2 * 600 * 1001)}}};
    Tensors next = base;
    next["scale"].bytes[kOpaqueTileBytes + 5] ^= 1;
    next["w"].bytes[700'000] ^= 1;
    write_text_file(folder / "base.safetensors", file_of(base, ""));
    write_text_file(folder / "next.safetensors", file_of(next, ""));
    expect_exact(folder / "base.safetensors", folder / "next.safetensors", folder / "out", 3);
}

TEST(CheckpointDelta, AnotherBaseIsRefusedForWordsAndForBytes) {
    Rng rng(6, 1);
    const TestFolder folder;
    const Tensors base{{"scale", {"F32", {9}, random_text(rng, 36)}},
                       {"w", {"BF16", {50}, random_text(rng, 100)}}};
    Tensors next = base;
    next["w"].bytes[3] ^= 1;
    write_text_file(folder / "base.safetensors", file_of(base, ""));
    write_text_file(folder / "next.safetensors", file_of(next, ""));
    const ByteVector file =
        encode(folder / "base.safetensors", folder / "next.safetensors", "xor-zstd", 1);
    for (const char* name : {"scale", "w"}) {
        Tensors drifted = base;
        drifted[name].bytes[35] ^= 4;
        const fs::path path = folder / "drifted.safetensors";
        write_text_file(path, file_of(drifted, ""));
        const std::string before = read_text_file(path);
        const auto names = folder.names();
        const Status beside = apply_beside(file, path, folder / "out.safetensors");
        ASSERT_FALSE(beside.has_value());
        EXPECT_EQ(beside.error().code, ErrorCode::wrong_base) << beside.error().what;
        const auto placed = apply_in_place(file, path);
        ASSERT_FALSE(placed.has_value());
        EXPECT_EQ(placed.error().code, ErrorCode::wrong_base) << placed.error().what;
        EXPECT_TRUE(read_text_file(path) == before);
        EXPECT_EQ(folder.names(), names);
    }
}

/// What a forger may say with every hash right.
struct Claims {
    OpenRecord open;
    SealRecord seal;
    std::vector<Attachment> attachments;

    Attachment& attachment(std::string_view name) {
        return *std::ranges::find(attachments, name, &Attachment::name);
    }
};

ByteVector forge(const ByteVector& file, const std::function<void(Claims&)>& change) {
    const auto delta = RfdReader::parse(file);
    const Manifest& manifest = delta.value().manifest();
    Claims claims{manifest.open, manifest.seal, delta.value().attachments()};
    change(claims);
    ByteVector forged;
    RfdWriter writer(
        [&](ByteSpan bytes) { forged.insert(forged.end(), bytes.begin(), bytes.end()); },
        delta.value().catalog(), claims.open);
    std::vector<PartRecord> parts = manifest.parts;
    for (std::size_t i = 0; i < parts.size(); ++i)
        writer.write(Part{parts[i], delta.value().read_payload(i).value()});
    writer.set_base(claims.open, parts, [&](std::uint64_t offset, ByteSpan bytes) {
        std::ranges::copy(bytes, forged.begin() + static_cast<std::ptrdiff_t>(offset));
    });
    writer.finish(claims.attachments, parts, claims.seal.changed_words, claims.seal.next_version);
    return forged;
}

/// A sound delta, and what becomes of it when a claim is changed.
class Forged : public testing::Test {
protected:
    void SetUp() override {
        Rng rng(10, 1);
        const Tensors base{{"s", {"F32", {4}, random_text(rng, 16)}},
                           {"w", {"BF16", {20}, random_text(rng, 40)}}};
        Tensors next = base;
        next["w"].bytes[3] ^= 1;
        next["s"].bytes[3] ^= 1;
        write_text_file(folder_ / "base.safetensors", file_of(base, ""));
        write_text_file(folder_ / "next.safetensors", file_of(next, ""));
        file_ = encode(folder_ / "base.safetensors", folder_ / "next.safetensors", "full", 1);
    }

    /// What the decoder says; `missed`: nothing.
    ErrorCode code(const std::function<void(Claims&)>& change) const {
        const fs::path out = folder_ / "out.safetensors";
        const Status status = apply_beside(forge(file_, change), folder_ / "base.safetensors", out);
        EXPECT_EQ(fs::exists(out), status.has_value());
        return status.has_value() ? ErrorCode::missed : status.error().code;
    }

    ErrorCode with_table(const std::function<void(OpaqueItem&)>& change) const {
        return code([&](Claims& claims) {
            Attachment& table = claims.attachment(kOpaqueTableName);
            auto items = parse_opaque(table.bytes).value();
            change(items[0]);
            table.bytes = serialize_opaque(items);
        });
    }

    ErrorCode with_header(const std::string& entries) const {
        return code([&](Claims& claims) {
            claims.attachment("file/next.safetensors").bytes =
                to_bytes(safetensors_header("{" + entries + "}"));
        });
    }

    TestFolder folder_;
    ByteVector file_;
};

TEST_F(Forged, VersionsAndAttachmentsAreRefused) {
    EXPECT_EQ(code([](Claims& c) { c.open.base_version.bytes[0] ^= 1; }), ErrorCode::wrong_base);
    EXPECT_EQ(code([](Claims& c) { c.seal.next_version.bytes[0] ^= 1; }), ErrorCode::mismatch);
    EXPECT_EQ(code([](Claims& c) { c.attachments.clear(); }), ErrorCode::corrupt);
    EXPECT_EQ(code([](Claims& c) {
                  c.attachments.push_back({"index", to_bytes("{}")});
              }),
              ErrorCode::corrupt);
    EXPECT_EQ(code([](Claims& c) {
                  c.attachments.push_back({"directory", {}});
              }),
              ErrorCode::corrupt);
    EXPECT_EQ(code([](Claims&) {}), ErrorCode::missed);
}

TEST_F(Forged, TablesOfOpaqueItemsAreRefused) {
    EXPECT_EQ(with_table([](OpaqueItem& item) { item.bytes = 12; }), ErrorCode::corrupt);
    EXPECT_EQ(with_table([](OpaqueItem& item) { item.name = "w"; }), ErrorCode::corrupt);
    EXPECT_EQ(with_table([](OpaqueItem& item) { item.name = "t"; }), ErrorCode::corrupt);
    EXPECT_EQ(with_table([](OpaqueItem& item) { item.hash.bytes[0] ^= 1; }), ErrorCode::corrupt);
    EXPECT_EQ(with_table([](OpaqueItem& item) { item.kind = OpaqueKind::file; }),
              ErrorCode::corrupt);
    EXPECT_EQ(with_table([](OpaqueItem&) {}), ErrorCode::missed);
}

TEST_F(Forged, FileHeadersThatFitNeitherWordsNorItemsAreRefused) {
    const std::string w = tensor_entry("w", "BF16", "[20]", 0, 40);
    const std::string s = tensor_entry("s", "F32", "[4]", 40, 56);
    EXPECT_EQ(with_header(w), ErrorCode::corrupt);
    EXPECT_EQ(with_header(w + "," + tensor_entry("s", "F32", "[5]", 40, 60)), ErrorCode::corrupt);
    EXPECT_EQ(with_header(w + "," + s + "," + tensor_entry("z", "F32", "[0]", 56, 56)),
              ErrorCode::corrupt);
    EXPECT_EQ(with_header(tensor_entry("w", "BF16", "[4,5]", 0, 40) + "," + s), ErrorCode::corrupt);
    EXPECT_EQ(with_header(tensor_entry("w", "F16", "[20]", 0, 40) + "," + s), ErrorCode::corrupt);
    EXPECT_EQ(with_header(w + "," + s), ErrorCode::missed);
}

TEST(CheckpointDelta, EveryFlipOfADeltaWithOpaqueItemsIsRefusedOrExact) {
    Rng rng(9, 1);
    const TestFolder folder;
    const Tensors base{{"s", {"F32", {3}, random_text(rng, 12)}},
                       {"w", {"BF16", {20}, random_text(rng, 40)}}};
    Tensors next = base;
    next["w"].bytes[3] ^= 1;
    next["s"].bytes[3] ^= 1;
    next["t"] = {"I64", {2}, random_text(rng, 16)};
    write_text_file(folder / "base.safetensors", file_of(base, ""));
    write_text_file(folder / "next.safetensors", file_of(next, ""));
    const std::string wanted = read_text_file(folder / "next.safetensors");
    const ByteVector file =
        encode(folder / "base.safetensors", folder / "next.safetensors", "index-value", 1);
    const fs::path out = folder / "out.safetensors";
    std::size_t refused = 0;
    for (std::size_t bit = 0; bit < 8 * file.size(); bit += 13) {
        ByteVector damaged = file;
        damaged[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
        if (apply_beside(damaged, folder / "base.safetensors", out).has_value()) {
            ASSERT_TRUE(read_text_file(out) == wanted) << "bit " << bit;
            fs::remove(out);
        } else {
            ++refused;
            ASSERT_FALSE(fs::exists(out)) << "bit " << bit;
        }
    }
    EXPECT_EQ(refused, (8 * file.size() + 12) / 13);
    EXPECT_EQ(folder.names().size(), 2u);
}

}  // namespace
}  // namespace refit
