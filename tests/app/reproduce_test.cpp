// `refit reproduce --quick` once: what the issue wants to be seen, and that all forms of the result
// say the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/app/driver.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class Reproduce : public ::testing::Test {
protected:
    static void SetUpTestSuite() {
        folder_ = new TestFolder;
        outcome_ = new Outcome(
            run_refit({"reproduce", "--quick", "--json", "--out", (*folder_ / "out").string()}));
        document_ = new Json(outcome_->document());
    }
    static void TearDownTestSuite() {
        delete document_;
        delete outcome_;
        delete folder_;
    }
    static double value(const Json& row, const char* key) {
        return row.at(key).is_object() ? row.at(key).at("value").get<double>()
                                       : row.at(key).get<double>();
    }
    static Json headline(const std::string& profile, const std::string& codec) {
        for (const Json& row : (*document_)["table_a"])
            if (row["profile"] == profile && row["codec"] == codec) return row;
        ADD_FAILURE() << profile << " " << codec;
        return {};
    }

    static inline TestFolder* folder_ = nullptr;
    static inline Outcome* outcome_ = nullptr;
    static inline Json* document_ = nullptr;
};

TEST_F(Reproduce, TableAHoldsWhatWasPromised) {
    ASSERT_EQ(outcome_->code, 0) << outcome_->err;
    EXPECT_NEAR(value(headline("adam", "full"), "seconds"), 5250, 0.02 * 5250);
    for (const char* profile : {"adam", "real", "uniform", "constant-density"}) {
        const double seconds = value(headline(profile, "gap-xor-zstd"), "seconds");
        EXPECT_GE(seconds, 110) << profile;
        EXPECT_LE(seconds, 140) << profile;
    }
    EXPECT_LE(value(headline("adam", "xc"), "seconds"), 65);
    EXPECT_LE(value(headline("real", "xc"), "seconds"), 55);
    EXPECT_LE(value(headline("uniform", "xc"), "seconds"), 76.5);
    for (const Json& row : (*document_)["table_a"]) {
        EXPECT_GE(value(row, "wire_share"), 0.97) << row["profile"] << row["codec"];
        EXPECT_LE(value(row, "wire_share"), 1.0);
    }
}

TEST_F(Reproduce, NothingThatWasAnInputIsCalledReproduced) {
    std::set<std::string> seen;
    for (const Json& row : (*document_)["rows"]) {
        seen.insert(row["name"]);
        if (row["name"] == "dcr-1t-3" && row["quantity"] == "full_seconds") {
            EXPECT_EQ(row["verdict"], "calibrated");
        }
        if (row["verdict"] == "reproduced") {
            EXPECT_FALSE(row["ours"].is_null());
            EXPECT_NEAR(row["ratio"].get<double>(), 1, 0.1765) << row;
        }
        EXPECT_FALSE(row["arithmetic"].get<std::string>().empty()) << row;
    }
    EXPECT_EQ(seen.size(), 18u) << "every published row has a verdict";
}

TEST_F(Reproduce, TableBIsTheSameDeltasWithTheFixedCostOnTop) {
    for (const Json& row : (*document_)["table_b"]) {
        const double fixed = value(row, "fixed_seconds");
        EXPECT_NEAR(fixed, 9.57, 0.01);
        const double full = value(row["full"], "seconds");
        EXPECT_NEAR(value(row, "our_speedup"), full / (fixed + value(row["ours"], "seconds")),
                    1e-6);
        if (row["full"]["model"] != "kimi-k2-1t" || row["ours"]["profile"] != "adam") continue;
        const double style = fixed + value(row["published_style"], "seconds");
        const double changed = value(row["ours"], "changed");
        if (changed > 0.025 && changed < 0.035) {
            EXPECT_NEAR(style, 150, 0.15 * 150);
        }
    }
}

TEST_F(Reproduce, TheFactorsOfTheAttributionMultiplyToTheWhole) {
    double product = 1;
    const Json& rows = (*document_)["attribution"];
    for (const Json& row : rows) {
        EXPECT_GE(value(row, "factor"), 1) << row["switched"];
        product *= value(row, "factor");
    }
    ASSERT_EQ(rows.size(), 5u);
    EXPECT_NEAR(product, value(rows.front(), "seconds") / value(rows.back(), "seconds"), 1e-6);
    double before = 0;
    for (const Json& row : (*document_)["links"]) {
        const double seconds = value(row, "our_seconds");
        EXPECT_TRUE(before == 0 || seconds < before);
        before = seconds;
    }
}

TEST_F(Reproduce, TheFolderHoldsTheDocumentItsTablesAndAPicture) {
    const fs::path out = *folder_ / "out";
    Json written = Json::parse(read_text_file(out / "reproduce.json"));
    EXPECT_EQ(written, *document_);
    const std::string svg = read_text_file(out / "reproduce.svg");
    EXPECT_TRUE(svg.starts_with("<svg"));
    EXPECT_NE(svg.find("kimi-k2-1t"), std::string::npos);
    const std::string csv = read_text_file(out / "deltas.csv");
    const auto lines = static_cast<std::size_t>(std::ranges::count(csv, '\n'));
    EXPECT_EQ(lines, 1 + (*document_)["table_a"].size() + 2 * (*document_)["table_b"].size());
    const Outcome markdown =
        run_refit({"reproduce", "--markdown", (out / "reproduce.json").string()});
    ASSERT_EQ(markdown.code, 0) << markdown.err;
    EXPECT_NE(markdown.out.find("| **`xc`** |"), std::string::npos);
    EXPECT_NE(markdown.out.find("not self-consistent"), std::string::npos);
    EXPECT_NE(read_text_file(out / "README.md").find("| adam | xc |"), std::string::npos);

    write_text_file(*folder_ / "bad.json", "{\"schema\": \"refit.reproduce/1\"}");
    const Outcome bad = run_refit({"reproduce", "--markdown", (*folder_ / "bad.json").string()});
    EXPECT_EQ(bad.code, 3);
    EXPECT_TRUE(bad.one_line()) << bad.err;
    const Outcome unknown = run_refit({"reproduce", "nobody"});
    EXPECT_EQ(unknown.code, 3);
    EXPECT_TRUE(unknown.one_line()) << unknown.err;
}

TEST(ReproduceReadme, ShowsWhatTheShippedDocumentSays) {
    const fs::path root = REFIT_SOURCE_DIR;
    const Outcome summary =
        run_refit({"reproduce", "--markdown", (root / "results/measured/reproduce.json").string()});
    ASSERT_EQ(summary.code, 0) << summary.err;
    const std::string readme = read_text_file(root / "README.md");
    EXPECT_NE(readme.find("<!-- refit reproduce -->\n" + summary.out), std::string::npos)
        << "make it again: tests/tools/readme_tables.sh";
}

TEST_F(Reproduce, EveryKeyIsDocumented) {
    const std::string page = read_text_file(fs::path(REFIT_SOURCE_DIR) / "results/README.md");
    const std::size_t first = page.find("## Published figures: `refit.reproduce/1`");
    ASSERT_NE(first, std::string::npos);
    const std::string text = page.substr(first, page.find("\n## ", first + 3) - first);
    const std::function<void(const Json&)> check = [&](const Json& json) {
        if (json.is_array())
            for (const Json& entry : json) check(entry);
        if (!json.is_object()) return;
        for (const auto& [key, entry] : json.items()) {
            const bool figure =
                key == "value" || key == "unit" || key == "provenance" || key == "ci95";
            EXPECT_TRUE(figure || text.find("`" + key + "`") != std::string::npos) << key;
            check(entry);
        }
    };
    check(*document_);
}

}  // namespace
}  // namespace refit
