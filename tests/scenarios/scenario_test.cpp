// Scenario files: what ships is valid, what is wrong is refused with file, line, key and reason.
#include "scenarios/scenario.hpp"

#include <gtest/gtest.h>

#include <map>

#include "engine/net/relay_tree.hpp"
#include "scenarios/shipped.hpp"
#include "tests/support/files.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;
using Overrides = std::vector<std::pair<std::string, std::string>>;

const fs::path kRoot = REFIT_SOURCE_DIR;

Result<Scenario> load(const std::string& name, const Overrides& overrides = {}) {
    REFIT_TRY(file, find_scenario(name, kRoot));
    REFIT_TRY(scenario, load_scenario(file, kRoot, overrides));
    REFIT_CHECK(validate(scenario));
    return scenario;
}

/// A copy of a shipped scenario with one piece of text replaced.
Result<Scenario> load_edited(const std::string& from, const std::string& to) {
    const TestFolder folder;
    std::string text = read_text_file(kRoot / "scenarios" / "first.toml");
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    write_text_file(folder / "edited.toml", text);
    REFIT_TRY(scenario, load_scenario(folder / "edited.toml", kRoot, {}));
    REFIT_CHECK(validate(scenario));
    return scenario;
}

TEST(ShippedScenarios, AllLoadAndAreValid) {
    const auto names = shipped_scenarios(kRoot);
    EXPECT_EQ(names, (std::vector<std::string>{"async", "faults", "first", "model", "node-8gpu",
                                               "smoke"}));
    for (const std::string& name : names) {
        const auto scenario = load(name);
        EXPECT_TRUE(scenario.has_value()) << scenario.error().where << scenario.error().what;
    }
    for (const std::string& name : shipped_topologies(kRoot)) {
        const auto topology = load_topology(kRoot / "scenarios/topologies" / (name + ".toml"));
        EXPECT_TRUE(topology.has_value()) << topology.error().where << topology.error().what;
    }
}

TEST(ShippedScenarios, AreFoundByNameFromAnywhere) {
    EXPECT_EQ(find_scenario("smoke", kRoot).value(), kRoot / "scenarios/smoke.toml");
    EXPECT_EQ(find_scenario("smoke.toml", kRoot).value(), kRoot / "scenarios/smoke.toml");
    EXPECT_TRUE(fs::equivalent(find_scenario("scenarios/smoke.toml", kRoot).value(),
                               kRoot / "scenarios/smoke.toml"));
    const auto missing = find_scenario("smok", kRoot);
    ASSERT_FALSE(missing.has_value());
    EXPECT_EQ(missing.error().code, ErrorCode::not_found);
    EXPECT_EQ(missing.error().where, "smok");
}

TEST(FirstScenario, IsTheMainJob) {
    const Scenario first = load("first").value();
    EXPECT_EQ(first.stands_for_parameters, 1'026'408'232'448u);
    EXPECT_EQ(first.delta.codec, "xc");
    EXPECT_EQ(first.delta.chunk, Bytes{512});
    EXPECT_EQ(first.topology.sites.size(), 3u);
    EXPECT_EQ(first.require, std::vector<std::string>{"speedup>=12"});
    ASSERT_EQ(first.faults.size(), 2u);
    EXPECT_EQ(first.faults[0].kind, FaultKind::kill);
    EXPECT_EQ(first.faults[1].kind, FaultKind::cut);
    std::map<std::string, int> layouts;
    std::size_t late = 0;
    for (const Site& site : first.topology.sites) {
        for (const ReplicaSpec& replica : site.replicas) {
            ++layouts[replica.layout.substr(0, replica.layout.find(':'))];
            late += replica.join_at > Nanoseconds{0} ? 1 : 0;
        }
    }
    EXPECT_GE(layouts.size(), 3u);
    EXPECT_EQ(late, 1u);
}

TEST(FirstScenario, LinkIsTheOneThatGivesThePublishedFullTime) {
    const Scenario first = load("first").value();
    const Nanoseconds full =
        transmit_time(size_of(Words{first.stands_for_parameters}), first.topology.links.at(0).rate);
    EXPECT_NEAR(to_seconds(full), 5250, 1);
    EXPECT_EQ(first.transport.goodput, 1.0);
}

struct Mistake {
    const char* from;
    const char* to;
    const char* where;  // what follows "edited.toml"
    const char* what;
};

TEST(ScenarioFile, EveryMistakeIsNamedWithLineAndKey) {
    const Mistake mistakes[] = {
        {"[delta]\n", "[delta]\nchnk = \"1 KiB\"\n", ":18", "delta.chnk: unknown key; did you"},
        {"seed = 1", "seed = \"1\"", ":8", "seed: must be an integer, not text"},
        {"seed = 1", "seed = -1", ":8", "seed: must not be negative"},
        {"seed = 1", "seed = 1 1", ":8", ""},
        {"schema = \"refit.scenario/1\"", "schema = \"x\"", ":6", "schema: must be"},
        {"title = ", "titel = ", "", "title: is missing"},
        {"\"512 B\"", "512", ":19", "delta.chunk: must be text with a unit, not an integer"},
        {"\"512 B\"", "\"1 B\"", "", "delta.chunk: must be 64 B to 1 GiB"},
        {"window = 16", "window = 4294967296", ":22", "transport.window: is too large"},
        {"window = 16", "window = 0", "", "transport.window: must be at least 1"},
        {"goodput = 1.0", "goodput = nan", "", "transport.goodput: must be over 0"},
        {"codec = \"xc\"", "codec = \"zip\"", "", "delta.codec: "},
        {"\"one_step_off\"", "\"sideways\"", "", "loop.shape: \"sideways\" is unknown"},
        {"\"one_step_off\"", "\"synchronous\"", "", "loop.generation: a synchronous loop needs"},
        {"\"one_step_off\"", "\"asynchronous\"", "", "loop.generation: an asynchronous loop needs"},
        {"\"one_step_off\"\nstep = \"900 s\"", "\"asynchronous\"\ngeneration = \"9 s\"", "",
         "loop.step: an asynchronous loop needs"},
        {"step = \"900 s\"", "staleness = -1", "", "loop.staleness: must not be negative"},
        {"step = \"900 s\"", "staleness = 1.5", "", "loop.staleness: must be an integer"},
        {"kind = \"kill\"", "kind = \"maim\"", "", "fault[0].kind: \"maim\" is unknown"},
        {"node = \"eu-west/relay-1\"", "node = \"eu/r\"", "", "fault[0].node: no node is named"},
        {"node = \"eu-west/relay-1\"", "node = \"source\"", "", "fault[0].node: no edge leads"},
        {"at_percent = 40", "at_percent = 100", "", "fault[0].at_percent: must be 1 to 99"},
        {"at_percent = 40", "refit = 1", "", ""},
        {"duration = \"8 s\"", "", "", "fault[1].duration: a crash or cut needs one"},
        {"node = \"ap-northeast/relay-1\"", "node = \"ap-northeast/relay-2\"", "",
         "fault[1].node: the edge into ap-northeast/relay-2 crosses no WAN link"},
        {"\"three-regions\"", "\"one-region\"", ":11", "topology: \"one-region\": no such file"},
        {"\"speedup>=12\"", "\"fast\"", "", "require: \"fast\" is not a requirement"},
        {"\"fsdp:dp4\"", "\"fsdp\"", "", "trainer_layout: "},
        {"\"fsdp:dp4\"", "\"zigzag:z3\"", "", "trainer_layout: "},
        {"\"dense\"", "\"thin\"", ":15", "source.trace: \"thin\": no such file"},
        {"trace = \"dense\"", "", ":14", "source: needs one of trace, versions and model"},
        {"encode = { value = \"8 TB/s\"", "encode = { value = \"0 B/s\"", "",
         "fleet.encode.value: must be over 0"},
        {"encode = { value = \"8 TB/s\", ", "encode = { ", ":30", "fleet.encode.value: is missing"},
    };
    for (const Mistake& mistake : mistakes) {
        SCOPED_TRACE(mistake.to);
        const auto scenario = load_edited(mistake.from, mistake.to);
        ASSERT_FALSE(scenario.has_value());
        const Error& error = scenario.error();
        EXPECT_EQ(error.code, ErrorCode::invalid_input);
        const std::string where = std::string("edited.toml") + mistake.where;
        EXPECT_NE(error.where.find(where), std::string::npos) << error.where;
        EXPECT_TRUE(error.what.starts_with(mistake.what)) << error.what;
        EXPECT_EQ(error.what.find('\n'), std::string::npos) << error.what;
    }
}

TEST(ScenarioFile, IsReadAsAWholeOrNotAtAll) {
    const TestFolder folder;
    EXPECT_EQ(load_scenario(folder / "none.toml", kRoot, {}).error().code, ErrorCode::not_found);
    EXPECT_EQ(load_scenario(folder.path(), kRoot, {}).error().code, ErrorCode::invalid_input);
    const std::string text = read_text_file(kRoot / "scenarios" / "smoke.toml");
    for (std::size_t keep = 0; keep < text.size(); keep += 97) {
        write_text_file(folder / "cut.toml", text.substr(0, keep));
        const auto scenario = load_scenario(folder / "cut.toml", kRoot, {});
        if (scenario.has_value()) {
            EXPECT_FALSE(validate(scenario.value()).has_value()) << "kept " << keep;
        }
    }
}

TEST(ScenarioFile, VersionsAreRelativeToIt) {
    const auto scenario = load_edited("trace = \"dense\"", "versions = [\"a\", \"b/c\", \"d\"]");
    ASSERT_TRUE(scenario.has_value()) << scenario.error().what;
    const auto& versions = scenario.value().source.versions;
    ASSERT_EQ(versions.size(), 3u);
    EXPECT_EQ(versions[1], scenario.value().file.parent_path() / "b/c");
}

TEST(Overrides, ReachEveryKeyAlsoInsideATopologyFile) {
    const Scenario scenario = load("first", {{"delta.chunk", "2 KiB"},
                                             {"delta.codec", "full"},
                                             {"seed", "7"},
                                             {"fault.0.at_percent", "30"},
                                             {"topology.link.0.rate", "10 Gbit/s"},
                                             {"require", "[]"}})
                                  .value();
    EXPECT_EQ(scenario.delta.chunk, 2_KiB);
    EXPECT_EQ(scenario.delta.codec, "full");
    EXPECT_EQ(scenario.seed, 7u);
    EXPECT_EQ(scenario.faults[0].at_percent, 30u);
    EXPECT_EQ(scenario.topology.links[0].rate, 10_Gbps);
    EXPECT_TRUE(scenario.require.empty());
    EXPECT_TRUE(load("first", {{"fault", "[]"}}).value().faults.empty());
    EXPECT_EQ(load("smoke", {{"fault", "[]"}, {"topology", "three-regions"}})
                  .value()
                  .topology.sites.size(),
              3u);
}

TEST(Overrides, AreNamedWhenTheyAreWrong) {
    const std::pair<std::string, std::string> wrong[] = {
        {"delta.chnk", "1"},     {"delta.chunk", "1 parsec"}, {"seed.x", "1"},
        {"fault.9.node", "x"},   {"fault.x.node", "x"},       {"", "1"},
        {"delta..chunk", "1 B"}, {"topology", "nowhere"},     {"seed", "\xFF"},
        {"seed", "\"\n"},        {"title", "1 = 2\nx = 3"}};
    for (const auto& [key, value] : wrong) {
        const auto scenario = load("first", {{key, value}});
        if (key == "title") {  // no TOML value, so it is text, whatever it holds
            EXPECT_EQ(scenario.value().title, value);
            continue;
        }
        ASSERT_FALSE(scenario.has_value()) << key;
        EXPECT_TRUE(scenario.error().where.starts_with("--set " + key)) << scenario.error().where;
    }
}

TEST(ScenarioFile, UnreachableSiteIsNamed) {
    const auto scenario = load("first", {{"topology.link", "[]"}});
    ASSERT_FALSE(scenario.has_value());
    EXPECT_EQ(scenario.error().code, ErrorCode::invalid_input);
    EXPECT_NE(scenario.error().what.find("eu-west"), std::string::npos) << scenario.error().what;
}

}  // namespace
}  // namespace refit
