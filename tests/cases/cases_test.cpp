// The field cases C01 to C10 through the built program, as single files and as sharded
// directories. What each case is about stands in ../shared/cases/CASES.md.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/base/hash.hpp"
#include "tests/app/driver.hpp"
#include "tests/cases/case_files.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// A header that claims 132 MB in a file of 150 bytes must cost nothing like it.
constexpr std::uint64_t kRefusalMemoryMax = std::uint64_t{64} << 20;

class Cases : public testing::TestWithParam<Form> {
protected:
    void SetUp() override {
        if (!fs::exists(cases_folder() / "manifest.json"))
            GTEST_SKIP() << "../shared/cases/files is not here";
    }

    bool sharded() const { return GetParam() == Form::shards; }

    /// The checkpoint of a case as the command line names it. Shards of base and next differ in
    /// number, so that tensors change their file.
    std::string checkpoint(const Json& file, std::size_t shards) {
        const fs::path given = cases_folder() / file.get<std::string>();
        if (!sharded()) return given.string();
        const fs::path folder = inputs_ / fmt::format("{}-{}", file.get<std::string>(), shards);
        if (!fs::exists(folder)) write_sharded(given, folder, shards);
        return folder.string();
    }
    std::string base_of(const Json& check) { return checkpoint(check["base"], 3); }
    std::string next_of(const Json& check) { return checkpoint(check["new"], 2); }

    std::string output() const { return (outputs_ / "out").string(); }
    std::string delta() const { return (inputs_ / "delta.rfd").string(); }

    Outcome encode(const std::string& base, const std::string& next, const std::string& to) {
        return run_refit({"encode", "--base", base, "--new", next, "-o", to});
    }
    Outcome apply(const std::string& base, const std::string& with) {
        return run_refit({"apply", "--base", base, "--delta", with, "-o", output()});
    }

    /// One line that names the file, and nothing written.
    void expect_refused(const Outcome& outcome, int code, const std::string& file) const {
        EXPECT_EQ(outcome.code, code) << outcome.err;
        EXPECT_TRUE(outcome.one_line()) << outcome.err;
        EXPECT_TRUE(outcome.err.starts_with("refit: " + file + ": ")) << outcome.err;
        EXPECT_TRUE(outputs_.names().empty()) << outputs_.names().front();
        EXPECT_LT(outcome.peak_bytes, kRefusalMemoryMax + kSanitizerMemory);
    }

    /// OUT is the new checkpoint, byte for byte; then it is removed.
    void expect_output(const std::string& next) const {
        EXPECT_TRUE(contents(output()) == contents(next)) << output() << " is not " << next;
        fs::remove_all(output());
        EXPECT_TRUE(outputs_.names().empty()) << outputs_.names().front();
    }

    void round_trip(const Json& check, const std::string& codec);
    void damage(const Json& check);

    TestFolder inputs_;
    TestFolder outputs_;
};

/// Words coded as words, and elements of all other tensors.
std::uint64_t changed_elements(const Json& inspected) {
    std::uint64_t changed = inspected["changed_words"].get<std::uint64_t>();
    if (inspected.contains("opaque"))
        changed += inspected["opaque"]["changed_elements"].get<std::uint64_t>();
    return changed;
}

void Cases::round_trip(const Json& check, const std::string& codec) {
    const std::string next = next_of(check);
    const Outcome encoded = run_refit(
        {"encode", "--base", base_of(check), "--new", next, "-o", delta(), "--codec", codec});
    ASSERT_EQ(encoded.code, 0) << encoded.err;
    EXPECT_EQ(encoded.err, "");

    const Outcome inspected = run_refit({"inspect", delta(), "--json"});
    ASSERT_EQ(inspected.code, 0) << inspected.err;
    EXPECT_EQ(inspected.document()["codec"], codec);
    if (check.contains("changed")) {
        EXPECT_EQ(changed_elements(inspected.document()), check["changed"]);
    }
    const bool sends_everything = codec.starts_with("full");
    if (check.contains("max_delta_bytes") && !sends_everything) {
        EXPECT_LE(fs::file_size(delta()), check["max_delta_bytes"].get<std::uint64_t>());
    }

    const Outcome applied = apply(base_of(check), delta());
    ASSERT_EQ(applied.code, 0) << applied.err;
    if (!sharded()) {
        const std::string written = read_text_file(output());
        EXPECT_EQ(to_hex(sha256(as_byte_span(written))), check["new_sha256"]);
    }
    expect_output(next);
}

std::vector<std::string> codec_names() {
    std::vector<std::string> names;
    const Json document = run_refit({"list", "codecs", "--json"}).document();
    for (const Json& entry : document["entries"]) names.push_back(entry["name"]);
    return names;
}

std::string default_codec() {
    const TestFolder folder;
    write_text_file(folder / "a.safetensors", small_safetensors("a", 1, 8));
    const std::string file = (folder / "a.safetensors").string();
    const auto encoded = run_refit(
        {"encode", "--base", file, "--new", file, "-o", (folder / "d").string(), "--json"});
    return encoded.document()["codec"];
}

TEST_P(Cases, RoundTripsGiveBackEveryByte) {
    const auto codecs = sharded() ? std::vector<std::string>{default_codec()} : codec_names();
    ASSERT_FALSE(codecs.empty());
    std::map<std::string, int> seen;
    for (const Json& check : checks_of("roundtrip")) {
        if (sharded() && check.value("elements", 1) == 0) continue;  // no tensor, no shard
        ++seen[check["id"]];
        for (const std::string& codec : codecs) {
            SCOPED_TRACE(testing::Message()
                         << check["id"] << ", " << check["what"] << ", codec " << codec);
            round_trip(check, codec);
            fs::remove(delta());
            if (fs::exists(output())) fs::remove_all(output());
        }
    }
    for (const char* id : {"C01", "C02", "C03", "C04", "C05", "C06", "C08", "C10"})
        EXPECT_GT(seen[id], 0) << id;
}

TEST_P(Cases, RefusedFilesAreNamedAsBaseAndAsNew) {
    const std::string good = checkpoint("c07/good.safetensors", 2);
    int refused = 0;
    for (const Json& check : checks_of("reject_input")) {
        SCOPED_TRACE(testing::Message() << check["id"] << ", " << check["what"]);
        const fs::path given = cases_folder() / check["file"].get<std::string>();
        std::string bad = given.string();
        std::string named = bad;
        if (sharded()) {
            const fs::path folder = inputs_ / fmt::format("bad-{}", refused);
            write_with_shard(given, folder);
            bad = folder.string();
            named = (folder / kGivenShard).string();
        }
        expect_refused(encode(bad, good, output()), check["exit"], named);
        expect_refused(encode(good, bad, output()), check["exit"], named);
        ++refused;
    }
    EXPECT_EQ(refused, 21);
    EXPECT_EQ(encode(good, good, output()).code, 0);
}

void Cases::damage(const Json& check) {
    const std::string base = base_of(check);
    const std::string next = next_of(check);
    ASSERT_EQ(encode(base, next, delta()).code, 0);
    const std::string whole = read_text_file(delta());
    const std::string damaged = (inputs_ / "damaged.rfd").string();
    for (const std::size_t k : check["damage"]["cut_sixteenths"]) {
        SCOPED_TRACE(testing::Message() << "cut at " << k << "/16");
        write_text_file(damaged, whole.substr(0, whole.size() * k / 16));
        expect_refused(apply(base, damaged), 3, damaged);
    }
    for (const std::size_t k : check["damage"]["flip_sixtyfourths"]) {
        SCOPED_TRACE(testing::Message() << "bit flipped at byte " << k << "/64");
        std::string bytes = whole;
        char& byte = bytes[bytes.size() * k / 64];
        byte = static_cast<char>(byte ^ (1 << (k % 8)));
        write_text_file(damaged, bytes);
        const Outcome outcome = apply(base, damaged);
        if (outcome.code == 0) {
            expect_output(next);
        } else {
            expect_refused(outcome, outcome.code == 4 ? 4 : 3, damaged);
        }
    }
    write_text_file(damaged, whole + std::string(check["damage"]["append"].get<std::size_t>(), 0));
    expect_refused(apply(base, damaged), 3, damaged);
}

TEST_P(Cases, DamagedDeltasAreRefusedOrExact) {
    int damaged = 0;
    for (const Json& check : checks_of("roundtrip")) {
        if (!check.contains("damage")) continue;
        damage(check);
        ++damaged;
    }
    EXPECT_GT(damaged, 0);
}

TEST_P(Cases, ADeltaAppliesToItsBaseOnly) {
    const auto checks = checks_of("chain");
    ASSERT_EQ(checks.size(), 1u);
    std::vector<std::string> versions;
    for (const Json& file : checks[0]["versions"]) versions.push_back(checkpoint(file, 3));
    ASSERT_EQ(versions.size(), 4u);
    const auto delta_to = [&](std::size_t k) { return (inputs_ / fmt::format("d{}", k)).string(); };
    for (std::size_t k = 1; k < versions.size(); ++k)
        ASSERT_EQ(encode(versions[k - 1], versions[k], delta_to(k)).code, 0);

    // In order: each step starts from what the step before wrote.
    std::string current = versions[0];
    for (std::size_t k = 1; k < versions.size(); ++k) {
        ASSERT_EQ(apply(current, delta_to(k)).code, 0);
        current = (inputs_ / fmt::format("applied-{}", k)).string();
        fs::rename(output(), current);
        EXPECT_TRUE(contents(current) == contents(versions[k])) << "version " << k;
    }

    const std::string drifted = checkpoint(checks[0]["drifted"], 3);
    expect_refused(apply(drifted, delta_to(1)), 3, drifted);
    expect_refused(apply(versions[0], delta_to(2)), 3, versions[0]);
    expect_refused(apply(versions[0], delta_to(3)), 3, versions[0]);
    const Outcome twice = apply(versions[1], delta_to(1));
    if (twice.code == 0) {
        expect_output(versions[1]);
    } else {
        expect_refused(twice, 3, versions[1]);
    }
}

INSTANTIATE_TEST_SUITE_P(Of,
                         Cases,
                         testing::Values(Form::file, Form::shards),
                         [](const auto& given) {
                             return given.param == Form::file ? "Files" : "Shards";
                         });

}  // namespace
}  // namespace refit
