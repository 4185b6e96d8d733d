// What must hold for `refit bench`: rows with every key, sizes that repeat, a codec that breaks is
// told, draws that stay inside their fraction, and flags and files refused by name.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "app/bench/codec_pass.hpp"
#include "app/bench/report.hpp"
#include "app/bench/tile_sample.hpp"
#include "engine/base/rng.hpp"
#include "tests/app/driver.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kQuick{"--", "--benchmark_min_time=0.000001",
                                      "--benchmark_repetitions=1"};

Outcome bench(std::vector<std::string> arguments, const std::vector<std::string>& library = {}) {
    arguments.insert(arguments.begin(), "bench");
    arguments.insert(arguments.end(), kQuick.begin(), kQuick.end());
    arguments.insert(arguments.end(), library.begin(), library.end());
    return run_refit(arguments);
}

/// The figures that must not depend on time or threads, by row name.
std::map<std::string, std::string> sizes_of(const Outcome& outcome) {
    std::map<std::string, std::string> sizes;
    const auto document = outcome.document();
    for (const auto& row : document["rows"]) {
        sizes[row["name"]] = row["bits_per_parameter"].dump() + " " +
                             row["bound_bits_per_parameter"].dump() + " " + row["changed"].dump();
    }
    return sizes;
}

/// Model of `layers` layers: one tensor of eight tiles and one of a single small tile's share.
Catalog layered(std::uint64_t layers) {
    std::vector<TensorSpec> specs;
    for (std::uint64_t i = 0; i < layers; ++i) {
        const std::string prefix = fmt::format("model.layers.{}.", i);
        specs.push_back({prefix + "mlp.up_proj.weight", WordType::bf16, {4096, 1024}});
        specs.push_back({prefix + "attn.k_proj.weight", WordType::f16, {1030, 1024}});
        specs.push_back({prefix + "input_layernorm.weight", WordType::bf16, {1024}});
    }
    specs.push_back({"model.embed_tokens.weight", WordType::bf16, {8192, 1024}});
    auto catalog = Catalog::make(std::move(specs));
    EXPECT_TRUE(catalog.has_value());
    return std::move(catalog).value();
}

std::uint64_t words_of(const Grid& grid, std::span<const std::uint32_t> tiles) {
    std::uint64_t words = 0;
    for (const std::uint32_t tile : tiles) words += grid.tile(tile).words;
    return words;
}

/// Another codec, but for one bit of what it decodes.
class FlippingCodec final : public Codec {
public:
    explicit FlippingCodec(const Codec& inner) : inner_(inner) {}
    std::string_view name() const override { return "gap-xor-zstd-flipping"; }
    std::string_view summary() const override { return "wrong on purpose"; }
    TileMode choose_mode(const TileDiff& tile) const override { return inner_.choose_mode(tile); }
    void encode(Device& device,
                std::span<const TileDiff> tiles,
                std::span<TileMode> modes,
                ByteVector& body) const override {
        inner_.encode(device, tiles, modes, body);
    }
    Status decode(Device& device,
                  ByteSpan body,
                  std::span<const TileBase> tiles,
                  std::span<Changes> changes) const override {
        REFIT_CHECK(inner_.decode(device, body, tiles, changes));
        for (Changes& tile : changes)
            if (!tile.words.empty()) tile.words.front() ^= 1u;
        return Done{};
    }

private:
    const Codec& inner_;
};

class BenchRows : public testing::Test {
protected:
    BenchRows() { console_.quiet = true; }

    std::vector<BenchSample> one_sample() {
        BenchSample sample;
        sample.name = "uniform-3%";
        sample.profile = "uniform";
        sample.words = kPairWordsMin;
        sample.make = [this] {
            return std::make_shared<const WordPair>(
                make_pair(*device_, {*find_profile("uniform"), kPairWordsMin, 30'000, 1, {}}));
        };
        return {sample};
    }

    volatile std::sig_atomic_t flag_ = 0;
    Console console_{flag_};
    std::unique_ptr<Device> device_ = make_cpu_device(2);
};

TEST(CountMismatches, CountsBitsAndNothingElse) {
    const std::vector<std::uint16_t> words{0x0000, 0x7FC0, 0x3F80, 0x8000};
    std::vector<std::uint16_t> other = words;
    EXPECT_EQ(count_mismatches(words, other), 0u);
    other[0] = 0x8000;  // -0 equals +0 as a number
    EXPECT_EQ(count_mismatches(words, other), 1u);
    other[3] ^= 1u;
    EXPECT_EQ(count_mismatches(words, other), 2u);
    EXPECT_EQ(count_mismatches({}, {}), 0u);
}

TEST_F(BenchRows, EveryCodecIsExactAndNoSmallerThanItsBytes) {
    CodecPass pass(*device_, one_sample().front().make());
    for (const auto& codec : builtin_codecs()) {
        const CodecCheck check = pass.check(*codec);
        EXPECT_TRUE(check.exact()) << codec->name() << check.failure;
        EXPECT_GT(check.container_bytes, 1000u) << codec->name();
        const PassSeconds seconds = pass.run(*codec);
        EXPECT_GT(seconds.encode, 0);
        EXPECT_GT(seconds.decode, 0);
        EXPECT_TRUE(pass.compare_is_right());
        EXPECT_TRUE(pass.copy_is_right());
    }
}

TEST_F(BenchRows, ABrokenCodecIsNotExactAndNotTimed) {
    const Codec& sound = *find_codec("gap-xor-zstd").value();
    const FlippingCodec broken(sound);
    const auto samples = one_sample();
    const auto rows = measure_codecs(console_, *device_, samples, {&broken, &sound},
                                     {"--benchmark_min_time=0.000001"});
    ASSERT_EQ(rows.size(), 4u);  // two codecs, compare, copy
    EXPECT_FALSE(rows[0].exact);
    EXPECT_FALSE(rows[0].failure.empty());
    EXPECT_EQ(rows[0].rates.encode, 0);
    for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_TRUE(rows[i].exact) << rows[i].name;
    EXPECT_GT(rows[1].rates.encode, 0);
    EXPECT_GT(rows[0].bits_per_parameter, rows[1].bits_per_parameter);  // by a longer name

    const auto document = bench_document(samples, rows, {"cpu", "device", 2, 1});
    EXPECT_EQ(document["rows"][0]["exact"], false);
    EXPECT_TRUE(document["rows"][0]["encode_bytes_per_second"].is_null());
    std::string table;
    for (const std::string& line : bench_table(samples, rows, {"cpu", "device", 2, 1})) {
        EXPECT_LE(line.size(), 100u) << line;
        table += line + "\n";
    }
    EXPECT_NE(table.find("NO\n"), std::string::npos) << table;
    EXPECT_NE(table.find("gap-xor-zstd-flipping/uniform-3% is not exact:\n"), std::string::npos)
        << table;
}

TEST_F(BenchRows, CtrlCEndsThemWithoutAResult) {
    flag_ = 1;
    EXPECT_THROW(
        measure_codecs(console_, *device_, one_sample(), {builtin_codecs().front().get()}, {}),
        Interrupted);
}

TEST(Bench, DocumentHasEveryKeyAndEveryRow) {
    const Outcome outcome = bench({"codec", "--words", "64Ki", "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto document = outcome.document();
    EXPECT_EQ(document["schema"], "refit.bench/1");
    EXPECT_EQ(keys_of(document), (std::set<std::string>{"schema", "rows", "host"}));
    EXPECT_EQ(keys_of(document["host"]),
              (std::set<std::string>{"cpu", "device", "version", "wall_seconds"}));
    std::set<std::string> expected;
    std::vector<std::string> samples{"dense-1-step", "dense-4-steps", "dense-16-steps"};
    for (const Profile& profile : profiles())
        for (const int percent : {1, 3, 5})
            samples.push_back(fmt::format("{}-{}%", profile.name, percent));
    for (const std::string& sample : samples) {
        for (const auto& codec : builtin_codecs())
            expected.insert(std::string(codec->name()) + "/" + sample);
        expected.insert("compare/" + sample);
        expected.insert("copy/" + sample);
    }
    std::set<std::string> names;
    for (const auto& row : document["rows"]) {
        const auto name = row["name"].get<std::string>();
        names.insert(name);
        EXPECT_EQ(keys_of(row),
                  (std::set<std::string>{
                      "name", "codec", "profile", "changed", "bits_per_parameter",
                      "bound_bits_per_parameter", "ratio_to_bound", "encode_bytes_per_second",
                      "decode_bytes_per_second", "compare_bytes_per_second",
                      "copy_bytes_per_second", "exact", "words", "sampled_fraction", "threads"}))
            << name;
        EXPECT_EQ(row["exact"], true) << name;
        EXPECT_EQ(row["codec"].is_null(), name.starts_with("compare/") || name.starts_with("copy/"))
            << name;
        if (row["codec"].is_null()) continue;
        EXPECT_EQ(name.find(row["codec"].get<std::string>() + "/"), 0u) << name;
        for (const char* key : {"bits_per_parameter", "bound_bits_per_parameter", "ratio_to_bound",
                                "encode_bytes_per_second", "decode_bytes_per_second",
                                "compare_bytes_per_second", "copy_bytes_per_second", "changed"})
            EXPECT_GT(row[key].get<double>(), 0) << name << " " << key;
        EXPECT_DOUBLE_EQ(row["ratio_to_bound"].get<double>(),
                         row["bits_per_parameter"].get<double>() /
                             row["bound_bits_per_parameter"].get<double>());
        EXPECT_EQ(row["words"], row["profile"] == "trace" ? 4'574'272 : 64 << 10) << name;
        if (row["codec"] == "full") {
            EXPECT_NEAR(row["bits_per_parameter"].get<double>(), 16.0, 0.6) << name;
        }
    }
    EXPECT_EQ(names, expected);
}

TEST(Bench, SizesRepeatForOneSeedWhateverTheThreads) {
    const std::vector<std::string> quick{"--benchmark_filter=uniform"};
    const auto once = sizes_of(bench({"--words", "64Ki", "--threads", "1", "--json"}, quick));
    EXPECT_EQ(once.size(), 3 * (builtin_codecs().size() + 2));
    EXPECT_EQ(sizes_of(bench({"codec", "--words", "65536", "--threads", "2", "--json"}, quick)),
              once);
    EXPECT_NE(sizes_of(bench({"--words", "64Ki", "--seed", "2", "--json"}, quick)), once);
}

TEST(Bench, TextIsOneTableAndTheLibraryIsSilent) {
    const Outcome outcome =
        bench({"codec", "--words", "64Ki", "--codec", "xor-zstd", "--codec", "full"},
              {"--benchmark_filter=uniform-3", "--benchmark_display_aggregates_only=true"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
    for (const char* word : {"xor-zstd", "full", "compare", "copy", "GB/s", "machine", "65,536"})
        EXPECT_NE(outcome.out.find(word), std::string::npos) << word;
    EXPECT_EQ(outcome.out.find("index-value"), std::string::npos);
    EXPECT_EQ(outcome.out.find("manual_time"), std::string::npos);
}

TEST(Bench, OwnFilesAreSampledByWholeTiles) {
    const TestFolder folder;
    const TracePair pair = trace_pair(folder);
    const std::vector<std::string> files{"--base",  pair.base.string(), "--new", pair.next.string(),
                                         "--codec", "index-value",      "--json"};
    const Outcome whole = bench(files);
    ASSERT_EQ(whole.code, 0) << whole.err;
    const auto all = whole.document()["rows"][0];
    EXPECT_EQ(all["name"], "index-value/files");
    EXPECT_EQ(all["profile"], "files");
    EXPECT_EQ(all["sampled_fraction"], 1.0);
    EXPECT_EQ(all["words"], 4'574'272);

    std::vector<std::string> sampled = files;
    sampled.insert(sampled.end(), {"--sample", "60%"});
    const Outcome part = bench(sampled);
    ASSERT_EQ(part.code, 0) << part.err;
    const auto some = part.document()["rows"][0];
    EXPECT_LE(some["sampled_fraction"].get<double>(), 0.6);
    EXPECT_GT(some["sampled_fraction"].get<double>(), 0.3);
    EXPECT_EQ(some["exact"], true);
    EXPECT_EQ(sizes_of(bench(sampled)), sizes_of(part));
}

TEST(Bench, TensorsOfOtherTypesAndShapesAreLeftOut) {
    const TestFolder folder;
    const auto file = [&](const std::string& name, std::uint64_t resized) {
        const std::string json =
            fmt::format(R"({{"a":{{"dtype":"BF16","shape":[64,100],"data_offsets":[0,12800]}},)"
                        R"("b":{{"dtype":"F32","shape":[100],"data_offsets":[12800,13200]}},)"
                        R"("c":{{"dtype":"BF16","shape":[{}],"data_offsets":[13200,{}]}}}})",
                        resized, 13200 + 2 * resized);
        std::string text = safetensors_header(json) + std::string(13200 + 2 * resized, '\x3C');
        text[text.size() - 2 * resized - 13200 + 7] = name[0];
        write_text_file(folder / name, text);
        return (folder / name).string();
    };
    const std::string base = file("base", 50);
    const std::string next = file("next", 60);
    const Outcome outcome = bench({"--base", base, "--new", next, "--codec", "full", "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto row = outcome.document()["rows"][0];
    EXPECT_EQ(row["words"], 6400);
    EXPECT_EQ(row["changed"], 1.0 / 6400);
    EXPECT_EQ(row["exact"], true);
}

void expect_refused_as(const Outcome& outcome, int code, const std::string& start) {
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_TRUE(outcome.one_line()) << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("refit: " + start)) << outcome.err;
    EXPECT_EQ(outcome.out, "");
}

TEST(Bench, BadFlagsAreTwo) {
    const std::vector<std::vector<std::string>> wrong{
        {"matrices"},
        {"codec", "codec"},
        {"--codec", "zip"},
        {"--words", "1"},
        {"--words", "65Mi"},
        {"--words", "99999999999999999999"},
        {"--words", "1Gi"},
        {"--words", "-1"},
        {"--sample", "0.5"},
        {"--base", "a"},
        {"--new", "b"},
        {"--base", "a", "--new", "b", "--words", "64Ki"},
        {"--base", "a", "--new", "b", "--sample", "0"},
        {"--base", "a", "--new", "b", "--sample", "101%"},
        {"--base", "a", "--new", "b", "--sample", "nan"},
        {"--base", "a", "--new", "b", "--sample", "half"},
        {"--threads", "-1"},
        {"--", "--help"},
        {"--", "words"},
        {"--", "--benchmark_speed=9"},
        {"--words", "64Ki", "--", "--benchmark_min_time=soon"},
        {"--words", "64Ki", "--", "--benchmark_filter=nothing"},
        {"--words", "64Ki", "--", "--benchmark_filter=("},
    };
    for (std::vector<std::string> arguments : wrong) {
        SCOPED_TRACE(fmt::format("{}", fmt::join(arguments, " ")));
        arguments.insert(arguments.begin(), "bench");
        expect_refused_as(run_refit(arguments), 2, "bench: ");
    }
    expect_refused_as(run_refit({"bench", "--wrds", "1Mi", "--", "--benchmark_min_time=1"}), 2,
                      "bench: unknown flag --wrds; did you mean --words?");
}

TEST(Bench, BadFilesAreThreeAndNamed) {
    const TestFolder folder;
    write_text_file(folder / "good", small_safetensors("t", 1, 4096));
    write_text_file(folder / "other", small_safetensors("u", 1, 4096));
    write_text_file(folder / "page", "<html></html>");
    const std::string good = (folder / "good").string();
    for (const char* name : {"none", "page"}) {
        const std::string bad = (folder / name).string();
        expect_refused_as(bench({"--base", bad, "--new", good}), 3, bad + ": ");
        expect_refused_as(bench({"--base", good, "--new", bad}), 3, bad + ": ");
    }
    const std::string other = (folder / "other").string();
    expect_refused_as(bench({"--base", good, "--new", other}), 3, other + ": has no BF16 or F16");
    expect_refused_as(bench({"--base", good, "--new", good, "--sample", "0.5"}), 3, good + ": ");
    EXPECT_EQ(bench({"--base", good, "--new", good, "--codec", "full"}).code, 0);
}

TEST(Bench, CtrlCIsOneHundredThirty) {
    expect_refused_as(run_refit({"bench", "--words", "64Ki"}, {.interrupted = true, .extra = {}}),
                      130, "interrupted");
}

TEST(TileSample, StaysInsideTheFractionAndIsSeeded) {
    const Catalog catalog = layered(8);
    const Grid grid(catalog);
    const std::uint64_t total = catalog.words().count;
    std::set<std::vector<std::uint32_t>> draws;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        for (const std::uint64_t limit : {total, total / 2, total / 3, total / 10}) {
            const auto tiles = draw_tiles(catalog, grid, limit, seed);
            EXPECT_EQ(tiles, draw_tiles(catalog, grid, limit, seed));
            EXPECT_TRUE(std::ranges::is_sorted(tiles));
            EXPECT_EQ(std::set(tiles.begin(), tiles.end()).size(), tiles.size());
            EXPECT_LE(words_of(grid, tiles), limit) << seed;
            EXPECT_GE(words_of(grid, tiles) + 2 * kTileWordsMax, limit) << seed;
            if (limit == total / 3) draws.insert(tiles);
        }
        EXPECT_EQ(draw_tiles(catalog, grid, total, seed).size(), grid.tiles().size());
        EXPECT_TRUE(draw_tiles(catalog, grid, 100, seed).empty());
    }
    EXPECT_EQ(draws.size(), 20u);
}

TEST(TileSample, EveryTileAndEveryStratumHasItsChance) {
    auto made = Catalog::make({{"only.weight", WordType::bf16, {8192, 1024}}});
    ASSERT_TRUE(made.has_value());
    const Grid one(made.value());
    const Catalog catalog = layered(8);
    const Grid many(catalog);
    std::set<std::uint32_t> tiles;
    std::set<std::string> names;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        for (const std::uint32_t tile :
             draw_tiles(made.value(), one, made.value().words().count / 4, seed))
            tiles.insert(tile);
        for (const std::uint32_t tile : draw_tiles(catalog, many, kTileWordsMax, seed))
            names.insert(catalog.tensor(many.tile(tile).pieces.front().tensor).name);
    }
    EXPECT_EQ(tiles.size(), one.tiles().size());
    EXPECT_GT(names.size(), 8u);
}

TEST(TileSample, EveryStratumGetsItsShareToWithinATile) {
    const Catalog catalog = layered(8);
    const Grid grid(catalog);
    const auto tiles = draw_tiles(catalog, grid, catalog.words().count / 2, 3);
    std::map<std::pair<std::string, int>, std::pair<double, double>> strata;  // words: all, drawn
    const std::set<std::uint32_t> drawn(tiles.begin(), tiles.end());
    for (std::uint32_t tile = 0; tile < grid.tiles().size(); ++tile) {
        const std::string& name = catalog.tensor(grid.tile(tile).pieces.front().tensor).name;
        const int layer = name.starts_with("model.layers.") ? name[13] - '0' : 8;
        auto& [all, mine] = strata[{tensor_kind(name), layer / 2}];
        all += static_cast<double>(grid.tile(tile).words);
        if (drawn.contains(tile)) mine += static_cast<double>(grid.tile(tile).words);
    }
    EXPECT_EQ(strata.size(), 2 * 4 + 1 + 1u);  // up and k in four groups, norms, embedding
    for (const auto& [stratum, words] : strata)
        EXPECT_NEAR(words.second, words.first / 2, kTileWordsMax) << stratum.first;
}

TEST(TileSample, TheSmallerModelHasTheDrawnTilesAndTheirWords) {
    const Catalog catalog = layered(3);
    const Grid grid(catalog);
    const std::uint64_t total = catalog.words().count;
    std::vector<std::uint16_t> words(total);
    for (std::size_t i = 0; i < total; ++i) words[i] = static_cast<std::uint16_t>(mix64(i));
    const MemoryWeights base(catalog, words);
    for (std::uint16_t& word : words) word ^= 0x5555u;
    const MemoryWeights next(catalog, words);
    volatile std::sig_atomic_t flag = 0;
    Console console(flag);
    console.quiet = true;
    const auto tiles = draw_tiles(catalog, grid, total / 2, 4);
    const WordPair pair = read_tiles(console, catalog, grid, tiles, {base, next});
    const Grid smaller(pair.catalog);
    ASSERT_EQ(smaller.tiles().size(), tiles.size());
    EXPECT_EQ(pair.catalog.words().count, words_of(grid, tiles));
    // In each tensor the drawn words stand in their order.
    std::map<std::string, std::vector<std::uint16_t>> expected;
    for (const std::uint32_t tile : tiles) {
        for (const Piece& piece : grid.tile(tile).pieces) {
            std::vector<std::uint16_t> read(piece.words);
            base.read(piece.tensor, piece.tensor_first, read);
            auto& all = expected[catalog.tensor(piece.tensor).name];
            all.insert(all.end(), read.begin(), read.end());
        }
    }
    for (const Tensor& tensor : pair.catalog.tensors()) {
        const auto first = pair.base.begin() + static_cast<std::ptrdiff_t>(tensor.first_word);
        EXPECT_TRUE(std::equal(first, first + static_cast<std::ptrdiff_t>(tensor.words),
                               expected[tensor.name].begin(), expected[tensor.name].end()))
            << tensor.name;
    }
    for (std::size_t i = 0; i < pair.base.size(); ++i)
        ASSERT_EQ(pair.base[i] ^ pair.next[i], 0x5555) << i;
}

TEST(TileSample, RunsOfLongRowsBecomeOneRow) {
    const std::uint64_t columns = 5 * kTileWordsMax / 2;
    auto made = Catalog::make({{"long.weight", WordType::bf16, {2, columns}}});
    ASSERT_TRUE(made.has_value());
    const Catalog& catalog = made.value();
    const Grid grid(catalog);
    ASSERT_EQ(grid.tiles().size(), 6u);
    const std::vector<std::uint32_t> tiles{1, 2, 4};
    const Catalog smaller = catalog_of_tiles(catalog, grid, tiles);
    EXPECT_EQ(smaller.tensor(0).shape, std::vector<std::uint64_t>{words_of(grid, tiles)});
    EXPECT_EQ(Grid(smaller).tiles().size(), 3u);
}

}  // namespace
}  // namespace refit
