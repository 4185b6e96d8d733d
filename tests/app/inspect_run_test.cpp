// `refit inspect` of a kept run, and every quick shipped scenario: what its recording says agrees
// with its record.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "engine/observe/snapshot.hpp"
#include "tests/app/driver.hpp"
#include "viz/saved_run.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::set<std::string> kKeys = {
    "schema", "kind",   "file",  "title",         "whole",        "missing",
    "sites",  "nodes",  "links", "catalog",       "events",       "events_by_kind",
    "refits", "faults", "files", "first_seconds", "last_seconds", "record"};

class InspectRun : public testing::Test {
protected:
    static void SetUpTestSuite() {
        folder_ = new TestFolder();
        const fs::path scenario = fs::path(REFIT_SOURCE_DIR) / "scenarios/faults.toml";
        const Outcome made =
            run_refit({"run", scenario.string(), "--quiet", "--out", run().string()});
        ASSERT_EQ(made.code, 0) << made.err;
    }
    static void TearDownTestSuite() { delete folder_; }

    static fs::path run() { return *folder_ / "run"; }
    static Json inspect(const fs::path& path) {
        const Outcome made = run_refit({"inspect", path.string(), "--json"});
        EXPECT_EQ(made.code, 0) << made.err;
        Json document = made.document();
        EXPECT_EQ(keys_of(document), kKeys);
        EXPECT_EQ(document["kind"], "run");
        return document;
    }
    /// A new folder with these files.
    static fs::path folder_of(const std::string& name,
                              const std::map<std::string, std::string>& files) {
        const fs::path folder = *folder_ / name;
        fs::create_directory(folder);
        for (const auto& [file, bytes] : files)
            std::ofstream(folder / file, std::ios::binary) << bytes;
        return folder;
    }
    static std::string record_text() { return read_text_file(run() / kRecordFile); }
    static std::string recording_bytes() { return read_text_file(run() / kRecordingFile); }

    static TestFolder* folder_;  // NOLINT(*-avoid-non-const-global-variables)
};

TestFolder* InspectRun::folder_ = nullptr;  // NOLINT(*-avoid-non-const-global-variables)

TEST_F(InspectRun, SaysWhatTheFolderHolds) {
    const Json document = inspect(run());
    const Json record = Json::parse(record_text());
    EXPECT_EQ(document["schema"], "refit.inspect/1");
    EXPECT_EQ(document["record"], record);
    EXPECT_EQ(document["title"], record["title"]);
    EXPECT_EQ(document["whole"], true);
    EXPECT_EQ(document["faults"], record["faults"]);
    EXPECT_EQ(document["nodes"]["source"], 1);
    EXPECT_EQ(document["sites"].size(), 3u);
    EXPECT_EQ(document["catalog"]["words"], record["model"]["parameters"]);
    ASSERT_EQ(document["refits"].size(), record["refits"].size());
    for (std::size_t i = 0; i < document["refits"].size(); ++i) {
        EXPECT_EQ(document["refits"][i]["version"], record["refits"][i]["version"]);
        EXPECT_EQ(document["refits"][i]["seconds"], record["refits"][i]["seconds"]);
    }
    std::uint64_t events = 0;
    for (const auto& [kind, count] : document["events_by_kind"].items())
        events += count.get<std::uint64_t>();
    EXPECT_EQ(document["events"], events);
    EXPECT_EQ(document["events_by_kind"]["node_down"], 4);
    EXPECT_LT(document["first_seconds"], document["last_seconds"]);
    for (const Json& file : document["files"])
        EXPECT_EQ(file["bytes"], fs::file_size(run() / file["name"].get<std::string>()));

    const Outcome text = run_refit({"inspect", run().string()});
    EXPECT_EQ(text.code, 0) << text.err;
    for (const char* shown : {"whole", "us-east <-> eu-west", "chunk_received", "version 2, ",
                              "eu-west/relay-2 down", "record.json, ", "verify.exact"})
        EXPECT_NE(text.out.find(shown), std::string::npos) << text.out;
}

TEST_F(InspectRun, EveryKeyIsDocumented) {
    const std::string page = read_text_file(fs::path(REFIT_SOURCE_DIR) / "results/README.md");
    const std::size_t first = page.find("| `refit.inspect/1` | `inspect` of a run |");
    ASSERT_NE(first, std::string::npos);
    const std::string row = page.substr(first, page.find('\n', first) - first);
    const Json document = inspect(run());
    std::set<std::string> keys = keys_of(document);
    for (const char* list : {"links", "refits", "files"}) keys.merge(keys_of(document[list][0]));
    for (const char* group : {"nodes", "catalog"}) keys.merge(keys_of(document[group]));
    keys.erase("schema");
    for (const std::string& key : keys)
        EXPECT_NE(row.find("`" + key + "`"), std::string::npos) << key;
}

TEST_F(InspectRun, OfARecordingAloneSaysThatTheRunDidNotEnd) {
    const fs::path folder = folder_of("recording", {{kRecordingFile, recording_bytes()}});
    const Json document = inspect(folder);
    const Json whole = inspect(run());
    EXPECT_EQ(document["whole"], false);
    EXPECT_EQ(document["missing"], Json({"there is no record: the run did not end"}));
    EXPECT_EQ(document["record"], nullptr);
    for (const char* same : {"title", "sites", "nodes", "links", "catalog", "events", "refits"})
        EXPECT_EQ(document[same], whole[same]) << same;
    EXPECT_EQ(document["faults"].size(), whole["faults"].size());

    const Json file = inspect(folder / kRecordingFile);  // nobody expects a record inside a file
    EXPECT_EQ(file["whole"], true);
    EXPECT_EQ(file["events"], whole["events"]);
    const Outcome text = run_refit({"inspect", folder.string()});
    EXPECT_NE(text.out.find("not whole"), std::string::npos) << text.out;
    EXPECT_NE(text.out.find("the run did not end"), std::string::npos) << text.out;
}

/// Its blocks are whole, but its events name links and nodes that are not there.
TEST_F(InspectRun, OfARecordingThatNamesWhatIsNotThereNothingFalls) {
    const fs::path folder = folder_of("strange", {{kRecordingFile, recording_bytes()}});
    auto read = read_recording(folder / kRecordingFile);
    ASSERT_TRUE(read.has_value());
    const Recording& recording = read.value();
    {
        RecordingWriter writer(folder / kRecordingFile, recording.cast);
        writer.append(recording.timeline.events());
        const Nanoseconds at = recording.timeline.events().back().at;
        for (std::uint8_t kind = 0; kind <= static_cast<std::uint8_t>(EventKind::link_up); ++kind)
            writer.append(std::vector{
                Event{at, 99, 1, kNoNode, kNoNode, 0xFFFF'FFF0u, static_cast<EventKind>(kind)}});
        writer.finish();
    }
    const Json document = inspect(folder);
    EXPECT_NE(document["missing"].dump().find("of what is not there"), std::string::npos);
    for (const char* format : {"html", "trace", "csv", "md", "prom"}) {
        const Outcome made = run_refit({"report", folder.string(), "--format", format});
        EXPECT_EQ(made.code, 0) << format << made.err;
    }
    const Outcome drawn = run_refit({"view", folder.string()});
    EXPECT_TRUE(drawn.code == 0 || drawn.code == 1) << drawn.err;
}

TEST_F(InspectRun, OfADamagedRecordingShowsWhatIsWhole) {
    std::string bytes = recording_bytes();
    const fs::path folder = folder_of(
        "damaged",
        {{kRecordFile, record_text()}, {kRecordingFile, bytes.substr(0, bytes.size() - 30)}});
    Json document = inspect(folder);
    EXPECT_EQ(document["whole"], false);
    ASSERT_EQ(document["missing"].size(), 1u);
    const std::string missing = document["missing"][0];
    EXPECT_TRUE(missing.starts_with("the recording ")) << missing;
    EXPECT_LT(document["events"], inspect(run())["events"]);
    EXPECT_EQ(document["sites"].size(), 3u);

    bytes[40] = static_cast<char>(~bytes[40]);  // in the cast, without which nothing can be read
    std::ofstream(folder / kRecordingFile, std::ios::binary) << bytes;
    document = inspect(folder);
    EXPECT_EQ(document["whole"], false);
    EXPECT_EQ(document["events"], nullptr);
    EXPECT_EQ(document["refits"].size(), 2u);
    EXPECT_EQ(document["record"], Json::parse(record_text()));
    expect_refused(run_refit({"inspect", (folder / kRecordingFile).string()}), 3, "run.timeline: ");
}

TEST_F(InspectRun, OfARecordAloneSaysThatThereIsNoRecording) {
    const Json document = inspect(folder_of("record", {{kRecordFile, record_text()}}));
    EXPECT_EQ(document["missing"], Json({"there is no recording"}));
    EXPECT_EQ(document["faults"], Json::parse(record_text())["faults"]);
    EXPECT_EQ(document["refits"][1]["version"], 2);
}

TEST_F(InspectRun, RefusesWhatIsNoRun) {
    for (const char* text : {"{}", "[1]", "", "{\"schema\":7}"}) {
        SCOPED_TRACE(text);
        const fs::path folder = folder_of("other", {{kRecordFile, text}});
        expect_refused(run_refit({"inspect", folder.string()}), 3, "is no refit.run/1 record");
    }
    // Right by name alone: shown as far as it goes.
    const fs::path odd =
        folder_of("odd", {{kRecordFile, R"({"schema":"refit.run/1","title":[],"refits":{"a":1},
                                           "faults":{"b":[2]}})"}});
    EXPECT_TRUE(inspect(odd)["refits"].empty());
    EXPECT_EQ(run_refit({"inspect", odd.string()}).code, 0);
    const fs::path empty = folder_of("nothing", {});
    expect_refused(run_refit({"inspect", empty.string()}), 3, empty.string() + ": ");
}

TEST_F(InspectRun, TakesTheNewestRunByDefault) {
    const std::vector<std::string> home{"XDG_STATE_HOME=" + (*folder_ / "state").string()};
    expect_refused(run_refit({"inspect"}, {.extra = home}), 3, "no run is kept here yet");
    const Outcome made = run_refit({"run", "scenarios/smoke.toml", "--quiet"},
                                   {.folder = REFIT_SOURCE_DIR, .extra = home});
    ASSERT_EQ(made.code, 0) << made.err;
    const Outcome shown = run_refit({"inspect", "--json"}, {.extra = home});
    EXPECT_EQ(shown.code, 0) << shown.err;
    const std::string file = shown.document()["file"];
    EXPECT_NE(file.find("/state/refit/runs/run-"), std::string::npos) << file;
}

/// Those of a whole model take minutes and are left out.
std::vector<fs::path> quick_scenarios() {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(fs::path(REFIT_SOURCE_DIR) / "scenarios"))
        if (entry.path().extension() == ".toml" &&
            read_text_file(entry.path()).find("[source.model]") == std::string::npos)
            files.push_back(entry.path());
    return files;
}

TEST(ShippedRun, RecordingAgreesWithItsRecord) {
    const TestFolder folder;
    const std::vector<fs::path> scenarios = quick_scenarios();
    ASSERT_GE(scenarios.size(), 4u);
    for (const fs::path& scenario : scenarios) {
        SCOPED_TRACE(scenario.string());
        const fs::path place = folder / scenario.stem().string();
        const Outcome made =
            run_refit({"run", scenario.string(), "--quiet", "--out", place.string()});
        ASSERT_EQ(made.code, 0) << made.err;
        const auto run = load_run(place);
        ASSERT_TRUE(run.has_value()) << run.error().what;
        const SavedRun& saved = run.value();
        const auto& record = saved.record;
        const Snapshot end = SnapshotIndex(saved.recording.timeline).at(saved.end());
        EXPECT_EQ(end.checks_passed + end.checks_failed, record["verify"]["resident_checks"]);
        EXPECT_EQ(end.checks_failed, record["verify"]["resident_failures"]);
        EXPECT_EQ(end.decided, record["commit"]["versions"]);
        EXPECT_EQ(end.served, record["refits"].back()["version"]);
        std::uint32_t struck = 0;
        for (const auto& line : record["faults"]) {
            const std::string text = line;
            struck += text.find(" down") != std::string::npos || text.ends_with(" cut") ? 1u : 0u;
        }
        EXPECT_EQ(end.faults, struck);
        std::uint64_t read = 0;
        for (const NodeState& node : end.nodes) read += node.store_bytes;
        EXPECT_EQ(read, record["store"]["bytes_read"]);
        EXPECT_EQ(total(saved.edges).sent_bytes, record["wire"]["bytes_sent"]);
    }
}

}  // namespace
}  // namespace refit
