// Sizes on real training checkpoints, against the measured table of the trace's notes, section 6.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/engine/codec_fixture.hpp"

#ifndef REFIT_SOURCE_DIR
#error "REFIT_SOURCE_DIR names the root of the repository"
#endif

namespace refit {
namespace {

using test::Sample;
using test::WordVector;

const std::filesystem::path kTrace =
    std::filesystem::path(REFIT_SOURCE_DIR) / ".." / "shared" / "traces" / "dense";

struct Version {
    Catalog catalog;
    WordVector words;
};

/// A trusted safetensors file of BF16 tensors, in canonical order.
Version read_version(const std::string& name) {
    std::ifstream file(kTrace / name / "model.safetensors", std::ios::binary);
    std::uint64_t header_bytes = 0;
    file.read(reinterpret_cast<char*>(&header_bytes), sizeof(header_bytes));
    std::string header(header_bytes, ' ');
    file.read(header.data(), static_cast<std::streamsize>(header_bytes));
    const auto json = nlohmann::json::parse(header);
    std::vector<TensorSpec> specs;
    for (const auto& [tensor, entry] : json.items()) {
        if (tensor == "__metadata__") continue;
        specs.push_back({tensor, WordType::bf16, entry["shape"].get<std::vector<std::uint64_t>>()});
    }
    Version version{test::make_catalog(std::move(specs)), {}};
    version.words.resize(version.catalog.words().count);
    for (const Tensor& tensor : version.catalog.tensors()) {
        const std::uint64_t begin = json[tensor.name]["data_offsets"][0].get<std::uint64_t>();
        file.seekg(static_cast<std::streamoff>(8 + header_bytes + begin));
        file.read(reinterpret_cast<char*>(version.words.data() + tensor.first_word),
                  static_cast<std::streamsize>(2 * tensor.words));
    }
    EXPECT_TRUE(file.good());
    return version;
}

struct Row {
    const char* codec;
    const char* next;
    double percent;  // of the BF16 bytes
};

TEST(Codec, SizesOnTheDenseTraceAreTheMeasuredOnes) {
    if (!std::filesystem::exists(kTrace / "v2"))
        GTEST_SKIP() << "no trace under " << kTrace << ": sizes are not checked";
    const auto device = make_cpu_device(0);
    const Version base = read_version("v0");
    const Version next[] = {read_version("v1"), read_version("v2")};
    ASSERT_EQ(base.words.size(), 4'574'272u);
    for (const Row row : {Row{"xor-zstd", "v1", 1.22}, Row{"gap-xor-zstd", "v1", 0.77},
                          Row{"index-value", "v1", 2.52}, Row{"xor-zstd", "v2", 1.96},
                          Row{"gap-xor-zstd", "v2", 1.30}, Row{"index-value", "v2", 4.38},
                          Row{"full-zstd", "v1", 78.0}, Row{"full", "v1", 100.0}}) {
        const std::size_t k = std::string_view(row.next) == "v1" ? 0 : 1;
        const Sample sample{base.catalog, base.words, next[k].words};
        test::DeltaOptions options;
        options.codec = row.codec;
        options.unit_words = kUnitWordsMax;
        const auto units = test::encode_units(*device, sample, options);
        ASSERT_EQ(units.size(), 1u);
        const double bf16_bytes = 2.0 * static_cast<double>(base.words.size());
        const double percent = 100 * static_cast<double>(units[0].bytes.size()) / bf16_bytes;
        EXPECT_NEAR(percent, row.percent, 0.03 * row.percent) << row.codec << " to " << row.next;
        RecordProperty(std::string(row.codec) + "_" + row.next, std::to_string(percent));

        const Grid grid(sample.catalog);
        const MemoryWeights weights(sample.catalog, sample.base);
        WordVector decoded = sample.base;
        const Status status = test::decode_payload(
            *device, DeltaContext{sample.catalog, grid, test::kSalt},
            *find_codec(row.codec).value(), make_units(grid, options.unit_words), units[0].bytes,
            {&weights, &decoded});
        ASSERT_TRUE(status.has_value()) << status.error().what;
        EXPECT_EQ(decoded, sample.next) << row.codec << " to " << row.next;
    }
}

}  // namespace
}  // namespace refit
