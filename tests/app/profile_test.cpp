// What must hold for `refit profile`: the document and the file say the same, every key is
// documented, sizes are those of encode, one step is found from sixteen, text fits, and bad flags
// and files are refused by name and leave nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "app/profile_report.hpp"
#include "engine/codec/codec.hpp"
#include "tests/app/driver.hpp"
#include "workloads/change_profile.hpp"
#include "workloads/checkpoint.hpp"
#include "workloads/trace.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

const fs::path kDense = fs::path(REFIT_SOURCE_DIR) / "workloads/traces/dense";

/// A version of the shipped trace as a checkpoint file: the first one with other words.
void write_version(const fs::path& file, std::uint64_t version) {
    const auto device = make_cpu_device(0);
    const auto trace = open_trace(kDense / "long.toml", *device);
    const auto first = Checkpoint::open(kDense / "v0");
    ASSERT_TRUE(trace.has_value() && first.has_value());
    std::string bytes = read_text_file(kDense / "v0/model.safetensors");
    const Catalog& catalog = trace.value()->catalog();
    for (std::uint32_t id = 0; id < catalog.tensors().size(); ++id) {
        std::vector<std::uint16_t> words(catalog.tensor(id).words);
        trace.value()->version(version).read(id, 0, words);
        std::memcpy(&bytes[first.value()->find(catalog.tensor(id).name)->offset], words.data(),
                    2 * words.size());
    }
    write_text_file(file, bytes);
}

Outcome profile(std::vector<std::string> arguments, const Start& start = {}) {
    arguments.insert(arguments.begin(), "profile");
    return run_refit(arguments, start);
}

void expect_refused_as(const Outcome& outcome, int code, const std::string& start) {
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_TRUE(outcome.one_line()) << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("refit: " + start)) << outcome.err;
    EXPECT_EQ(outcome.out, "");
}

/// Every key of an object, its objects and the entries of its lists.
void collect_keys(const nlohmann::json& json, std::set<std::string>& keys) {
    if (json.is_array())
        for (const auto& entry : json) collect_keys(entry, keys);
    if (!json.is_object()) return;
    for (const auto& [key, value] : json.items()) {
        keys.insert(key);
        collect_keys(value, keys);
    }
}

void expect_documented(const std::set<std::string>& keys) {
    const std::string page = read_text_file(fs::path(REFIT_SOURCE_DIR) / "results/README.md");
    const std::size_t first = page.find("## Two checkpoints: `refit.profile/1`");
    ASSERT_NE(first, std::string::npos);
    const std::string text = page.substr(first, page.find("\n## ", first + 3) - first);
    for (const std::string& key : keys) {
        const bool figure = key == "value" || key == "unit" || key == "provenance";
        EXPECT_TRUE(figure || text.find("`" + key + "`") != std::string::npos) << key;
    }
}

/// A checkpoint with words and other tensors; `byte` differs between two of them.
std::string mixed_file(const TestFolder& folder, const std::string& name, char byte) {
    const std::string json =
        fmt::format("{{{},{},{}}}", tensor_entry("a.0.up", "BF16", "[64,100]", 0, 12800),
                    tensor_entry("b", "F32", "[500000]", 12800, 2'012'800),
                    tensor_entry("c", "F16", "[7]", 2'012'800, 2'012'814));
    std::string text = safetensors_header(json) + std::string(2'012'814, '\x3C');
    text[text.size() - 1] = text[text.size() - 2'012'814 + 7] = byte;
    text[text.size() - 1'000'000] = byte;
    write_text_file(folder / name, text);
    return (folder / name).string();
}

TEST(ProfileCommand, SixteenStepsTellWhatOneChanges) {
    const TestFolder folder;
    write_version(folder / "v16.safetensors", 16);
    const Outcome outcome =
        profile({(kDense / "v0").string(), (folder / "v16.safetensors").string(), "--steps", "16",
                 "--json", "-o", (folder / "p.toml").string()});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto document = outcome.document();
    constexpr double kMeasured = 0.00840243;  // v0 -> v1
    const double one = document["one_step"]["changed"]["value"].get<double>();
    EXPECT_NEAR(one, kMeasured, 0.15 * kMeasured);
    EXPECT_EQ(document["one_step"]["changed"]["provenance"], "extrapolated");
    EXPECT_NEAR(document["changed"]["value"].get<double>(), 0.0627, 0.0001);
    std::set<std::string> keys;
    collect_keys(document, keys);
    expect_documented(keys);

    const auto loaded = load_profile(folder / "p.toml");
    ASSERT_TRUE(loaded.has_value()) << loaded.error().what;
    EXPECT_DOUBLE_EQ(one_step_changed(loaded.value()), one);
    EXPECT_EQ(loaded.value().base, "v0");
    EXPECT_EQ(loaded.value().next, "v16.safetensors");
    EXPECT_EQ(loaded.value().words, document["words"]);
    EXPECT_EQ(loaded.value().codecs.size(), builtin_codecs().size());
    EXPECT_EQ(loaded.value().exponents.size(), document["exponents"].size());
    double exponents = 0;
    for (const auto& row : document["exponents"])
        exponents += row["share"]["value"].get<double>() * row["one_step"]["value"].get<double>();
    EXPECT_NEAR(exponents, one, 1e-12);
    keys.clear();
    for (std::istringstream text(read_text_file(folder / "p.toml")); text;) {
        std::string word;
        std::string last;
        for (; text >> word; last = word) {
            if (word != "=") continue;
            keys.insert(last.substr(last.find_first_not_of('{')));
        }
    }
    EXPECT_GT(keys.size(), 25u);
    expect_documented(keys);
}

TEST(ProfileCommand, SizesAreThoseOfEncodeAndSecondsOfTheLink) {
    const TestFolder folder;
    const TracePair pair = trace_pair(folder);
    const Outcome outcome = profile({pair.base.string(), pair.next.string(), "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto document = outcome.document();
    EXPECT_TRUE(document["one_step"].is_null());
    EXPECT_EQ(document["link"]["bits_per_second"]["value"], 3.128e9);
    EXPECT_EQ(document["codecs"].size(), builtin_codecs().size());
    for (const auto& codec : document["codecs"]) {
        const auto name = codec["name"].get<std::string>();
        const Outcome encoded =
            run_refit({"encode", "--base", pair.base.string(), "--new", pair.next.string(), "-o",
                       (folder / "d").string(), "--codec", name, "--dry-run", "--json"});
        const double bytes = encoded.document()["file_bytes"].get<double>();
        EXPECT_EQ(codec["payload_bytes"]["value"], bytes) << name;
        EXPECT_EQ(codec["payload_bytes"]["provenance"], "measured");
        EXPECT_NEAR(codec["link_seconds"]["value"].get<double>(), bytes * 8 / 3.128e9, 1e-9);
        EXPECT_EQ(codec["link_seconds"]["provenance"], "extrapolated");
        EXPECT_EQ(codec["exact"], true);
        EXPECT_NEAR(codec["bits_per_parameter"]["value"].get<double>() * 4'574'272 / 8,
                    codec["container_bytes"].get<double>(), 1e-3);
        EXPECT_GE(codec["ratio_to_bound"]["value"].get<double>(), 1) << name;
    }
    std::uint64_t changed = document["outside_layers"]["changed_words"].get<std::uint64_t>();
    for (const auto& layer : document["layers"])
        changed += layer["changed_words"].get<std::uint64_t>();
    EXPECT_EQ(changed, 38'435u);
}

TEST(ProfileCommand, OtherTensorsAndOtherLinksAreCounted) {
    const TestFolder folder;
    const std::string base = mixed_file(folder, "base", 'a');
    const std::string next = mixed_file(folder, "next", 'b');
    const auto document =
        profile({base, next, "--link", "8 kbit/s", "--json", "--threads", "1"}).document();
    EXPECT_EQ(document["words"], 6407);
    EXPECT_EQ(document["changed"]["value"], 2.0 / 6407);
    EXPECT_EQ(document["others"]["tensors"], 1);
    EXPECT_EQ(document["others"]["bytes"], 2'000'000);
    EXPECT_EQ(document["others"]["coded_bytes"], 2'000'000);
    EXPECT_EQ(document["exponents"].size(), 4u);
    const auto encoded = run_refit({"encode", "--base", base, "--new", next, "-o",
                                    (folder / "d").string(), "--dry-run", "--json"})
                             .document();
    EXPECT_EQ(document["others"]["payload_bytes"]["value"], encoded["opaque"]["payload_bytes"]);
    const auto& xc = document["codecs"][0];
    EXPECT_NEAR(xc["payload_bytes"]["value"].get<double>(), encoded["file_bytes"].get<double>(),
                500);  // the table of other tensors, records of their chunks
    EXPECT_DOUBLE_EQ(xc["link_seconds"]["value"].get<double>(),
                     xc["payload_bytes"]["value"].get<double>() / 1000);
    EXPECT_EQ(document["link"]["source"], "as given with --link");
}

TEST(ProfileCommand, OtherTensorsAreSampledAsWell) {
    const TestFolder folder;
    const std::string base = mixed_file(folder, "base", 'a');
    const std::string next = mixed_file(folder, "next", 'b');
    int sampled = 0;
    for (const char* seed : {"1", "2", "3", "4", "5", "6"}) {
        const Outcome outcome =
            profile({base, next, "--sample", "99.95%", "--seed", seed, "--json"});
        if (outcome.code == 3) continue;  // the one large tile of words came too early in the draw
        const auto others = outcome.document()["others"];
        const auto coded = others["coded_bytes"].get<std::uint64_t>();
        EXPECT_GT(coded, 0u);
        EXPECT_LT(coded, 2'000'000u);
        EXPECT_EQ(others["payload_bytes"]["provenance"], "extrapolated");
        ++sampled;
    }
    EXPECT_GT(sampled, 0);
}

TEST(ProfileCommand, ASampleRepeatsForOneSeedWhateverTheThreads) {
    const TestFolder folder;
    const TracePair pair = trace_pair(folder);
    const auto sampled = [&](const std::string& seed, const std::string& threads) {
        auto document = profile({pair.base.string(), pair.next.string(), "--sample", "60%",
                                 "--seed", seed, "--threads", threads, "--json"})
                            .document();
        document.erase("host");
        return document;
    };
    const auto one = sampled("1", "1");
    EXPECT_LE(one["sampled_fraction"].get<double>(), 0.6);
    EXPECT_GT(one["sampled_fraction"].get<double>(), 0.3);
    EXPECT_EQ(one["checkpoint_words"], 4'574'272);
    EXPECT_EQ(one["codecs"][0]["payload_bytes"]["provenance"], "extrapolated");
    EXPECT_EQ(sampled("1", "2"), one);
    EXPECT_NE(sampled("2", "2")["kinds"], one["kinds"]);
}

TEST(ProfileCommand, TextFitsAndHoldsWhatMatters) {
    const TestFolder folder;
    const TracePair pair = trace_pair(folder);
    const Outcome outcome = profile({pair.base.string(), pair.next.string(), "--steps", "2"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
    for (const char* word : {"by kind", "down_proj", "by layer", "outside", "by exponent", "2^-10",
                             "one step", "xc", "full-zstd", "bound", "3.128 Gbit/s",
                             "arXiv:2610.08430", "link time only", "extrapolated", "+-1 ULP"})
        EXPECT_NE(outcome.out.find(word), std::string::npos) << word;
}

/// A report of `layers` layers with a codec that broke.
ProfileReport made_report(std::uint64_t layers, std::uint64_t checkpoint_words) {
    ProfileReport report;
    ChangeProfile& p = report.profile;
    p.words = 1000 * layers;
    p.checkpoint_words = checkpoint_words;
    for (std::uint64_t i = 0; i < layers; ++i) p.layers[i] = {1000, 0};
    for (int kind = 0; kind < 40; ++kind)
        p.kinds[std::string(200, 'k') + char('0' + kind)] = {1, 0};
    p.exponents.push_back({WordType::bf16, 120, p.words, 0});
    p.codecs.push_back({"xc", 10});
    report.proofs.push_back({false, "7 words differ"});
    report.link = 1_Gbps;
    report.link_source = "a test";
    return report;
}

TEST(ProfileReport, ManyLayersAreRangesAndABrokenCodecIsTold) {
    std::string text;
    for (const std::string& line : profile_lines(made_report(61, 61'000))) {
        EXPECT_LE(line.size(), 100u) << line;
        text += line + "\n";
    }
    EXPECT_NE(text.find("\n  0 .. 7 "), std::string::npos) << text;
    EXPECT_NE(text.find("\n  54 .. 60 "), std::string::npos) << text;
    EXPECT_NE(text.find("NOT EXACT: 7 words differ"), std::string::npos) << text;
    EXPECT_NE(text.find("24 others"), std::string::npos) << text;
    text.clear();
    for (const std::string& line : profile_lines(made_report(61, 1'000'000))) text += line + "\n";
    EXPECT_NE(text.find("\n  0 .. 15 "), std::string::npos) << text;
    EXPECT_NE(text.find("extrapolated from the measured words"), std::string::npos) << text;
    EXPECT_FALSE(made_report(1, 1000).exact());
    EXPECT_EQ(profile_document(made_report(1, 1000))["codecs"][0]["exact"], false);
}

TEST(ProfileReport, LinkTimesHaveThreeDigits) {
    EXPECT_EQ(link_time_text(150), "150 s");
    EXPECT_EQ(link_time_text(5250), "87.5 min");
    EXPECT_EQ(link_time_text(0.0018), "1.80 ms");
    EXPECT_EQ(link_time_text(0.5721), "572 ms");
    EXPECT_EQ(link_time_text(0.00043), "430 us");
}

TEST(ProfileCommand, BadFlagsAreTwo) {
    const std::vector<std::vector<std::string>> wrong{
        {},
        {"a"},
        {"a", "b", "c"},
        {"a", "b", "--steps", "0"},
        {"a", "b", "--steps", "33"},
        {"a", "b", "--steps", "-1"},
        {"a", "b", "--steps", "1.5"},
        {"a", "b", "--link", "3"},
        {"a", "b", "--link", "fast"},
        {"a", "b", "--link", "0 Gbit/s"},
        {"a", "b", "--link", "3 GB/s"},
        {"a", "b", "--sample", "0"},
        {"a", "b", "--sample", "101%"},
        {"a", "b", "--sample", "nan"},
        {"a", "b", "--threads", "-1"},
    };
    for (const std::vector<std::string>& arguments : wrong) {
        SCOPED_TRACE(fmt::format("{}", fmt::join(arguments, " ")));
        expect_refused_as(profile(arguments), 2, "profile: ");
    }
    expect_refused_as(profile({"a", "b", "--stps", "2"}), 2,
                      "profile: unknown flag --stps; did you mean --steps?");
}

TEST(ProfileCommand, BadFilesAreThreeAndNothingIsLeft) {
    const TestFolder folder;
    write_text_file(folder / "good", small_safetensors("t", 1, 4096));
    write_text_file(folder / "other", small_safetensors("u", 1, 4096));
    write_text_file(folder / "page", "<html></html>");
    const std::string good = (folder / "good").string();
    const std::string other = (folder / "other").string();
    const std::string out = (folder / "p.toml").string();
    const auto before = folder.names();
    for (const char* name : {"none", "page"}) {
        const std::string bad = (folder / name).string();
        expect_refused_as(profile({bad, good, "-o", out}), 3, bad + ": ");
        expect_refused_as(profile({good, bad, "-o", out}), 3, bad + ": ");
    }
    expect_refused_as(profile({good, other, "-o", out}), 3, other + ": has no BF16 or F16");
    expect_refused_as(profile({good, good, "--sample", "0.5", "-o", out}), 3, good + ": ");
    expect_refused_as(profile({good, good, "-o", good}), 3, good + ": is an input");
    expect_refused_as(profile({good, good, "-o", folder.path().string()}), 3,
                      folder.path().string() + ": ");
    expect_refused_as(profile({good, good, "-o", (folder / "no/p.toml").string()}), 3,
                      (folder / "no/p.toml").string() + ": ");
    EXPECT_EQ(profile({good, good, "-o", out}, {.file_limit = 64, .extra = {}}).code, 1);
    expect_refused_as(profile({good, good, "-o", out}, {.interrupted = true, .extra = {}}), 130,
                      "interrupted");
    EXPECT_EQ(folder.names(), before);
    const Outcome same = profile({good, good, "-o", out, "--steps", "9"});
    EXPECT_EQ(same.code, 0) << same.err;
    EXPECT_TRUE(load_profile(out).has_value());
}

}  // namespace
}  // namespace refit
