// The main job and its record: what `refit run` promises, asserted from the timeline.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "app/compose.hpp"
#include "app/format.hpp"
#include "app/run_text.hpp"
#include "engine/codec/zstd_frame.hpp"
#include "scenarios/shipped.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t never = 0;  // NOLINT(*-avoid-non-const-global-variables)

/// One run of a shipped scenario in a folder of its own.
class Job {
public:
    explicit Job(const std::string& name,
                 const std::vector<std::pair<std::string, std::string>>& set = {},
                 const std::vector<fs::path>& versions = {})
        : folder_(fs::temp_directory_path() /
                  ("refit-run-test-" + std::to_string(getpid()) + "-" + std::to_string(++count_))) {
        const fs::path root = REFIT_SOURCE_DIR;
        const auto file = find_scenario(name, root);
        EXPECT_TRUE(file.has_value());
        auto scenario = load_scenario(file.value(), root, set);
        EXPECT_TRUE(scenario.has_value()) << scenario.error().what;
        if (!versions.empty()) scenario.value().source.versions = versions;
        scenario_ = scenario.value();
        fs::create_directories(folder_);
        auto record = run_scenario(console_, scenario_, *device_, folder_);
        EXPECT_TRUE(record.has_value()) << record.error().what;
        if (record.has_value()) record_ = std::move(record).value();
    }
    ~Job() { fs::remove_all(folder_); }

    const Scenario& scenario() const { return scenario_; }
    const RunRecord& record() const { return record_; }
    std::string json() const {
        nlohmann::ordered_json json = to_json(record_);
        json.erase("host");
        return json.dump();
    }

private:
    static inline int count_ = 0;  // NOLINT(*-avoid-non-const-global-variables)
    Console console_{never};
    fs::path folder_;
    std::unique_ptr<Device> device_ = make_cpu_device(2);
    Scenario scenario_;
    RunRecord record_;
};

class MainJob : public testing::Test {
protected:
    static void SetUpTestSuite() { job_ = new Job("first"); }
    static void TearDownTestSuite() { delete job_; }

    const RunRecord& record() const { return job_->record(); }
    const std::vector<Event>& events() const { return record().run.timeline.events(); }
    NodeId node(const char* name) const { return record().run.tree.find(name); }

    static Job* job_;  // NOLINT(*-avoid-non-const-global-variables)
};

Job* MainJob::job_ = nullptr;  // NOLINT(*-avoid-non-const-global-variables)

TEST_F(MainJob, HasThreeVersionsThreeRegionsSixReplicasThreeLayouts) {
    EXPECT_EQ(record().run.refits.size(), 2u);
    EXPECT_EQ(job_->scenario().topology.sites.size(), 3u);
    std::set<std::string> layouts;
    for (const MapRecord& map : record().maps)
        if (map.name != "trainer") layouts.insert(map.layout);
    EXPECT_GE(record().maps.size() - 1, 6u);
    EXPECT_GE(layouts.size(), 3u);
}

TEST_F(MainJob, IsExactOverEveryWordOfEveryReplica) {
    const RunFigures f = figures(record());
    EXPECT_TRUE(f.exact);
    // Every replica is checked once a refit; the late one once more when it has loaded.
    std::uint64_t expected = 0;
    for (const MapRecord& map : record().maps) {
        if (map.name == "trainer") continue;
        expected += 2 * map.held_words;
    }
    EXPECT_EQ(record().run.totals.words_checked, expected);
    EXPECT_EQ(record().run.totals.reencodes, 0u);
    EXPECT_GE(f.speedup, 12.0);
}

TEST_F(MainJob, ALateReplicaJoinsFromAnchorAndDelta) {
    const auto joined = std::ranges::find(events(), EventKind::joined, &Event::kind);
    ASSERT_NE(joined, events().end());
    const auto read = std::ranges::find_if(events(), [&](const Event& event) {
        return event.kind == EventKind::store_read && event.node == joined->peer;
    });
    ASSERT_NE(read, events().end());
    EXPECT_EQ(read->version, 1u);  // the anchor alone would be version 0
    EXPECT_LT(read->at, joined->at);
}

TEST_F(MainJob, ARelayDiesForGoodBetweenTheFirstAndLastChunkOfItsEdge) {
    const NodeId relay = node("eu-west/relay-1");
    const auto down = std::ranges::find(events(), EventKind::node_down, &Event::kind);
    ASSERT_NE(down, events().end());
    EXPECT_EQ(down->node, relay);
    EXPECT_TRUE(std::ranges::none_of(events(), [&](const Event& event) {
        return event.kind == EventKind::node_up && event.node == relay;
    }));
    std::uint32_t before = 0;
    std::uint32_t chunks = 0;
    for (const Event& event : events()) {
        if (event.kind != EventKind::chunk_received || event.version != 1) continue;
        chunks = std::max(chunks, event.index + 1);
        if (event.node == relay) ++before;
        if (event.node == relay) {
            EXPECT_LE(event.at, down->at);
        }
    }
    EXPECT_GT(before, 0u);
    EXPECT_LT(before, chunks);
}

TEST_F(MainJob, ALinkIsCutBetweenTheFirstAndLastChunkOfItsEdge) {
    const NodeId child = node("ap-northeast/relay-1");
    const auto cut = std::ranges::find(events(), EventKind::link_down, &Event::kind);
    ASSERT_NE(cut, events().end());
    const auto edge = std::ranges::find_if(record().run.edges, [&](const EdgeTraffic& traffic) {
        return traffic.version == 2 && traffic.child == child;
    });
    ASSERT_NE(edge, record().run.edges.end());
    EXPECT_LT(edge->first, cut->at);
    EXPECT_GT(edge->last, cut->at);
    EXPECT_EQ(edge->repeated, 0u);
}

TEST_F(MainJob, EveryEdgeCarriesAtLeastTwentyChunks) {
    EXPECT_GE(record().run.edges.size(), 20u);
    for (const EdgeTraffic& edge : record().run.edges)
        EXPECT_GE(edge.chunks, 20u) << record().run.timeline.node_names()[edge.child];
}

TEST_F(MainJob, SaysOneLinePerSystem) {
    const std::vector<std::string> lines = run_text(record());
    ASSERT_GE(lines.size(), 5u);
    const std::vector<std::string> last(lines.end() - 5, lines.end());
    EXPECT_TRUE(last[0].starts_with("changed ")) << last[0];
    EXPECT_TRUE(last[1].starts_with("exact ")) << last[1];
    EXPECT_TRUE(last[2].starts_with("maps ")) << last[2];
    EXPECT_TRUE(last[3].starts_with("relay ")) << last[3];
    EXPECT_TRUE(last[4].starts_with("commit ")) << last[4];
    EXPECT_NE(last[4].find("re-encodes 0"), std::string::npos);
}

TEST_F(MainJob, SaysHowShortAStepMayBeInEachLoopAndWhatStagingSteals) {
    const RunFigures f = figures(record());
    EXPECT_DOUBLE_EQ(f.shortest_steps.at(LoopShape::synchronous), 100 * f.refit_seconds);
    EXPECT_DOUBLE_EQ(f.shortest_steps.at(LoopShape::one_step_off), f.shortest_step_seconds);
    EXPECT_DOUBLE_EQ(f.shortest_steps.at(LoopShape::asynchronous),
                     std::max({f.refit_seconds / 1.01, f.shortest_step_seconds}));
    // Replicas go on while they decode: all words of both refits, each replica, at the declared
    // rate. The late one decodes the second only.
    const double decode =
        2.0 * static_cast<double>(record().model_parameters) /
        (static_cast<double>(job_->scenario().fleet.decode.value.count) * record().link_scale);
    const auto replicas = static_cast<double>(record().maps.size() - 1);
    EXPECT_NEAR(to_seconds(record().run.stolen), (2 * replicas - 1) * decode, 1e-3 * decode);
    const std::vector<std::string> lines = run_text(record());
    EXPECT_TRUE(std::ranges::any_of(lines, [](const std::string& line) {
        return line.starts_with("loop     one_step_off; 99 % busy from a step of: synchronous ") &&
               line.find("stolen by staging at most ") != std::string::npos;
    }));
}

TEST_F(MainJob, RecordHasEveryFixedKey) {
    const nlohmann::ordered_json json = to_json(record());
    EXPECT_EQ(json["schema"], "refit.run/1");
    for (const char* key : {"seed",
                            "link_scale",
                            "model.parameters",
                            "sampled_fraction",
                            "changed",
                            "codec.payload_bytes",
                            "codec.bits_per_parameter",
                            "codec.bound_bits_per_parameter",
                            "codec.ratio_to_bound",
                            "full.seconds",
                            "full.bits_per_second",
                            "refit.seconds",
                            "refit.encode_seconds",
                            "refit.wire_seconds",
                            "refit.stage_seconds",
                            "refit.pause_seconds",
                            "speedup",
                            "gpu_idle.fraction",
                            "gpu_idle.shortest_steps.synchronous",
                            "gpu_idle.shortest_steps.one_step_off",
                            "gpu_idle.shortest_steps.asynchronous",
                            "gpu_stolen.fraction",
                            "gpu_stolen.replica_seconds",
                            "verify.exact",
                            "verify.words_checked",
                            "verify.mismatches",
                            "wire.bytes_sent",
                            "wire.bytes_needed",
                            "wire.phantom_bytes",
                            "store.bytes_read",
                            "commit.versions",
                            "commit.reencodes"}) {
        EXPECT_TRUE(record_value(json, key).has_value()) << key;
    }
    EXPECT_FALSE(record_value(json, "no.such.key").has_value());
    const double parts = record_value(json, "refit.encode_seconds").value() +
                         record_value(json, "refit.wire_seconds").value() +
                         record_value(json, "refit.stage_seconds").value() +
                         record_value(json, "refit.pause_seconds").value();
    EXPECT_NEAR(parts, record_value(json, "refit.seconds").value(), 1e-9);
    double causes = 0;
    for (const auto& [name, share] : json["gpu_idle"]["by_cause"].items())
        causes += share.get<double>();
    EXPECT_NEAR(causes, record_value(json, "gpu_idle.fraction").value(), 1e-12);
}

/// Every key of an object, its objects and the first entries of its lists.
void collect_keys(const nlohmann::ordered_json& json, std::set<std::string>& keys) {
    if (json.is_array() && !json.empty()) collect_keys(json.front(), keys);
    if (!json.is_object()) return;
    for (const auto& [key, value] : json.items()) {
        keys.insert(key);
        // Names of causes and kinds are data.
        if (key != "by_cause" && !key.starts_with("changed_by")) collect_keys(value, keys);
    }
}

TEST_F(MainJob, EveryKeyOfTheRecordIsDocumented) {
    std::ifstream file(fs::path(REFIT_SOURCE_DIR) / "results/README.md");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::set<std::string> keys;
    collect_keys(to_json(record()), keys);
    for (const std::string& key : keys) {
        const bool named = text.find("`" + key + "`") != std::string::npos ||
                           text.find('"' + key + '"') != std::string::npos ||
                           text.find("." + key + "`") != std::string::npos;
        EXPECT_TRUE(named) << key;
    }
}

TEST_F(MainJob, ReadmeTellsItsFigures) {
    if (zstd_library_version() != 10504) GTEST_SKIP() << "sizes are those of zstd 1.5.4";
    std::ifstream file(fs::path(REFIT_SOURCE_DIR) / "README.md");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const RunFigures f = figures(record());
    std::vector<std::string> told = {
        "**" + format_seconds(f.refit_seconds) + "**",
        format_seconds(f.longest_pause_seconds) + " at most",
        "0 of " + format_count(record().run.totals.words_checked) + " read back",
        fmt::format("{:.3f} bit per parameter", f.bits_per_parameter),
        fmt::format("{:.1f} times the entropy bound",
                    f.bits_per_parameter / f.bound_bits_per_parameter),
        fmt::format("{:.0f} times faster", f.speedup),
        fmt::format("{:.3f} Gbit/s achieved", f.fastest->bits_per_second / 1e9)};
    for (const BaselineRecord& baseline : record().baselines)
        told.push_back(format_seconds(baseline.seconds));
    for (const std::string& figure : told)
        EXPECT_NE(text.find(figure), std::string::npos) << "README.md does not say " << figure;
}

TEST(Run, OneSeedIsOneRecordAndAnotherSeedIsAnother) {
    const std::string one = Job("smoke").json();
    EXPECT_EQ(one, Job("smoke").json());
    EXPECT_NE(one, Job("smoke", {{"seed", "2"}}).json());
}

TEST(Run, CheckpointsOfTheTraceGiveTheTracesRecord) {
    const fs::path shared = fs::path(REFIT_SOURCE_DIR).parent_path() / "shared/traces/dense";
    if (!fs::exists(shared / "v2")) GTEST_SKIP() << "the shared traces are not here";
    EXPECT_EQ(Job("first").json(),
              Job("first", {}, {shared / "v0", shared / "v1", shared / "v2"}).json());
}

TEST(Run, AFasterLinkIsFaster) {
    const Job slow("smoke");
    const Job fast("smoke", {{"stands_for_parameters", "30000000000"}});
    EXPECT_LT(figures(fast.record()).refit_seconds, figures(slow.record()).refit_seconds);
}

}  // namespace
}  // namespace refit
