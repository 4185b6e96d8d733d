// The command line itself: usage errors are 2 with a hint, documents are whole, help is true.
#include <gtest/gtest.h>

#include "app/format.hpp"
#include "app/progress.hpp"
#include "tests/app/driver.hpp"

namespace refit {
namespace {

void expect_usage(const std::vector<std::string>& arguments, const std::string& what) {
    const Outcome outcome = run_refit(arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_TRUE(outcome.one_line()) << outcome.err;
    EXPECT_EQ(outcome.err.rfind("refit: ", 0), 0u) << outcome.err;
    EXPECT_NE(outcome.err.find(what), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out, "");
}

TEST(Usage, MistakesAreTwoWithAHint) {
    expect_usage({"enocde"}, "unknown command enocde; did you mean encode?");
    expect_usage({"fly"}, "unknown command fly");
    expect_usage({"--jsn"}, "unknown flag --jsn; did you mean --json?");
    expect_usage({"encode", "--bse", "a"}, "encode: unknown flag --bse; did you mean --base?");
    expect_usage({"encode", "--bse=a"}, "encode: unknown flag --bse; did you mean --base?");
    expect_usage({"encode", "--base", "a", "--new", "b"}, "--output is required");
    expect_usage({"encode", "--base", "a", "--new", "b", "-o", "c", "--codec", "zip"}, "--codec");
    expect_usage({"encode", "--base", "a", "--new", "b", "-o", "c", "--threads", "-1"},
                 "--threads");
    expect_usage({"inspect", "a", "b"}, "inspect: unexpected argument b");
    expect_usage({"verify"}, "verify");
    expect_usage({"verify", "a"}, "verify");
    expect_usage({"verify", "a", "b", "--base", "c"}, "verify");
    expect_usage({"verify", "--base", "a", "--delta", "b"}, "verify");
    expect_usage({"list", "rockets"}, "rockets");
    expect_usage({"map", "a", "--train", "zigzag:z3", "--serve", "tp:tp2"}, "--train");
    expect_usage({"list", "codecs", "--progress", "loud"}, "--progress");
}

TEST(Usage, BareProgramAsksTheQuestionsItCanAnswer) {
    const Outcome bare = run_refit({});
    EXPECT_EQ(bare.code, 0);
    EXPECT_NE(bare.out.find("profile, bench, encode, apply, verify, inspect"), std::string::npos);
    EXPECT_NE(bare.out.find("refit --help"), std::string::npos);
    for (const char* later : {"sweep", "demo", "launch"})
        EXPECT_EQ(bare.out.find(later), std::string::npos) << later;
}

TEST(Usage, HelpAndVersionAreOnStdout) {
    const Outcome version = run_refit({"--version"});
    EXPECT_EQ(version.code, 0);
    EXPECT_EQ(version.out.rfind("refit ", 0), 0u);
    const Outcome help = run_refit({"encode", "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_NE(help.out.find("--codec"), std::string::npos);
    EXPECT_EQ(help.err, "");
}

TEST(Usage, EveryListAndDoctorIsOneDocument) {
    for (const char* topic : {"codecs", "scenarios", "topologies", "layouts", "backends", "links",
                              "models", "profiles", "presets", "published"}) {
        const Outcome listed = run_refit({"list", topic, "--json"});
        EXPECT_EQ(listed.code, 0) << listed.err;
        const auto document = listed.document();
        ASSERT_TRUE(document.is_object()) << topic;
        EXPECT_EQ(document["schema"], "refit.list/1");
        EXPECT_FALSE(document["entries"].empty()) << topic;
        EXPECT_FALSE(run_refit({"list", topic}).out.empty());
    }
    const auto doctor = run_refit({"doctor", "--json"}).document();
    EXPECT_EQ(doctor["schema"], "refit.doctor/1");
    for (const auto& finding : doctor["findings"])
        EXPECT_FALSE(finding["state"].get<std::string>().empty()) << finding;
    EXPECT_EQ(run_refit({"doctor"}).code, 0);
}

TEST(Usage, ShippedDataIsFoundFromAnywhereAndMayBeElsewhere) {
    const TestFolder folder;
    const Start elsewhere{.folder = folder.path(), .extra = {}};
    EXPECT_NE(run_refit({"list", "scenarios"}, elsewhere).out.find("smoke"), std::string::npos);
    const Start empty{.folder = folder.path(), .extra = {"REFIT_DATA=" + folder.path().string()}};
    EXPECT_EQ(run_refit({"list", "scenarios"}, empty).out, "");
}

TEST(Usage, AResultThatCannotBePrintedIsAFailure) {
    // stdout is a file here, and the limit is below the list's size.
    const Outcome cut = run_refit({"list", "codecs"}, {.file_limit = 16, .extra = {}});
    EXPECT_EQ(cut.code, 1);
}

TEST(Format, NumbersAreForPeople) {
    EXPECT_EQ(format_count(0), "0");
    EXPECT_EQ(format_count(999), "999");
    EXPECT_EQ(format_count(1000), "1,000");
    EXPECT_EQ(format_count(4574272), "4,574,272");
    EXPECT_EQ(format_bytes(Bytes{1023}), "1023 B");
    EXPECT_EQ(format_bytes(Bytes{1024}), "1.00 KiB");
    EXPECT_EQ(format_bytes(Bytes{89498}), "87.4 KiB");
    EXPECT_EQ(format_bytes(1_MiB), "1.00 MiB");
    EXPECT_EQ(format_bytes(Bytes{(1u << 20) - 1}), "1.00 MiB");
    EXPECT_EQ(format_bit_rate(BitsPerSecond{3'128'000'000}), "3.128 Gbit/s");
    EXPECT_EQ(format_seconds(150), "150 s");
    EXPECT_EQ(format_seconds(5250), "87.5 min");
}

TEST(Progress, TellsShareRateAndTimeLeft) {
    EXPECT_EQ(progress_text("encode", Bytes{0}, 1_GiB, 1), "encode  0 %  0 B");
    EXPECT_EQ(progress_text("encode", 256_MiB, 1_GiB, 2),
              "encode  25 %  256 MiB  128 MiB/s  6.00 s left");
    EXPECT_EQ(progress_text("encode", Bytes{0}, Bytes{0}, 1), "encode  100 %  0 B");
}

TEST(Progress, IsWhereCtrlCIsNoticed) {
    volatile std::sig_atomic_t flag = 0;
    const Console console(flag);
    Progress progress(console, "encode", 1_GiB);
    progress.advance(1_MiB);
    flag = 1;
    EXPECT_THROW(progress.advance(1_MiB), Interrupted);
}

}  // namespace
}  // namespace refit
