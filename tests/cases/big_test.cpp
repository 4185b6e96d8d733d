// C12: a tensor of more than 2^31 words in a sparse file. Memory stays far below the file's size.
//
// Sizes   CI takes a slice; REFIT_CASES_BIG=1 the whole: 4.7 GB are written, three times that read.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "tests/app/driver.hpp"
#include "tests/cases/case_files.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kColumns = 8960;
constexpr std::uint64_t kDeltaMax = std::uint64_t{1} << 20;

/// One tensor of zeros, and 1.0 at the places given: the bytes of make_cases.py --big.
void write_sparse(const fs::path& path,
                  std::uint64_t rows,
                  const std::vector<std::uint64_t>& ones) {
    const std::uint64_t words = rows * kColumns;
    std::string json =
        "{" + tensor_entry("ple", "BF16", fmt::format("[{},{}]", rows, kColumns), 0, 2 * words) +
        "}";
    json.append((8 - json.size() % 8) % 8, ' ');
    const std::string header = safetensors_header(json);
    write_text_file(path, header);
    fs::resize_file(path, header.size() + 2 * words);
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    for (const std::uint64_t word : ones) {
        file.seekp(static_cast<std::streamoff>(header.size() + 2 * word));
        file.write("\x80\x3F", 2);
    }
    ASSERT_TRUE(file.flush().good());
}

/// Block by block, because the files are larger than memory should be.
bool equal_files(const fs::path& one, const fs::path& other) {
    if (fs::file_size(one) != fs::file_size(other)) return false;
    std::ifstream left(one, std::ios::binary);
    std::ifstream right(other, std::ios::binary);
    std::string a(std::size_t{4} << 20, 0);
    std::string b(a.size(), 0);
    while (left && right) {
        left.read(a.data(), static_cast<std::streamsize>(a.size()));
        right.read(b.data(), static_cast<std::streamsize>(b.size()));
        if (left.gcount() != right.gcount() || a != b) return false;
    }
    return true;
}

TEST(BigCase, FiveChangesCostAMegabyteAndLittleMemory) {
    const bool whole = std::getenv("REFIT_CASES_BIG") != nullptr;
    const std::uint64_t rows = whole ? 262'144 : 45'056;
    const std::uint64_t words = rows * kColumns;
    // Two batches of both versions: one is read while the other is coded.
    const std::uint64_t memory_max = (std::uint64_t{192} << 20) + kSanitizerMemory;
    std::vector<std::uint64_t> ones{0, words / 3, words / 2, words / 2 + 1, words - 1};
    if (whole) ones = {0, 0x7FFF'FFFF, 0x8000'0000, 0x8000'0001, words - 1};
    const TestFolder folder;
    const std::string base = (folder / "base.safetensors").string();
    const std::string next = (folder / "new.safetensors").string();
    const std::string delta = (folder / "delta.rfd").string();
    const std::string output = (folder / "out.safetensors").string();
    write_sparse(base, rows, {});
    write_sparse(next, rows, ones);

    const Outcome encoded =
        run_refit({"encode", "--base", base, "--new", next, "-o", delta, "--json"});
    ASSERT_EQ(encoded.code, 0) << encoded.err;
    EXPECT_EQ(encoded.document()["changed_words"], 5);
    EXPECT_LE(fs::file_size(delta), kDeltaMax);
    EXPECT_LE(encoded.peak_bytes, memory_max);

    const Outcome applied =
        run_refit({"apply", "--base", base, "--delta", delta, "-o", output, "--json"});
    ASSERT_EQ(applied.code, 0) << applied.err;
    EXPECT_LE(applied.peak_bytes, memory_max);
    EXPECT_TRUE(equal_files(output, next));

    const Outcome verified = run_refit({"verify", output, next});
    EXPECT_EQ(verified.code, 0) << verified.err;
    EXPECT_LE(verified.peak_bytes, memory_max);
    std::printf("%.2f GB a file, peaks of encode, apply, verify: %.0f, %.0f, %.0f MiB\n",
                static_cast<double>(2 * words) / 1e9,
                static_cast<double>(encoded.peak_bytes) / (1 << 20),
                static_cast<double>(applied.peak_bytes) / (1 << 20),
                static_cast<double>(verified.peak_bytes) / (1 << 20));
}

}  // namespace
}  // namespace refit
