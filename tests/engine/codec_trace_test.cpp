// Sizes on real training checkpoints, against the table of the trace's notes, section 6, and what
// its makers measured with other programs (profile.json).
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/codec/zstd_frame.hpp"
#include "tests/engine/codec_fixture.hpp"

#ifndef REFIT_SOURCE_DIR
#error "REFIT_SOURCE_DIR names the root of the repository"
#endif

namespace refit {
namespace {

using nlohmann::json;
using test::Sample;
using test::WordVector;

const std::filesystem::path kTraces =
    std::filesystem::path(REFIT_SOURCE_DIR) / ".." / "shared" / "traces";

std::string read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_FALSE(text.empty()) << path;
    return text;
}

/// The chain of one trace: its first version, then one XOR delta after the other. All in the
/// order of the list of tensors in deltas.json.
class Trace {
public:
    explicit Trace(const std::string& name) : folder_(kTraces / name) {
        const json list = json::parse(read_file(folder_ / "deltas.json"));
        std::vector<TensorSpec> specs;
        for (const json& tensor : list["tensors"]) {
            order_.push_back(tensor[0].get<std::string>());
            specs.push_back(
                {order_.back(), WordType::bf16, tensor[1].get<std::vector<std::uint64_t>>()});
        }
        catalog_ = test::make_catalog(std::move(specs));
        read_first_version();
    }

    const Catalog& catalog() const { return catalog_; }

    /// The versions so far, in canonical order.
    Sample sample() const { return {catalog_, canonical(first_), canonical(words_)}; }

    /// Goes one version on.
    void advance() {
        char name[32];
        std::snprintf(name, sizeof(name), "delta_%02u_%02u.xor.zst", version_, version_ + 1);
        ++version_;
        const std::string frame = read_file(folder_ / name);
        std::vector<std::uint8_t> planes(2 * words_.size());
        ASSERT_TRUE(read_zstd_frame(as_byte_span(frame), std::as_writable_bytes(std::span(planes)),
                                    "a delta")
                        .has_value());
        for (std::size_t i = 0; i < words_.size(); ++i) {
            const unsigned mask = planes[i] | unsigned{planes[words_.size() + i]} << 8;
            words_[i] = static_cast<std::uint16_t>(words_[i] ^ mask);
        }
    }

private:
    void read_first_version() {
        const std::string file = read_file(folder_ / "v0" / "model.safetensors");
        ByteReader reader(as_byte_span(file));
        const auto header_bytes = reader.read<std::uint64_t>();
        const json header = json::parse(as_text(reader.take(header_bytes)));
        for (const std::string& tensor : order_) {
            const auto offsets = header[tensor]["data_offsets"].get<std::array<std::size_t, 2>>();
            const std::size_t at = first_.size();
            first_.resize(at + (offsets[1] - offsets[0]) / 2);
            std::memcpy(first_.data() + at, file.data() + 8 + header_bytes + offsets[0],
                        offsets[1] - offsets[0]);
        }
        words_ = first_;
    }

    WordVector canonical(const WordVector& words) const {
        WordVector result(words.size());
        std::size_t at = 0;
        for (const std::string& name : order_) {
            const Tensor& tensor = catalog_.tensor(*catalog_.find(name));
            std::memcpy(result.data() + tensor.first_word, words.data() + at, 2 * tensor.words);
            at += tensor.words;
        }
        return result;
    }

    std::filesystem::path folder_;
    std::vector<std::string> order_;
    Catalog catalog_;
    WordVector first_;
    WordVector words_;
    unsigned version_ = 0;
};

/// One unit with everything in it, in percent of the BF16 bytes; decoded again when `proved`.
double percent_of(Device& device, const Sample& sample, std::string_view codec, bool proved) {
    test::DeltaOptions options;
    options.codec = codec;
    options.unit_words = kUnitWordsMax;
    const auto units = test::encode_units(device, sample, options);
    EXPECT_EQ(units.size(), 1u);
    if (proved) {
        const Grid grid(sample.catalog);
        const MemoryWeights weights(sample.catalog, sample.base);
        WordVector decoded = sample.base;
        const Status status = test::decode_payload(
            device, DeltaContext{sample.catalog, grid, test::kSalt}, *find_codec(codec).value(),
            make_units(grid, options.unit_words), units[0].bytes, {&weights, &decoded});
        EXPECT_TRUE(status.has_value() && decoded == sample.next) << codec;
    }
    return 50.0 * static_cast<double>(units[0].bytes.size()) /
           static_cast<double>(sample.base.size());
}

/// Percent of the BF16 bytes per number of merged deltas, 0 where nobody measured.
using Table = std::map<std::string, std::array<double, 5>>;
constexpr std::array<unsigned, 5> kMerged{1, 2, 4, 8, 16};

/// Walks the trace and prints all codecs x k; those in `table` must be within 3 %.
void expect_sizes(const std::string& name, std::size_t columns, const Table& table) {
    const auto device = make_cpu_device(0);
    Trace trace(name);
    Table measured;
    for (std::size_t k = 0; k < columns; ++k) {
        for (unsigned i = k == 0 ? 0 : kMerged[k - 1]; i < kMerged[k]; ++i) trace.advance();
        const Sample sample = trace.sample();
        std::size_t changed = 0;
        for (std::size_t i = 0; i < sample.base.size(); ++i)
            changed += sample.base[i] != sample.next[i] ? 1 : 0;
        measured["changed words"][k] =
            100.0 * static_cast<double>(changed) / static_cast<double>(sample.base.size());
        for (const auto& codec : builtin_codecs()) {
            const bool full = codec->name().starts_with("full");
            if (full && k > 0) continue;  // they send the same words again
            measured[std::string(codec->name())][k] =
                percent_of(*device, sample, codec->name(), k == 0);
        }
    }
    std::printf("%s, %% of %zu BF16 bytes, k = 1, 2, 4, 8, 16\n", name.c_str(),
                std::size_t{2} * trace.catalog().words().count);
    for (const auto& [row, percents] : measured) {
        std::printf("  %-14s", row.c_str());
        for (std::size_t k = 0; k < columns; ++k) std::printf(" %8.4f", percents[k]);
        std::printf("\n");
    }
    for (const auto& [row, percents] : table) {
        for (std::size_t k = 0; k < columns; ++k) {
            if (percents[k] == 0) continue;
            EXPECT_NEAR(measured[row][k], percents[k], 0.03 * percents[k])
                << row << " over " << kMerged[k] << " versions";
        }
    }
}

TEST(Codec, SizesOnTheDenseTraceAreTheMeasuredOnes) {
    if (!std::filesystem::exists(kTraces / "dense"))
        GTEST_SKIP() << "no traces under " << kTraces << ": sizes are not checked";
    expect_sizes("dense", 5,
                 {{"changed words", {0.840, 1.461, 2.480, 4.030, 6.271}},
                  {"index-value", {2.52, 4.38, 7.44, 12.1, 18.8}},
                  {"xor-zstd", {1.22, 1.96, 3.08, 4.70, 6.84}},
                  {"planes-zstd", {1.13, 1.82, 2.86, 4.32, 6.19}},
                  {"gap-xor-zstd", {0.77, 1.30, 2.11, 3.15, 4.72}},
                  {"full-zstd", {78.0}},
                  {"full", {100.0}}});
}

TEST(Codec, SizesOnTheMoeTraceAreTheMeasuredOnes) {
    if (!std::filesystem::exists(kTraces / "moe"))
        GTEST_SKIP() << "no traces under " << kTraces << ": sizes are not checked";
    const json profile = json::parse(read_file(kTraces / "profile.json"));
    Table table;
    for (const json& trace : profile["traces"]) {
        if (trace["id"] != "moe") continue;
        for (std::size_t k = 0; k < 4; ++k) {
            const json& row = trace["coding_by_gap"][std::to_string(kMerged[k])];
            const double percent = 100 / row["full_bytes"].get<double>();
            const auto set = [&](const char* codec, const char* key) {
                table[codec][k] = percent * row[key].get<double>();
            };
            set("index-value", "raw_idx32_val16");
            set("xor-zstd", "zstd1_xor_dense");
            set("planes-zstd", "zstd3_xor_planes");
            set("gap-xor-zstd", "zstd3_gap16_xor16");
            table["changed words"][k] =
                200 * row["changed"].get<double>() / row["full_bytes"].get<double>();
        }
    }
    ASSERT_EQ(table.size(), 5u);
    expect_sizes("moe", 4, table);
}

}  // namespace
}  // namespace refit
