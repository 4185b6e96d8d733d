// What must hold for the file of published figures: every row is read as it was written, and what
// is not such a file is refused in one line that names the place.
#include "workloads/published.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/base/rng.hpp"
#include "tests/support/files.hpp"

#ifndef REFIT_SOURCE_DIR
#error "REFIT_SOURCE_DIR names the root of the repository"
#endif

namespace refit {
namespace {

namespace fs = std::filesystem;

const fs::path kFile = fs::path(REFIT_SOURCE_DIR) / "workloads" / "published.csv";

const std::string kHeader =
    "id,system,source,model,parameters,word_bits,full_bytes,changed,payload_bytes,seconds,"
    "full_seconds,speedup,byte_ratio,saving,anchor_every,link,link_bits_per_second,style,time_fit,"
    "rate_origin,inferred,note\n";

/// One row, of which some fields differ from a sound one.
std::string row_with(const std::vector<std::pair<std::size_t, std::string>>& changes) {
    std::vector<std::string> fields(22);
    fields[0] = "a";
    fields[1] = "System";
    fields[2] = "paper";
    fields[3] = "7B";
    fields[5] = "16";
    fields[9] = "12";
    fields[19] = "none";
    for (const auto& [index, text] : changes) fields[index] = text;
    std::string line;
    for (std::size_t i = 0; i < fields.size(); ++i) line += (i == 0 ? "" : ",") + fields[i];
    return line + "\n";
}

PublishedRow read_row(const std::string& line) {
    auto rows = parse_published(kHeader + line, "f");
    EXPECT_TRUE(rows.has_value()) << line << (rows.has_value() ? "" : rows.error().what);
    return rows.has_value() ? rows.value().at(0) : PublishedRow{};
}

void expect_refused(const std::string& text, const std::string& where, const std::string& what) {
    const auto rows = parse_published(text, "f");
    ASSERT_FALSE(rows.has_value()) << text;
    EXPECT_EQ(rows.error().code, ErrorCode::invalid_input);
    EXPECT_EQ(rows.error().where, where) << rows.error().what;
    EXPECT_NE(rows.error().what.find(what), std::string::npos) << rows.error().what;
}

TEST(Published, ShippedFileIsTheReferenceRowByRow) {
    const auto rows = load_published(kFile);
    ASSERT_TRUE(rows.has_value()) << rows.error().where << ": " << rows.error().what;
    EXPECT_EQ(rows.value().size(), 18u);
    const fs::path reference = kFile.parent_path() / "../../shared/reference/published.csv";
    if (!fs::exists(reference)) GTEST_SKIP() << "no reference beside the repository";
    std::ifstream stream(reference);
    std::string line;
    std::getline(stream, line);
    for (const PublishedRow& row : rows.value()) {
        ASSERT_TRUE(std::getline(stream, line)) << row.id;
        EXPECT_EQ(line.rfind(row.id + "," + row.system + ",", 0), 0u) << line;
    }
    EXPECT_FALSE(std::getline(stream, line)) << line;
}

TEST(Published, FieldsAreReadAsWritten) {
    const PublishedRow row = read_row(row_with({{1, "\"A \"\"b\"\", c\""},
                                                {4, "1e9-2.5e9"},
                                                {6, "1e9/2e9-3e9"},
                                                {7, "1e-3-2E-3"},
                                                {10, "0.5/0.75-1"},
                                                {11, "12-40"},
                                                {17, "gap-xor-zstd"},
                                                {19, "forced"},
                                                {20, "a b = 3 % (of (x)); c = d (e)"}}));
    EXPECT_EQ(row.system, "A \"b\", c");
    EXPECT_EQ(row.parameters->low, 1e9);
    EXPECT_EQ(row.parameters->high, 2.5e9);
    ASSERT_EQ(row.full_bytes.size(), 2u);
    EXPECT_EQ(row.full_bytes[0].high, 1e9);
    EXPECT_EQ(row.full_bytes[1].high, 3e9);
    EXPECT_EQ(row.changed->low, 1e-3);
    EXPECT_EQ(row.changed->high, 2e-3);
    EXPECT_EQ(row.full_seconds[1].low, 0.75);
    EXPECT_EQ(row.seconds->low, 12);
    EXPECT_EQ(row.seconds->high, 12);
    EXPECT_EQ(row.speedup->high, 40);
    EXPECT_FALSE(row.payload_bytes.has_value());
    EXPECT_EQ(row.style, "gap-xor-zstd");
    EXPECT_EQ(row.rate_origin, RateOrigin::forced);
    ASSERT_EQ(row.inferred.size(), 2u);
    EXPECT_EQ(row.inferred[0].name, "a b");
    EXPECT_EQ(row.inferred[0].value, "3 %");
    EXPECT_EQ(row.inferred[0].from, "of (x)");
    EXPECT_EQ(row.inferred[1].from, "e");
}

TEST(Published, LineEndsMayBeThoseOfTheRfc) {
    std::string text = kHeader + row_with({});
    std::string crlf;
    for (const char c : text) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
    EXPECT_TRUE(parse_published(crlf, "f").has_value());
    text.pop_back();
    EXPECT_TRUE(parse_published(text, "f").has_value());
}

TEST(Published, WhatIsNoFieldIsRefused) {
    const std::vector<std::tuple<std::size_t, std::string, std::string>> cases = {
        {0, "", "id: is missing"},
        {1, "\"open", "a quote is not closed"},
        {1, "\"a\"b", "text behind a closing quote"},
        {1, "a\"b", "a quote inside a plain field"},
        {1, "a\tb", "not printable"},
        {1, "\xC3\xA4", "not printable"},
        {2, "", "source: is missing"},
        {4, "many", "parameters: \"many\" is no number"},
        {4, "-3", "is no number"},
        {4, ".5", "is no number"},
        {4, "+5", "is no number"},
        {4, "nan", "is no number"},
        {4, "inf", "is no number"},
        {4, "0x10", "is no number"},
        {4, "1e999", "is no number"},
        {4, "1e19", "is no number"},
        {4, " 3", "is no number"},
        {4, "3 ", "is no number"},
        {4, "3-", "is no number"},
        {4, "1-2-3", "is no number"},
        {4, "1e-", "is no number"},
        {4, "0", "0 is nothing"},
        {4, "3-2", "the range 3-2 runs backwards"},
        {5, "", "word_bits"},
        {5, "12", "is not 4, 8, 16 or 32"},
        {6, "1/", "full_bytes: \"\" is no number"},
        {6, "1/2", "2 full_bytes beside 0 full_seconds"},
        {7, "1.5", "changed: 1.5 is more than 1"},
        {9, "", "the row claims nothing"},
        {10, "1/2", "2 full_seconds beside 0 full_bytes"},
        {17, "zip", "style: there is no codec \"zip\""},
        {19, "", "rate_origin"},
        {19, "guess", "is not step, forced, unknown or none"},
        {20, "a = b", "is not NAME = VALUE (FROM)"},
        {20, "a (b) = c", "is not NAME = VALUE (FROM)"},
        {20, "a = b (c); ", "is not NAME = VALUE (FROM)"},
        {20, " = b (c)", "is not NAME = VALUE (FROM)"},
        {21, "a,b", "23 fields, the header has 22"}};
    for (const auto& [index, text, what] : cases)
        expect_refused(kHeader + row_with({{0, "ok"}}) + row_with({{index, text}}), "f:3", what);
}

TEST(Published, WhatIsNoTableIsRefused) {
    expect_refused("", "f:1", "column 1 is \"\", expected id");
    expect_refused(kHeader, "f:1", "no rows");
    expect_refused(row_with({}), "f:1", "column 1 is \"a\", expected id");
    expect_refused("id,system\n", "f:1", "the column source is missing");
    expect_refused(kHeader.substr(0, kHeader.size() - 1) + ",more\n", "f:1", "unknown column");
    expect_refused(kHeader + row_with({}) + "\n" + row_with({{0, "b"}}), "f:3", "1 fields");
    expect_refused(kHeader + row_with({}) + row_with({}), "f:3", "the id a is there twice");
    expect_refused(kHeader + std::string(1, '\0') + "\n", "f:2", "not printable");
    expect_refused(kHeader + row_with({{21, std::string(4096, 'x')}}), "f:2", "the limit is 4096");
    std::string many = kHeader;
    for (int i = 0; i <= 1000; ++i) many += row_with({{0, fmt::format("r{}", i)}});
    expect_refused(many, "f:1002", "more than 1000 rows");
}

TEST(Published, FilesThatAreNotThereOrTooLargeAreRefused) {
    const TestFolder folder;
    const auto missing = load_published(folder / "no.csv");
    ASSERT_FALSE(missing.has_value());
    EXPECT_EQ(missing.error().code, ErrorCode::not_found);
    EXPECT_EQ(missing.error().where, (folder / "no.csv").string());
    write_text_file(folder / "large.csv", std::string((1u << 20) + 1, 'x'));
    EXPECT_FALSE(load_published(folder / "large.csv").has_value());
    EXPECT_FALSE(load_published(folder.path()).has_value());
}

TEST(Published, EveryTruncationAndByteIsRefusedInOneLineOrRead) {
    std::ifstream stream(kFile, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    ASSERT_GT(text.size(), 1000u);
    const auto expect_sound = [](const std::string& damaged) {
        const auto rows = parse_published(damaged, "f");
        if (rows.has_value()) return;
        EXPECT_EQ(rows.error().where.rfind("f:", 0), 0u);
        EXPECT_TRUE(std::ranges::all_of(rows.error().what, [](char c) {
            return c >= ' ' && c <= '~';
        })) << rows.error().what;
    };
    for (std::size_t size = 0; size < text.size(); size += 7) expect_sound(text.substr(0, size));
    constexpr std::uint64_t kSeed = 6;
    Rng rng(kSeed, 0);
    for (int i = 0; i < 2000; ++i) {
        std::string damaged = text;
        damaged[rng.below(damaged.size())] = static_cast<char>(rng.next() & 0xFF);
        SCOPED_TRACE(fmt::format("seed {}, damage {}", kSeed, i));
        expect_sound(damaged);
    }
}

TEST(Published, ClaimsAreAFewWords) {
    EXPECT_EQ(claims(read_row(row_with({{7, "0.03"}, {8, "5.608e9"}, {11, "12-40"}}))),
              "3 % changed, 5.608 GB, 12 s, 12-40 times faster");
    EXPECT_EQ(claims(read_row(row_with({{7, "0-0.01"}, {8, "20e6-35e6"}, {9, "0-60"}}))),
              "under 1 % changed, 20-35 MB, under 60 s");
    EXPECT_EQ(claims(read_row(row_with(
                  {{6, "1e9/2e9"}, {9, ""}, {10, "0.5-1/2"}, {13, "0.94"}, {17, "full"}}))),
              "full checkpoint, full in 0.5-1/2 s, 94 % saved");
    EXPECT_EQ(claims(read_row(row_with({{12, "50"}}))), "12 s, 50 times fewer bytes");
    EXPECT_EQ(words_text({1e9, 30.5e9}), "1-30.5 billion");
    EXPECT_EQ(words_text({5e5, 5e5}), "5e+05");
}

}  // namespace
}  // namespace refit
