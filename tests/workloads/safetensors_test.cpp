// What must hold for headers and indexes of untrusted checkpoints: the reference reader's rules,
// and whatever else arrives is refused in one line.
#include "workloads/safetensors.hpp"

#include <gtest/gtest.h>

#include "engine/base/rng.hpp"
#include "tests/support/files.hpp"
#include "workloads/safetensors_json.hpp"

namespace refit {
namespace {

Result<std::vector<FileTensor>> parse(std::string_view json) {
    return parse_safetensors_header(as_byte_span(safetensors_header(json)));
}

/// The sentence it is refused with.
std::string refusal(std::string_view json) {
    const auto parsed = parse(json);
    if (parsed.has_value()) return "accepted";
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid_input);
    EXPECT_EQ(parsed.error().what.find_first_of("\n\r\0"), std::string::npos);
    return parsed.error().what;
}

void expect_refused(std::string_view json, std::string_view reason) {
    const std::string what = refusal(json);
    EXPECT_NE(what.find(reason), what.npos) << json.substr(0, 200) << " -> " << what;
}

TEST(SafetensorsHeader, ReadsEveryFieldAndSortsByData) {
    const auto parsed =
        parse("{\"__metadata__\":{\"k\":\"v\"}," + tensor_entry("b", "F32", "[2,3]", 4, 28) + "," +
              tensor_entry("a", "BF16", "[2]", 0, 4) + "," +
              tensor_entry("c", "I64", "[]", 28, 36) + "}   ");
    ASSERT_TRUE(parsed.has_value()) << parsed.error().what;
    const auto& tensors = parsed.value();
    ASSERT_EQ(tensors.size(), 3u);
    EXPECT_EQ(tensors[0].name, "a");
    EXPECT_EQ(tensors[1].name, "b");
    EXPECT_EQ(tensors[1].dtype, "F32");
    EXPECT_EQ(tensors[1].shape, (std::vector<std::uint64_t>{2, 3}));
    EXPECT_EQ(tensors[1].begin, 4u);
    EXPECT_EQ(tensors[1].end, 28u);
    EXPECT_TRUE(tensors[2].shape.empty());
}

TEST(SafetensorsHeader, KnowsEveryDtypeOfTheReferenceReader) {
    const std::vector<std::pair<const char*, std::uint64_t>> bits{
        {"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
        {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
        {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
        {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
        {"I64", 64},        {"U64", 64},
    };
    for (const auto& [dtype, width] : bits) {
        EXPECT_TRUE(
            parse(std::string("{") + tensor_entry("t", dtype, "[8]", 0, width) + "}").has_value())
            << dtype;
        expect_refused(std::string("{") + tensor_entry("t", dtype, "[8]", 0, width + 1) + "}",
                       "its shape needs");
    }
    expect_refused(std::string("{") + tensor_entry("t", "F4", "[3]", 0, 1) + "}", "inside a byte");
    for (const char* unknown : {"BF17", "bf16", "", "F128"})
        expect_refused(std::string("{") + tensor_entry("t", unknown, "[0]", 0, 0) + "}",
                       "unknown dtype");
}

TEST(SafetensorsHeader, AcceptsEmptyTensorsAnywhereAndNoTensorAtAll) {
    EXPECT_TRUE(parse("{}").has_value());
    EXPECT_TRUE(parse("{\"__metadata__\":{}}").has_value());
    EXPECT_TRUE(parse(std::string("{") + tensor_entry("a", "BF16", "[0]", 0, 0) + "," +
                      tensor_entry("b", "BF16", "[2]", 0, 4) + "," +
                      tensor_entry("c", "BF16", "[3,0,5]", 4, 4) + "}")
                    .has_value());
    expect_refused(std::string("{") + tensor_entry("a", "BF16", "[0]", 2, 2) + "," +
                       tensor_entry("b", "BF16", "[2]", 0, 4) + "}",
                   "inside the tensor before it");
}

TEST(SafetensorsHeader, RefusesHolesOverlapsAndReversedRanges) {
    const std::string a = tensor_entry("a", "BF16", "[2]", 0, 4);
    expect_refused(std::string("{") + tensor_entry("a", "BF16", "[2]", 4, 8) + "}", "bytes 0 to 4");
    expect_refused(std::string("{") + a + "," + tensor_entry("b", "BF16", "[2]", 8, 12) + "}",
                   "bytes 4 to 8");
    expect_refused(std::string("{") + a + "," + tensor_entry("b", "BF16", "[2]", 2, 6) + "}",
                   "inside");
    expect_refused(std::string("{") + a + "," + tensor_entry("b", "BF16", "[2]", 0, 4) + "}",
                   "inside");
    expect_refused(std::string("{") + tensor_entry("a", "BF16", "[2]", 4, 0) + "}",
                   "before its begin");
}

TEST(SafetensorsHeader, RefusesShapesThatOverflowInAnyOrder) {
    const std::string half = "4294967296";
    expect_refused(std::string("{") +
                       tensor_entry("a", "BF16", std::string("[") + half + "," + half + "]", 0, 0) +
                       "}",
                   "overflows");
    expect_refused(
        std::string("{") +
            tensor_entry("a", "BF16", std::string("[") + half + "," + half + ",0]", 0, 0) + "}",
        "overflows");
    expect_refused(
        std::string("{") + tensor_entry("a", "BF16", "[2305843009213693952]", 0, 0) + "}",
        "overflows");  // 2^61 words: only the bits pass 2^64
    EXPECT_TRUE(parse(std::string("{") +
                      tensor_entry("a", "U8", "[2305843009213693951]", 0, 2305843009213693951u) +
                      "}")
                    .has_value());
}

TEST(SafetensorsHeader, TakesNoNumberForAnExtentButNaturals) {
    for (const char* bad : {"-1", "-0", "2.0", "2e0", "18446744073709551616", "\"2\"", "null",
                            "true", "[2]", "{}", "{\"x\":2}"}) {
        expect_refused(
            std::string("{") +
                tensor_entry("a", "BF16", std::string("[") + std::string(bad) + "]", 0, 4) + "}",
            "bad shape");
        expect_refused("{\"a\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0," +
                           std::string(bad) + "]}}",
                       "bad data_offsets");
    }
    for (const char* bad : {"2", "{\"\":2}", "null", "\"[2]\""})
        expect_refused(std::string("{") + tensor_entry("a", "BF16", bad, 0, 4) + "}", "bad shape");
}

TEST(SafetensorsHeader, TakesAnAbsentMetadataAndNoOtherForms) {
    EXPECT_TRUE(parse(R"({"__metadata__":null})").has_value());
    for (const char* bad :
         {R"({"__metadata__":{"k":null}})", R"({"__metadata__":"k"})", R"({"__metadata__":7})",
          R"({"__metadata__":[["k","v"]]})", R"({"\u005f_metadata__":{"k":1}})"})
        expect_refused(bad, "__metadata__");
    // The reference reader would take these two for a tensor and a dtype.
    expect_refused(R"({"a":["BF16",[0],[0,0]]})", "badly");
    expect_refused(R"({"a":{"dtype":{"BF16":null},"shape":[0],"data_offsets":[0,0]}})",
                   "bad dtype");
}

TEST(SafetensorsHeader, RefusesMissingAndExtraParts) {
    expect_refused(R"({"a":{"shape":[2],"data_offsets":[0,4]}})", "lacks");
    expect_refused(R"({"a":{"dtype":"BF16","data_offsets":[0,4]}})", "lacks");
    expect_refused(R"({"a":{"dtype":"BF16","shape":[2]}})", "lacks");
    expect_refused(R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0]}})", "lacks");
    expect_refused(R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4,4]}})", "data_offsets");
    expect_refused(R"({"a":{"dtype":["BF16"],"shape":[2],"data_offsets":[0,4]}})", "bad dtype");
    expect_refused(R"({"a":[1]})", "badly");
    expect_refused(R"({"__metadata__":[]})", "__metadata__");
    expect_refused(R"({"__metadata__":{"a":{"b":"c"}}})", "__metadata__");
    EXPECT_TRUE(  // other fields are none of our business
        parse(R"({"a":{"dtype":"BF16","x":{"y":[1]},"shape":[2],"data_offsets":[0,4]}})")
            .has_value());
}

TEST(SafetensorsHeader, RefusesAKeyTwiceAtEveryLevel) {
    const std::string a = tensor_entry("a", "BF16", "[0]", 0, 0);
    expect_refused(std::string("{") + a + "," + a + "}", "twice");
    expect_refused(std::string("{") + a + "," + tensor_entry("\\u0061", "BF16", "[0]", 0, 0) + "}",
                   "twice");
    expect_refused(R"({"a":{"dtype":"BF16","shape":[0],"shape":[0],"data_offsets":[0,0]}})",
                   "twice");
    expect_refused(R"({"__metadata__":{"k":"1","k":"2"}})", "twice");
    expect_refused(R"({"__metadata__":{},"__metadata__":{}})", "twice");
    expect_refused(R"({"a":{"dtype":"BF16","shape":[0],"x":{"y":1,"y":1},"data_offsets":[0,0]}})",
                   "twice");
}

TEST(SafetensorsHeader, RefusesWhatIsNotStrictJson) {
    const std::string json = std::string("{") + tensor_entry("a", "BF16", "[0]", 0, 0) + "}";
    const std::vector<std::string> not_json{
        json + "x",
        json + json,
        json.substr(1),
        std::string(" ") + json,
        "[]",
        std::string("\xEF\xBB\xBF") + json,
        std::string("/* */") + json,
        "{\"a\":}",
        "{'a':1}",
        "nul",
        "",
        "{\"a\":\"\x01\"}",
        "{\"\xC3\x28\":{}}",
    };
    for (const std::string& bad : not_json) {
        EXPECT_NE(refusal(bad), "accepted") << bad;
    }
    expect_refused(json + std::string("\0 anything", 10), "not valid JSON at byte");
    expect_refused(std::string("{\"a\":{\"x\":") + std::string(1'000'000, '[') + "}}", "deeper");
}

TEST(SafetensorsHeader, RefusesEveryTruncationOfAHeader) {
    const std::string header =
        safetensors_header(std::string("{") + tensor_entry("a", "BF16", "[2]", 0, 4) + "}");
    ASSERT_TRUE(parse_safetensors_header(as_byte_span(header)).has_value());
    for (std::size_t keep = 0; keep < header.size(); ++keep) {
        EXPECT_FALSE(parse_safetensors_header(as_byte_span(header.substr(0, keep))).has_value());
        if (keep >= 8) {  // and with a length that fits what is left
            EXPECT_NE(refusal(header.substr(8, keep - 8)), "accepted");
        }
    }
    EXPECT_FALSE(parse_safetensors_header(as_byte_span(header + " ")).has_value());
}

TEST(SafetensorsHeader, ChecksTheClaimedLengthBeforeAnythingElse) {
    for (const std::uint64_t claimed :
         {std::uint64_t{9}, kHeaderJsonMax, kHeaderJsonMax + 1, std::uint64_t{1} << 63,
          ~std::uint64_t{0}, ~std::uint64_t{0} - 7}) {
        ByteWriter writer;
        writer.write(claimed);
        writer.append(as_byte_span("{}      "));
        const auto found = find_safetensors_header(writer.bytes());
        ASSERT_FALSE(found.has_value()) << claimed;
        EXPECT_NE(found.error().what.find(std::to_string(claimed)), std::string::npos);
    }
}

TEST(SafetensorsHeader, NamesWhatAForeignFileReallyIs) {
    const std::vector<std::pair<std::string, std::string>> files{
        {"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "Git LFS pointer"},
        {"<!DOCTYPE html><html>", "web page"},
        {"<html><body>503", "web page"},
        {"\n\n  <!DOCTYPE html><html>", "web page"},
        {R"({"error":"Repository not found"})", "JSON text"},
        {std::string("PK\x03\x04\0\0\x08\x08\0\0\0\0", 12), "PyTorch archive"},
        {std::string("PK\x03\x04\0\0\0\0\0\0\0\0", 12), "PyTorch archive"},
        {std::string("\x80\x02\x8A\x0Al\xFC\x9C\x46\xF9 j", 12), "old PyTorch file"},
        {std::string("GGUF\x03\0\0\0\0\0\0\0", 12), "GGUF"},
        {std::string("\x89HDF\r\n\x1A\n\0\0\0\0", 12), "HDF5"},
        {std::string("\x93NUMPY\x01\0v\0{'", 12), "NumPy"},
        {std::string("\x1F\x8B\x08\0\0\0\0\0\0\x03\xCB\x48", 12), "gzip"},
    };
    for (const auto& [bytes, what] : files) {
        const auto found = find_safetensors_header(as_byte_span(bytes));
        ASSERT_FALSE(found.has_value()) << what;
        EXPECT_NE(found.error().what.find(what), std::string::npos) << found.error().what;
    }
}

TEST(SafetensorsHeader, MessagesStayOneShortLineWhateverTheName) {
    const std::string what =
        refusal(R"({"a\nb\u0000c":{"dtype":"BF17","shape":[0],"data_offsets":[0,0]}})");
    EXPECT_NE(what.find("unknown dtype"), what.npos) << what;
    const std::string name(1'000'000, 'n');
    EXPECT_LT(refusal(std::string("{") + tensor_entry(name, "BF17", "[0]", 0, 0) + "}").size(),
              300u);
    EXPECT_LT(refusal(std::string("{") + tensor_entry("t", name, "[0]", 0, 0) + "}").size(), 300u);
    EXPECT_LT(refusal(std::string("{\"") + name + "\":1,\"" + name + "\":1}").size(), 300u);
}

/// Random damage: refused, or still a header whose tensors cover the data exactly.
TEST(SafetensorsHeader, SurvivesRandomDamage) {
    const std::string json = "{\"__metadata__\":{\"format\":\"pt\"}," +
                             tensor_entry("w.a", "BF16", "[3,2]", 0, 12) + "," +
                             tensor_entry("w.b", "F32", "[2]", 12, 20) + "}";
    std::size_t accepted = 0;
    for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Rng rng(seed, 1);
        std::string damaged = json;
        for (std::uint64_t n = 1 + rng.below(3); n > 0; --n) {
            constexpr std::string_view kBytes = "{}[]\",:0123456789-eBF\\ \0\xFFx";
            char& byte = damaged[rng.below(damaged.size())];
            byte = kBytes[rng.below(kBytes.size())];
        }
        const auto parsed = parse(damaged);
        if (!parsed.has_value()) continue;
        ++accepted;
        std::uint64_t end = 0;
        for (const FileTensor& tensor : parsed.value()) {
            ASSERT_EQ(tensor.begin, end);
            end = tensor.end;
        }
    }
    EXPECT_GT(accepted, 0u);  // damage to names and metadata is invisible
    EXPECT_LT(accepted, 10'000u);
}

std::string index_refusal(std::string_view json) {
    const auto parsed = parse_safetensors_index(as_byte_span(json));
    return parsed.has_value() ? "accepted" : parsed.error().what;
}

TEST(SafetensorsIndex, ReadsTheMapAndIgnoresTheRest) {
    const auto parsed = parse_safetensors_index(
        as_byte_span(R"({"metadata":{"total_size":1.5e9,"x":[{"weight_map":{}}]},"weight_map":)"
                     R"({"b":"model-00001-of-000062.safetensors","a":"x.safetensors"}})"));
    ASSERT_TRUE(parsed.has_value()) << parsed.error().what;
    using Entry = std::pair<std::string, std::string>;
    EXPECT_EQ(parsed.value(), (std::vector<Entry>{{"a", "x.safetensors"},
                                                  {"b", "model-00001-of-000062.safetensors"}}));
}

TEST(SafetensorsIndex, RefusesWhatIsNoMapOfPlainNames) {
    EXPECT_NE(index_refusal("{}").find("no weight_map"), std::string::npos);
    EXPECT_NE(index_refusal(R"({"weight_map":[]})").find("not an object"), std::string::npos);
    EXPECT_NE(
        index_refusal(R"({"weight_map":{"a":"x.safetensors","a":"x.safetensors"}})").find("twice"),
        std::string::npos);
    EXPECT_NE(index_refusal("{\"weight_map\":{\"a\":\"x.safe").find("not valid JSON"),
              std::string::npos);
    for (const char* name :
         {"\"../x.safetensors\"", "\"/x.safetensors\"", "\"d/x.safetensors\"", "\"..safetensors\"",
          "\".safetensors\"", "\".x.safetensors\"", "\"\"", "\"x.bin\"",
          "\"model.safetensors.index.json\"", "1", "null", "{\"b\":\"x.safetensors\"}",
          "\"x\\u0000.safetensors\"", "\"d\\\\x.safetensors\""}) {
        const std::string what =
            index_refusal(std::string("{\"weight_map\":{\"a\":") + std::string(name) + "}}");
        EXPECT_NE(what.find("no plain name"), what.npos) << name << " -> " << what;
    }
}

}  // namespace
}  // namespace refit
