// Golden files: the bytes of FORMAT.md, frozen. An encoder that changes them changes the format.
//
// Regenerate   REFIT_WRITE_GOLDEN=1 build/tests/engine/codec_golden_test --gtest_filter='Golden.*'
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <iterator>

#include "engine/codec/xc_tables.hpp"
#include "engine/codec/zstd_frame.hpp"
#include "tests/engine/codec_fixture.hpp"

#ifndef REFIT_SOURCE_DIR
#error "REFIT_SOURCE_DIR names the root of the repository"
#endif

namespace refit {
namespace {

using test::Sample;
using test::WordVector;

const std::filesystem::path kSource = REFIT_SOURCE_DIR;
const std::filesystem::path kGolden = kSource / "tests" / "golden";
constexpr unsigned kGoldenZstdVersion = 10504;

ByteVector read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const ByteSpan bytes = as_byte_span(text);
    return {bytes.begin(), bytes.end()};
}

void write_file(const std::filesystem::path& path, ByteSpan bytes) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    ASSERT_TRUE(file.good()) << path;
}

/// Every pair of special words as a sparse change, an unchanged tile, one that changes wholly, a
/// gap that needs an escape, and two tensors of one class in one tile.
Sample golden_sample() {
    const std::uint16_t special[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x007F, 0x0080,
                                     0x7F7F, 0x7F80, 0xFF80, 0x7F81, 0x7FC0, 0xFFC1,
                                     0x7FFF, 0xFFFF, 0x3F80, 0xBF80};
    Sample sample{test::make_catalog({{"a.special.weight", WordType::bf16, {32, 32}},
                                      {"b.same.weight", WordType::bf16, {64}},
                                      {"c.all.weight", WordType::f16, {5, 16}},
                                      {"d.long.weight", WordType::bf16, {65, 1010}},
                                      {"layers.0.bias", WordType::bf16, {7}},
                                      {"layers.1.bias", WordType::bf16, {9}}}),
                  {},
                  {}};
    for (std::size_t i = 0; i < 256; ++i) {
        for (const std::uint16_t word :
             {special[i / 16], std::uint16_t{0x3E01}, special[i % 16], std::uint16_t{0xBE02}})
            sample.base.push_back(word);
    }
    sample.next = sample.base;
    for (std::size_t i = 0; i < 256; ++i) sample.next[4 * i] = special[i % 16];
    const auto append = [&](std::size_t count, std::uint16_t base, std::uint16_t next) {
        sample.base.insert(sample.base.end(), count, base);
        sample.next.insert(sample.next.end(), count, next);
    };
    append(64, 0x7FC0, 0x7FC0);
    append(80, 0x3C00, 0x3C01);
    append(65'600, 0x3F80, 0x3F80);
    append(1, 0x3F80, 0x3F81);
    append(49, 0x3F80, 0x3F80);
    append(3, 0x0010, 0x0010);
    append(10, 0x8010, 0x8010);
    append(3, 0x0020, 0x0021);
    return sample;
}

/// Weights as a model has them: rare above, common below, in segments that change more and less
/// than others, one of them not at all; a second coded tile in the same unit, and a raw one.
Sample steps_sample() {
    Sample sample{test::make_catalog({{"a.weight", WordType::bf16, {83, 299}},
                                      {"b.weight", WordType::f16, {700}},
                                      {"c.weight", WordType::bf16, {20}}}),
                  {},
                  {}};
    constexpr std::uint64_t kPerMillion[] = {3'000, 0, 24'000, 800, 200, 12'000, 7'000};
    Rng rng(5, 0);
    for (std::uint64_t i = 0; i < 83 * 299 + 700 + 20; ++i) {
        const auto below = static_cast<unsigned>(std::countr_zero(rng.next() | 1u << 10));
        const auto word = static_cast<std::uint16_t>((rng.next() & 0x807F) | (124 - below) << 7);
        const std::uint64_t least = 1u << std::min(rng.below(12) * rng.below(2), std::uint64_t{5});
        const bool all = i >= 83 * 299 + 700;
        const bool changes = all || rng.chance(kPerMillion[i / kSegmentWords] << below);
        const auto step =
            static_cast<std::uint16_t>(all ? 1 + rng.below(0xFFFF) : least + rng.below(least));
        const std::uint16_t from = xc_ordinal(word);
        const auto to = static_cast<std::uint16_t>(rng.below(2) == 0 ? from + step : from - step);
        sample.base.push_back(word);
        sample.next.push_back(changes ? xc_ordinal(to) : word);
    }
    return sample;
}

/// base.bin, next.bin and CODEC.rfd of some codecs in one folder.
struct GoldenSet {
    std::filesystem::path folder;
    Sample sample;
    std::uint64_t unit_words;
    std::vector<std::string> codecs;

    ByteVector encode(Device& device, const std::string& codec) const {
        test::DeltaOptions options;
        options.codec = codec;
        options.unit_words = unit_words;
        options.chunk_bytes = 512;
        options.chunks_per_part = 1;
        const ByteSpan header = as_byte_span("{\"a.special.weight\": \"golden\"}");
        options.attachments = {{"header", {header.begin(), header.end()}}};
        return test::encode_rfd(device, sample, options);
    }
    std::filesystem::path file(const std::string& codec) const { return folder / (codec + ".rfd"); }
};

std::vector<GoldenSet> golden_sets() {
    std::vector<std::string> all;
    for (const auto& codec : builtin_codecs()) all.emplace_back(codec->name());
    return {{kGolden, golden_sample(), 1100, all},
            {kGolden / "steps", steps_sample(), 1u << 16, {"xc", "cf"}}};
}

bool is_written_anew() { return std::getenv("REFIT_WRITE_GOLDEN") != nullptr; }

TEST(Golden, EncodingGivesExactlyTheseBytes) {
    const auto device = make_cpu_device(2);
    if (!is_written_anew() && zstd_library_version() != kGoldenZstdVersion)
        GTEST_SKIP() << "zstd is not 1.5.4: the bytes of its frames are not compared";
    for (const GoldenSet& set : golden_sets()) {
        if (is_written_anew()) {
            write_file(set.folder / "base.bin", std::as_bytes(std::span(set.sample.base)));
            write_file(set.folder / "next.bin", std::as_bytes(std::span(set.sample.next)));
        }
        for (const std::string& codec : set.codecs) {
            const ByteVector encoded = set.encode(*device, codec);
            if (is_written_anew()) write_file(set.file(codec), encoded);
            EXPECT_EQ(encoded, read_file(set.file(codec))) << set.file(codec);
        }
    }
    if (is_written_anew()) GTEST_SKIP() << "golden files are written anew";
}

TEST(Golden, DecodingGivesTheNextWords) {
    const auto device = make_cpu_device(2);
    const auto same = [](const WordVector& words, const std::filesystem::path& path) {
        const ByteSpan bytes = std::as_bytes(std::span(words));
        return read_file(path) == ByteVector(bytes.begin(), bytes.end());
    };
    for (const GoldenSet& set : golden_sets()) {
        EXPECT_TRUE(same(set.sample.base, set.folder / "base.bin"));
        EXPECT_TRUE(same(set.sample.next, set.folder / "next.bin"));
        for (const std::string& codec : set.codecs) {
            const auto next = test::decode_rfd(*device, set.file(codec), set.sample.base);
            ASSERT_TRUE(next.has_value()) << next.error().where << ": " << next.error().what;
            EXPECT_EQ(next.value(), set.sample.next) << set.file(codec);
        }
    }
}

/// "label   hex bytes", as the worked example in FORMAT.md writes it.
std::string example_line(std::string_view label, ByteSpan bytes) {
    std::string line = fmt::format("{:<23}", label);
    for (const std::byte byte : bytes) line += fmt::format(" {:02x}", std::to_integer<int>(byte));
    return line + "\n";
}

Sample example_sample() {
    return {test::make_catalog({{"w", WordType::bf16, {8}}}),
            {0x0000, 0x3F80, 0xBF80, 0x7FC1, 0x4000, 0x0001, 0x8000, 0xFF80},
            {0x0000, 0x3F81, 0xBF80, 0x7FC1, 0x4000, 0x0001, 0x0000, 0xFF80}};
}

TEST(Golden, WorkedExampleOfTheFormatHolds) {
    const auto device = make_cpu_device(1);
    const Sample sample = example_sample();
    const Grid grid(sample.catalog);
    const MemoryWeights base(sample.catalog, sample.base);
    const MemoryWeights next(sample.catalog, sample.next);
    const EncodedUnit unit = encode_unit(*device, *find_codec("index-value").value(),
                                         DeltaContext{sample.catalog, grid, 1}, {0, 1}, base, next);
    const auto version = version_id(sample.catalog.id(), 1, unit.next_digests);

    const ByteVector page = read_file(kSource / "engine" / "codec" / "FORMAT.md");
    for (const std::string& line :
         {example_line("unit, index-value", unit.bytes),
          example_line("catalog", sample.catalog.serialize()),
          example_line("catalog id", std::as_bytes(std::span(sample.catalog.id().bytes))),
          example_line("grid id", std::as_bytes(std::span(grid.id().bytes))),
          example_line("version id of next", std::as_bytes(std::span(version.bytes)))}) {
        EXPECT_NE(as_text(page).find(line), std::string::npos) << line;
    }
}

/// The streams of a codec in the worked example: name on the page, bytes when unpacked.
struct ExampleStreams {
    const char* codec;
    bool counted;  // a u32 number of values stands before the first stream
    std::vector<std::pair<const char*, std::size_t>> streams;
};

TEST(Golden, StreamsOfTheWorkedExampleHold) {
    const auto device = make_cpu_device(1);
    const Sample sample = example_sample();
    Changes changes;
    device->diff(sample.base, sample.next, changes);
    const TileDiff tile{sample.base, sample.next, &changes};
    const ByteVector page = read_file(kSource / "engine" / "codec" / "FORMAT.md");
    const ExampleStreams examples[] = {
        {"gap-xor-zstd", true, {{"gaps, gap-xor-zstd", 4}, {"XOR words, gap-xor-zstd", 4}}},
        {"xor-zstd", false, {{"XOR words, xor-zstd", 16}}},
        {"planes-zstd", false, {{"planes, planes-zstd", 16}}},
        {"coo-zstd",
         true,
         {{"row steps, coo-zstd", 2}, {"columns, coo-zstd", 4}, {"next words, coo-zstd", 4}}},
        {"bitmask-zstd", false, {{"bits, bitmask-zstd", 1}, {"next words, coo-zstd", 4}}}};
    for (const ExampleStreams& example : examples) {
        SCOPED_TRACE(example.codec);
        const Codec& codec = *find_codec(example.codec).value();
        TileMode mode = codec.choose_mode(tile);
        ASSERT_EQ(mode, TileMode::coded);
        ByteVector body;
        codec.encode(*device, std::span(&tile, 1), std::span(&mode, 1), body);
        ByteReader reader(body);
        const auto count = example.counted ? reader.read<std::uint32_t>() : 2;
        EXPECT_EQ(count, 2u);
        for (const auto& [label, size] : example.streams) {
            ByteVector stream(size);
            ASSERT_TRUE(read_zstd_frame(reader.take_block(100), stream, label).has_value());
            const std::string line = example_line(label, stream);
            EXPECT_NE(as_text(page).find(line), std::string::npos) << line;
        }
        EXPECT_TRUE(reader.finish("the body").has_value());
    }
}

TEST(Golden, PayloadOfTheWorkedExampleHolds) {
    const auto device = make_cpu_device(1);
    const WordVector base(64, 0x3F80);
    WordVector next = base;
    next[1] = 0x3F81;
    next[9] = 0x3F83;
    next[62] = 0x3F7E;
    XcTables tables;
    tables.context = {7, 112};
    std::fill(tables.level_nodes.begin() + 1, tables.level_nodes.end(), std::uint8_t{144});
    tables.flags.fill(116);
    tables.stages = 1;
    tables.stage[0][15] = 130;
    ByteVector table_bytes;
    write_xc_tables(tables, table_bytes);

    Changes changes;
    device->diff(base, next, changes);
    XcTile tile;
    XcCounts counts;
    device->xc_scan(base, changes, tables.context, tile, counts);
    ByteVector payload;
    const std::uint8_t level = 9;
    ASSERT_TRUE(device->xc_encode(base, tile, tables, std::span(&level, 1), payload));
    const ByteVector page = read_file(kSource / "engine" / "codec" / "FORMAT.md");
    for (const std::string& line :
         {example_line("tables, xc", table_bytes), example_line("payload, xc", payload)})
        EXPECT_NE(as_text(page).find(line), std::string::npos) << line;
}

}  // namespace
}  // namespace refit
