// Every export holds what the run holds: counted again from its text.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "tests/viz/recorded_world.hpp"
#include "viz/exports/tables.hpp"
#include "viz/exports/trace.hpp"

namespace refit {
namespace {

using Json = nlohmann::json;

const SavedRun& eventful() {
    static const SavedRun run = make_saved_run(record_world(eventful_plan()), {});
    return run;
}

class Trace : public testing::Test {
protected:
    Trace() {
        std::ostringstream text;
        write_trace(eventful(), text);
        events_ = Json::parse(text.str())["traceEvents"];
    }

    Json events_;
};

TEST_F(Trace, HasWhatTheFormatAsksOfEachPhase) {
    for (const Json& event : events_) {
        ASSERT_TRUE(event["pid"].is_number_unsigned() && event["tid"].is_number_unsigned());
        ASSERT_TRUE(event["name"].is_string());
        const std::string phase = event["ph"];
        ASSERT_NE(std::string("XiCMsf").find(phase), std::string::npos);
        if (phase == "M") continue;
        ASSERT_GE(event["ts"].get<double>(), 0);
        if (phase == "X") {
            ASSERT_GE(event["dur"].get<double>(), 0);
        }
        if (phase == "s" || phase == "f") {
            ASSERT_TRUE(event["id"].is_number_unsigned());
        }
        if (phase == "f") {
            ASSERT_EQ(event["bp"], "e");
        }
    }
}

TEST_F(Trace, HasEveryEventOfTheTimeline) {
    std::map<std::string, std::uint64_t> expected;
    std::map<std::string, std::uint64_t> found;
    std::uint64_t sent = 0;
    for (const Event& event : eventful().recording.timeline.events())
        ++expected[std::string(event_name(event.kind))];
    for (const Json& event : events_) {
        if (event["ph"] != "i") continue;
        ++found[event["name"].get<std::string>()];
        if (event["name"] == "chunk_sent") sent += event["args"]["amount"].get<std::uint64_t>();
    }
    EXPECT_EQ(found, expected);
    EXPECT_EQ(sent, total(eventful().edges).sent_bytes);
}

TEST_F(Trace, AddsUpToTheIdleAccount) {
    std::map<std::string, double> micros;
    for (const Json& event : events_)
        if (event["ph"] == "X" && event["cat"] == "rollouts")
            micros[event["name"].get<std::string>()] += event["dur"].get<double>();
    EXPECT_NEAR(micros["busy"] / 1e6, to_seconds(eventful().idle.busy), 1e-6);
    for (const auto& [cause, time] : eventful().idle.idle)
        EXPECT_NEAR(micros["idle " + std::string(cause_name(cause))] / 1e6, to_seconds(time), 1e-6);
}

TEST_F(Trace, DrawsArrowsFromSpanToSpan) {
    std::map<std::uint64_t, std::pair<int, int>> ends;  // by id: how often it begins and ends
    std::map<std::tuple<std::uint64_t, std::uint64_t>, std::vector<std::pair<double, double>>>
        spans;
    for (const Json& event : events_)
        if (event["ph"] == "X")
            spans[{event["pid"], event["tid"]}].emplace_back(
                event["ts"].get<double>(), event["ts"].get<double>() + event["dur"].get<double>());
    std::size_t arrows = 0;
    std::map<std::uint64_t, std::vector<double>> times;
    for (const Json& event : events_) {
        if (event["ph"] != "s" && event["ph"] != "f") continue;
        auto& [begins, finishes] = ends[event["id"]];
        ++(event["ph"] == "s" ? begins : finishes);
        const double at = event["ts"];
        times[event["id"]].push_back(at);
        bool inside = false;
        for (const auto& [from, to] : spans[{event["pid"], event["tid"]}])
            inside |= from - 1e-6 <= at && at <= to + 1e-6;
        EXPECT_TRUE(inside) << event.dump();
        ++arrows;
    }
    EXPECT_GT(arrows, 100u);
    for (const auto& [id, count] : ends) EXPECT_EQ(count, std::pair(1, 1)) << id;
    for (const auto& [id, at] : times) EXPECT_LE(at.front(), at.back()) << id;
}

std::string text_of(void (*write)(const SavedRun&, std::ostream&), const SavedRun& run) {
    std::ostringstream text;
    write(run, text);
    return text.str();
}

TEST(Prometheus, HasTheTotalsOfTheRun) {
    const std::string text = text_of(write_prometheus, eventful());
    std::map<std::string, double> sums;
    std::set<std::string> typed;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::string name = line.substr(0, line.find_first_of("{ "));
        if (line.starts_with("# TYPE ")) typed.insert(line.substr(7, line.find(' ', 7) - 7));
        if (line.starts_with('#')) continue;
        EXPECT_TRUE(typed.contains(name)) << line;
        sums[name] += std::stod(line.substr(line.rfind(' ') + 1));
    }
    const TrafficTotals wire = total(eventful().edges);
    EXPECT_EQ(sums["refit_wire_sent_bytes_total"], static_cast<double>(wire.sent_bytes));
    EXPECT_EQ(sums["refit_wire_kept_bytes_total"], static_cast<double>(wire.needed_bytes));
    EXPECT_NEAR(sums["refit_gpu_idle_seconds_total"], to_seconds(eventful().idle.idle_total()),
                1e-6);
    EXPECT_NEAR(sums["refit_gpu_busy_seconds_total"], to_seconds(eventful().idle.busy), 1e-6);
}

TEST(Csv, QuotesAndKeepsEveryFigure) {
    SavedRun run = eventful();
    run.record = nlohmann::ordered_json::parse(R"({"schema":"refit.run/1","title":"a, \"b\"",
        "refit":{"seconds":{"value":1.5,"unit":"s","provenance":"simulated","ci95":[1,2]}},
        "refits":[{"version":1},{"version":2}],"faults":[]})");
    EXPECT_EQ(text_of(write_csv, run),
              "figure,value,unit,provenance,ci95_low,ci95_high\n"
              "schema,refit.run/1,,,,\n"
              "title,\"a, \"\"b\"\"\",,,,\n"
              "refit.seconds,1.5,s,simulated,1,2\n"
              "refits.1.version,1,,,,\n"
              "refits.2.version,2,,,,\n");
}

TEST(Markdown, SaysWhatIsMissing) {
    const std::string text = text_of(write_markdown, eventful());
    EXPECT_NE(text.find("Not whole: there is no record"), std::string::npos) << text;
    EXPECT_NE(text.find("| eu/relay-1 |"), std::string::npos);
}

}  // namespace
}  // namespace refit
