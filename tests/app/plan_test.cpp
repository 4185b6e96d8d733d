// What must hold for `refit plan`: it agrees with runs of the same model over every shipped
// topology, every line and figure follows from the closed form, the document is documented, and
// what it cannot plan is refused in one line.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "app/plan/plan.hpp"
#include "engine/codec/codec.hpp"
#include "kernels/changes.hpp"
#include "tests/app/driver.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const fs::path kRoot = REFIT_SOURCE_DIR;

Outcome plan(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "plan");
    return run_refit(arguments);
}

Json plan_json(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    const Outcome outcome = plan(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const Json json = outcome.document();
    EXPECT_EQ(json.value("schema", ""), "refit.plan/1") << outcome.out;
    return json;
}

Json codec_of(const Json& json, const std::string& name) {
    for (const Json& codec : json.at("codecs"))
        if (codec.at("name") == name) return codec;
    ADD_FAILURE() << "no codec " << name;
    return {};
}

double value(const Json& json, const std::string& pointer) {
    return json.at(Json::json_pointer(pointer)).at("value").get<double>();
}

void expect_refused(const std::vector<std::string>& arguments, const std::string& start) {
    const Outcome outcome = plan(arguments);
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    EXPECT_TRUE(outcome.one_line()) << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("refit: " + start)) << outcome.err;
    EXPECT_EQ(outcome.out, "");
}

Topology two_sites() {
    const auto site = [](const char* name, bool trainer) {
        Site made;
        made.name = name;
        made.trainer = trainer;
        made.relay_nic = made.replica_nic = 100_Gbps;
        made.store_rate = 50_Gbps;
        made.store_rtt = 10_ms;
        made.local_rtt = Nanoseconds{500'000};
        return made;
    };
    Topology topology{"two", {site("home", true), site("away", false)}, {}};
    topology.sites[1].replicas = {{"r1", "tp:tp2", Nanoseconds{0}}};
    topology.links = {{"home", "away", 4_Gbps, 80_ms, "a test"}};
    return topology;
}

PlanInputs tera_inputs() {
    const auto rate = [](std::uint64_t giga) {
        return DeclaredRate{BytesPerSecond{giga * 1'000'000'000}, "a test"};
    };
    PlanInputs inputs;
    inputs.parameters = 1'000'000'000'000;
    inputs.changed = 0.03;
    inputs.codecs = {{"xc", 0.2}, {"full", 16}, {"full-zstd", 12}};
    inputs.topology = two_sites();
    inputs.transport.goodput = 1;
    inputs.fleet = {rate(8000), rate(4000), rate(1000), rate(8000), 200_ms, "a test"};
    inputs.loop.step = 900_s;
    inputs.crossings = crossings(inputs.topology);
    inputs.crossings.front().usd_per_gb = 0.02;
    inputs.rollout_gpus = 64;
    inputs.usd_per_gpu_hour = 4.5;
    return inputs;
}

const CodecPlan& find(const RefitPlan& plan, const std::string& codec) {
    for (const CodecPlan& known : plan.codecs)
        if (known.codec == codec) return known;
    throw std::runtime_error("no codec " + codec);
}

TEST(Plan, AgreesWithRunsOnEveryShippedTopology) {
    std::size_t topologies = 0;
    for (const auto& entry : fs::directory_iterator(kRoot / "scenarios" / "topologies")) {
        const std::string topology = entry.path().stem().string();
        const std::vector<std::string> what = {"--model", "qwen3-30b-a3b", "--changed",
                                               "3%",      "--topology",    topology};
        const TestFolder folder;
        std::vector<std::string> run = {
            "run", "--json", "--quiet", "--out", (folder / "run").string(), "--sample", "0.0005"};
        run.insert(run.end(), what.begin(), what.end());
        const Outcome outcome = run_refit(run);
        ASSERT_EQ(outcome.code, 0) << outcome.err;
        const Json ran = outcome.document();
        const Json planned = codec_of(plan_json(what), ran.at("codec").at("name"));
        const double seconds = value(ran, "/refit/seconds");
        EXPECT_NEAR(value(planned, "/refit/seconds"), seconds, 0.05 * seconds) << topology;
        for (const char* share : {"encode", "wire", "stage", "pause"}) {
            const std::string key = fmt::format("/refit/{}_seconds", share);
            EXPECT_NEAR(value(planned, key), value(ran, key), 0.05 * seconds) << topology << key;
        }
        EXPECT_NEAR(value(planned, "/payload_bytes") / value(ran, "/codec/payload_bytes"), 1, 0.05);
        EXPECT_NEAR(value(planned, "/refit/replica_pause_seconds"),
                    value(ran, "/refit/longest_pause_seconds"), 0.05 * seconds);
        std::cout << topology << ": plan " << value(planned, "/refit/seconds") << " s, run "
                  << seconds << " s\n";
        ++topologies;
    }
    EXPECT_GE(topologies, 2u);
}

TEST(Plan, StagedBytesAreThoseOfTheStagingList) {
    const double words = 4096e6;
    EXPECT_EQ(staged_bytes(4'096'000'000, 0).count, 0u);
    // Every segment changes somewhere: heads of all of them.
    EXPECT_NEAR(static_cast<double>(staged_bytes(4'096'000'000, 0.03).count),
                words * 0.12 + 1e6 * sizeof(SegmentChanges), 2);
    // One change in 2^20 words: a head for nearly each.
    EXPECT_NEAR(static_cast<double>(staged_bytes(4'096'000'000, 1 / 1048576.0).count),
                words / 1048576 * (4 + sizeof(SegmentChanges)), 200);
    EXPECT_NEAR(static_cast<double>(staged_bytes(4'096'000'000, 1).count),
                words * 2 + 1e6 * sizeof(SegmentChanges), 2);
}

TEST(Plan, LoopsAndMoneyFollowFromTheTimes) {
    const RefitPlan plan = plan_refit(tera_inputs());
    EXPECT_EQ(plan.full, "full-zstd");
    EXPECT_EQ(plan.codecs.front().codec, "xc");
    const CodecPlan& xc = find(plan, "xc");
    const double refit = xc.form.seconds();
    EXPECT_NEAR(refit, 50, 2);  // 25 GB over 4 Gbit/s
    EXPECT_EQ(xc.size.payload.count, 25'000'000'000u);
    EXPECT_DOUBLE_EQ(xc.speedup, find(plan, "full-zstd").form.seconds() / refit);
    EXPECT_DOUBLE_EQ(find(plan, "full-zstd").speedup, 1);
    EXPECT_NEAR(find(plan, "full").speedup, 0.75, 0.01);

    // Drain, overwrite, check, and one round trip from the decision to the way back.
    const double staged = static_cast<double>(xc.size.staged.count) / 1e12;
    EXPECT_NEAR(xc.replica_pause_seconds, 0.2 + staged + 0.25 + 0.08, 1e-9);
    const double pause = xc.replica_pause_seconds;
    EXPECT_DOUBLE_EQ(xc.one_step_off.step_seconds, 900);
    EXPECT_DOUBLE_EQ(xc.one_step_off.idle_fraction(), pause / 900);
    EXPECT_NEAR(xc.one_step_off.shortest_step_seconds, 100 * pause, 1e-9);
    EXPECT_DOUBLE_EQ(xc.synchronous.step_seconds, 900 + refit);
    EXPECT_DOUBLE_EQ(xc.synchronous.idle_fraction(), refit / (900 + refit));
    EXPECT_NEAR(xc.synchronous.shortest_step_seconds, 100 * refit, 1e-6);
    // At that step 99 % are busy, to the digit.
    EXPECT_NEAR(refit / xc.synchronous.shortest_step_seconds, 0.01, 1e-12);

    // Weights two batches old: the refit is hidden, the pause is not.
    EXPECT_DOUBLE_EQ(xc.asynchronous.step_seconds, 900 + pause);
    EXPECT_NEAR(xc.asynchronous.idle_seconds, pause, 1e-9);
    EXPECT_NEAR(xc.asynchronous.shortest_step_seconds, 100 * pause, 1e-9);

    const CodecPlan& full = find(plan, "full");
    EXPECT_DOUBLE_EQ(full.asynchronous.step_seconds, full.form.seconds());
    EXPECT_DOUBLE_EQ(full.asynchronous.idle_seconds, full.form.seconds() - 900);
    EXPECT_DOUBLE_EQ(full.one_step_off.step_seconds, full.form.seconds());
    EXPECT_DOUBLE_EQ(full.one_step_off.shortest_step_seconds, full.form.seconds());
    EXPECT_EQ(full.size.staged.count, xc.size.staged.count);

    EXPECT_NEAR(*xc.egress_usd, 25 * 0.02, 1e-9);
    EXPECT_NEAR(*xc.one_step_off.idle_usd, 64 * pause / 3600 * 4.5, 1e-9);
    EXPECT_NEAR(*xc.synchronous.idle_usd, 64 * refit / 3600 * 4.5, 1e-9);
    EXPECT_NEAR(*xc.usd(LoopShape::synchronous), *xc.egress_usd + *xc.synchronous.idle_usd, 1e-12);
}

TEST(Plan, AScenariosOwnGenerationIsWhatRolloutsWork) {
    PlanInputs inputs = tera_inputs();
    inputs.loop.generation = 100_s;
    const RefitPlan plan = plan_refit(std::move(inputs));
    const CodecPlan& xc = find(plan, "xc");
    EXPECT_DOUBLE_EQ(xc.synchronous.step_seconds, 100 + xc.form.seconds());
    EXPECT_DOUBLE_EQ(xc.one_step_off.step_seconds, 900);
    EXPECT_DOUBLE_EQ(xc.asynchronous.step_seconds, 900) << "the trainer's";
}

TEST(Plan, TheDeclaredLoopDecidesWhatIdleObjectivesCompare) {
    PlanInputs inputs = tera_inputs();
    inputs.loop.staleness = 1;
    inputs.loop.kv_recompute = 3_s;
    const RefitPlan plan = plan_refit(inputs);
    const CodecPlan& xc = find(plan, "xc");
    const double refit = xc.form.seconds();
    EXPECT_DOUBLE_EQ(xc.asynchronous.step_seconds, (900 + 3 + 900 + refit) / 2);
    EXPECT_DOUBLE_EQ(xc.asynchronous.shortest_step_seconds, 100 * (refit + 3));
    EXPECT_DOUBLE_EQ(xc.synchronous.idle_seconds, refit + 3);
    EXPECT_DOUBLE_EQ(xc.one_step_off.idle_seconds, xc.replica_pause_seconds + 3);
    EXPECT_EQ(&xc.loop(LoopShape::asynchronous), &xc.asynchronous);
    EXPECT_EQ(&xc.loop(LoopShape::synchronous), &xc.synchronous);
    EXPECT_EQ(&xc.loop(LoopShape::one_step_off), &xc.one_step_off);
    std::string text;
    for (const std::string& line : explain(inputs, xc)) text += line + "\n";
    EXPECT_NE(text.find("/ (staleness 1 + 1)) = "), std::string::npos) << text;
    EXPECT_NE(text.find(" s + kv 3.00 s) / 0.01) = "), std::string::npos) << text;
    inputs.loop.staleness = 0;
    text.clear();
    for (const std::string& line : explain(inputs, find(plan_refit(inputs), "xc"))) text += line;
    EXPECT_NE(text.find("/ (staleness 0 + 1)) = "), std::string::npos) << text;
}

TEST(Plan, EgressIsPaidOncePerLinkOfTheTreeAndPricesMayBeMissing) {
    PlanInputs inputs = tera_inputs();
    Site far = inputs.topology.sites[1];
    far.name = "far";
    far.relays = 2;
    far.replicas.push_back({"r2", "tp:tp2", Nanoseconds{0}});
    inputs.topology.sites.push_back(far);
    inputs.topology.links.push_back({"far", "away", 8_Gbps, 20_ms, "a test"});
    inputs.topology.links.push_back({"home", "far", 1_Gbps, 90_ms, "a test"});
    inputs.crossings = crossings(inputs.topology);
    ASSERT_EQ(inputs.crossings.size(), 2u);  // one copy a site, whatever its relays and replicas
    EXPECT_EQ(inputs.crossings[0].from, "home");
    EXPECT_EQ(inputs.crossings[0].to, "away");
    EXPECT_EQ(inputs.crossings[1].from, "away");  // against the direction the link was written in
    EXPECT_EQ(inputs.crossings[1].to, "far");
    inputs.crossings[0].usd_per_gb = 0.02;
    inputs.crossings[1].usd_per_gb = 0.09;
    EXPECT_NEAR(*find(plan_refit(inputs), "xc").egress_usd, 25 * 0.11, 1e-9);
    inputs.crossings[1].usd_per_gb.reset();
    const RefitPlan open = plan_refit(inputs);
    EXPECT_FALSE(find(open, "xc").egress_usd.has_value());
    EXPECT_FALSE(find(open, "xc").usd(LoopShape::synchronous).has_value());
    inputs.usd_per_gpu_hour.reset();
    EXPECT_FALSE(find(plan_refit(inputs), "xc").one_step_off.idle_usd.has_value());
}

TEST(Plan, ObjectivesPutTheirBestFirst) {
    PlanInputs inputs = tera_inputs();
    inputs.codecs = {{"full", 16}, {"cf", 0.3}, {"xc", 0.2}};
    for (const PlanObjective objective :
         {PlanObjective::time, PlanObjective::idle, PlanObjective::cost}) {
        inputs.objective = objective;
        EXPECT_EQ(plan_refit(inputs).codecs.front().codec, "xc");
    }
    // A full checkpoint idles the least share of its time, since it serves the fewest versions.
    inputs.objective = PlanObjective::idle;
    inputs.loop.step = Nanoseconds{1};
    const RefitPlan plan = plan_refit(inputs);
    EXPECT_LT(find(plan, "full").one_step_off.idle_fraction(),
              find(plan, "xc").one_step_off.idle_fraction());
    EXPECT_EQ(plan.codecs.back().codec, "full");
}

TEST(Plan, ExplainedLinesHaveTheNumbersOfTheForm) {
    const PlanInputs inputs = tera_inputs();
    const RefitPlan plan = plan_refit(inputs);
    const CodecPlan& xc = find(plan, "xc");
    const double parts = 25e9 / (64.0 * 8 * 1024 * 1024);
    const double encode = 0.0005 + 0.25 / parts + 0.01 + 25e9 / parts * 8 / 50e9;
    EXPECT_NEAR(xc.form.encode_seconds, encode, 1e-6);
    const double work = 0.2 + static_cast<double>(xc.size.staged.count) / 1e12 + 2e12 / 8e12;
    EXPECT_NEAR(xc.form.pause_seconds - work, 1.5 * 0.08, 1e-9);
    std::string text;
    for (const std::string& line : explain(inputs, xc)) text += line + "\n";
    for (const std::string& part :
         {std::string("payload   0.2 bits x 1,000,000,000,000 / 8 = 25 GB\n"),
          std::string("/ (64 chunks of 8.00 MiB) = 46.6, each 512 MiB"),
          std::string("encode    0.5 ms local round trip + 2000 GB / 8000 GB/s / 46.6 parts + "
                      "store 10 ms + 512 MiB / 50 Gbit/s = "),
          std::string("wire      25 GB x 8 / 4 Gbit/s (link home -> away) = 50.0 s, + "),
          std::string("resident check 2000 GB / 8000 GB/s + 0.12 s in 1.5 round trips = "),
          std::string("99 % busy from 100 x "),
          std::string("asynchronous  idle in all but generation of max(generation 15.0 min + "),
          std::string("egress    25 GB x ($0.02 a GB) = $0.50"),
          std::string("idle $    64 GPUs x ")})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
}

TEST(Plan, ExplainSaysWhenTheSourceIsTheBottleneck) {
    PlanInputs inputs = tera_inputs();
    inputs.fleet.encode.value = BytesPerSecond{1'000'000'000};
    const RefitPlan plan = plan_refit(inputs);
    EXPECT_EQ(find(plan, "xc").form.bottleneck, "encode");
    std::string text;
    for (const std::string& line : explain(inputs, find(plan, "xc"))) text += line + "\n";
    EXPECT_NE(text.find("wire      waits for the encode: "), std::string::npos) << text;
}

// --- the command -----------------------------------------------------------------------------

void collect_keys(const Json& json, std::set<std::string>& keys) {
    if (json.is_array())
        for (const Json& entry : json) collect_keys(entry, keys);
    if (!json.is_object()) return;
    for (const auto& [key, entry] : json.items()) {
        keys.insert(key);
        collect_keys(entry, keys);
    }
}

TEST(PlanCommand, TheDocumentIsWholeAndDocumented) {
    const Json json = plan_json({"--model", "kimi-k2-1t", "--changed", "3%", "--explain"});
    EXPECT_EQ(json["model"]["parameters"], 1'026'408'232'448u);
    EXPECT_EQ(json["codecs"].size(), builtin_codecs().size());
    EXPECT_EQ(json["best"], json["codecs"][0]["name"]);
    const Json xc = codec_of(json, "xc");
    EXPECT_EQ(xc["refit"]["seconds"]["provenance"], "extrapolated");
    double shares = 0;
    for (const char* share : {"encode", "wire", "stage", "pause"})
        shares += value(xc, fmt::format("/refit/{}_seconds", share));
    EXPECT_NEAR(shares, value(xc, "/refit/seconds"), 1e-9);
    // The published link, by the checkpoint alone: 5250 s, within 2 %.
    EXPECT_NEAR(value(codec_of(json, "full"), "/refit/seconds"), 5250, 105);
    EXPECT_TRUE(xc["egress_usd"].is_null());  // nobody has a price for this link

    std::set<std::string> keys;
    collect_keys(json, keys);
    std::ifstream stream(kRoot / "results/README.md");
    const std::string page(std::istreambuf_iterator<char>(stream), {});
    const std::size_t first = page.find("## A refit planned: `refit.plan/1`");
    ASSERT_NE(first, std::string::npos);
    const std::string section = page.substr(first, page.find("\n## ", first + 3) - first) +
                                page.substr(page.find("## The record of a run"), 6000);
    for (const std::string& key : keys) {
        const bool figure =
            key == "value" || key == "unit" || key == "provenance" || key == "schema";
        EXPECT_TRUE(figure || section.find("`" + key + "`") != std::string::npos) << key;
    }
}

TEST(PlanCommand, TextFitsAndCsvHasOneLineACodec) {
    const Outcome text = plan({"--model", "qwen3-30b-a3b", "--changed", "2%", "--explain"});
    EXPECT_EQ(text.code, 0) << text.err;
    EXPECT_NE(text.out.find("measured at 1 % and 3 %, interpolated"), std::string::npos);
    EXPECT_NE(text.out.find("* xc"), std::string::npos);
    EXPECT_NE(text.out.find("xc explained"), std::string::npos);
    const Outcome csv = plan({"--model", "qwen3-30b-a3b", "--changed", "2%", "--csv"});
    std::istringstream lines(csv.out);
    std::string header;
    std::getline(lines, header);
    EXPECT_EQ(header.rfind("codec,bits_per_parameter,payload_bytes,", 0), 0u);
    EXPECT_NE(header.find(",asynchronous_shortest_step_seconds,"), std::string::npos);
    std::size_t rows = 0;
    for (std::string line; std::getline(lines, line); ++rows)
        EXPECT_EQ(std::ranges::count(line, ','), std::ranges::count(header, ',')) << line;
    EXPECT_EQ(rows, builtin_codecs().size());
}

TEST(PlanCommand, RegionsBecomeATopologyWithPrices) {
    const Json json = plan_json({"--model", "kimi-k2-1t", "--from", "aws:us-east-1", "--to",
                                 "aws:eu-west-1,gpus=64,replicas=2", "--to",
                                 "aws:ap-northeast-1,gpus=32", "--objective", "cost"});
    EXPECT_EQ(json["rollout_gpus"], 96);
    ASSERT_EQ(json["topology"]["tree"].size(), 2u);
    const Json& link = json["topology"]["tree"][0];
    EXPECT_EQ(link["from"], "aws:us-east-1");
    EXPECT_EQ(link["to"], "aws:eu-west-1");
    EXPECT_EQ(link["bits_per_second"], 4'320'000'000u);
    EXPECT_EQ(link["usd_per_gb"], 0.02);
    const Json xc = codec_of(json, "xc");
    EXPECT_NEAR(value(xc, "/egress_usd"), value(xc, "/payload_bytes") / 1e9 * 0.04, 1e-6);
    const Json twice = codec_of(plan_json({"--model", "kimi-k2-1t", "--from", "aws:us-east-1",
                                           "--to", "aws:eu-west-1", "--paths", "2"}),
                                "full");
    const Json once = codec_of(
        plan_json({"--model", "kimi-k2-1t", "--from", "aws:us-east-1", "--to", "aws:eu-west-1"}),
        "full");
    EXPECT_NEAR(value(once, "/refit/seconds") / value(twice, "/refit/seconds"), 2, 0.02);
    const Json home = plan_json({"--from", "aws:us-east-1", "--to", "aws:us-east-1"});
    EXPECT_EQ(value(codec_of(home, "full"), "/egress_usd"), 0);
    EXPECT_EQ(home["topology"]["tree"].size(), 0u);
}

TEST(PlanCommand, TakesTheLoopOfItsScenario) {
    const Json json = plan_json({"async", "--objective", "idle"});
    EXPECT_EQ(json["loop"]["shape"], "asynchronous");
    EXPECT_EQ(json["loop"]["staleness"], 2);
    EXPECT_EQ(json["loop"]["kv_recompute_seconds"], 2);
    EXPECT_EQ(json["loop"]["generation_seconds"], 600);
    const Json xc = codec_of(json, "xc");
    EXPECT_NEAR(value(xc, "/asynchronous/step_seconds"),
                600 + value(xc, "/refit/replica_pause_seconds") + 2, 1e-9);
    double last = 0;
    for (const Json& codec : json.at("codecs")) {
        EXPECT_GE(value(codec, "/asynchronous/shortest_step_seconds"), last);
        last = value(codec, "/asynchronous/shortest_step_seconds");
    }
    const std::string text = plan({"async"}).out;
    EXPECT_NE(text.find("asynchronous by 2 (declared)"), std::string::npos) << text;
}

TEST(PlanCommand, FlagsChangeWhatTheySay) {
    const Json base = plan_json({});
    const Json step =
        plan_json({"--step", "10min", "--gpus", "8", "--gpu-price", "2", "--egress-price", "0.5"});
    EXPECT_EQ(base["loop"]["step_seconds"], 900);
    EXPECT_EQ(step["loop"]["step_seconds"], 600);
    EXPECT_EQ(step["rollout_gpus"], 16);
    EXPECT_EQ(step["gpu_price"]["usd_per_hour"], 2);
    const Json xc = codec_of(step, "xc");
    EXPECT_NEAR(value(xc, "/egress_usd"), value(xc, "/payload_bytes") / 1e9 * 0.5, 1e-6);
    EXPECT_NEAR(value(xc, "/one_step_off/idle_usd"),
                16 * value(xc, "/one_step_off/idle_seconds") / 3600 * 2, 1e-9);
    const Json real = plan_json({"--profile", "real", "--changed", "1%"});
    EXPECT_EQ(real["changed"], 0.01);
    EXPECT_LT(value(codec_of(real, "xc"), "/bits_per_parameter"),
              value(codec_of(base, "xc"), "/bits_per_parameter"));
}

TEST(PlanCommand, AProfileOfCheckpointsGivesItsOwnBits) {
    const TestFolder folder;
    const TracePair pair = trace_pair(folder);
    const std::string file = (folder / "mine.toml").string();
    const Outcome made = run_refit(
        {"profile", pair.base.string(), pair.next.string(), "-o", file, "--json", "--quiet"});
    ASSERT_EQ(made.code, 0) << made.err;
    const Json profile = made.document();
    const Json json = plan_json({"--model", "qwen3-30b-a3b", "--profile", file});
    EXPECT_NEAR(json["changed"].get<double>(), value(profile, "/changed"), 1e-12);
    for (const Json& codec : profile.at("codecs"))
        EXPECT_NEAR(value(codec_of(json, codec.at("name")), "/bits_per_parameter"),
                    value(codec, "/bits_per_parameter"), 1e-9);
    expect_refused({"--profile", file, "--changed", "3%"}, "--changed: the rate is that of the");
}

TEST(PlanCommand, WhatCannotBePlannedIsOneLine) {
    expect_refused({"--model", "kimi-k2-1"},
                   "--model: no such file and no such model as kimi-k2-1; "
                   "did you mean kimi-k2-1t?");
    expect_refused({"--model", "zzzzzzzzzzzzzzzzzzzz"}, "zzzzzzzzzzzzzzzzzzzz: no such file");
    expect_refused({"--profile", "adamm"},
                   "--profile: no such file and no such profile as adamm; "
                   "did you mean adam?");
    expect_refused({"--profile", "moe"}, "--profile: nobody measured payloads of the profile moe");
    expect_refused({"--changed", "20%"}, "--changed: 20 % is a rate the table does not reach");
    expect_refused({"--changed", "0.1%"}, "--changed: 0.1 % is a rate the table does not reach");
    expect_refused({"--from", "aws:us-east-2", "--to", "aws:us-west-2"},
                   "--from, --to: there is no region aws:us-east-2; did you mean aws:us-east-1?");
    expect_refused({"--from", "aws:us-east-1", "--to", "aws:us-west-2,gpus=x"},
                   "--to aws:us-west-2,gpus=x: gpus must be a whole number");
    expect_refused({"--objective", "cost"},
                   "--objective cost: nobody has a price for trainer to rollout; give "
                   "--egress-price");
    expect_refused({"--objective", "cost", "--egress-price", "0.02", "--gpu", "B300"},
                   "--gpu: there is no price of B300, only of H100, H200, B200; give --gpu-price");
    expect_refused({"--topology", "nowhere"}, "");
    expect_refused({"--step", "soon"}, "--step: ");
    expect_refused({"first"}, (kRoot / "scenarios/first.toml").string() + ": has no model");
    expect_refused({"nothing"}, "nothing: no such file");
    EXPECT_EQ(plan({"--from", "aws:us-east-1"}).code, 2);
    EXPECT_EQ(plan({"--to", "aws:us-east-1"}).code, 2);
    EXPECT_EQ(plan({"--paths", "2"}).code, 2);
    EXPECT_EQ(plan({"--changed", "0"}).code, 2);
    EXPECT_EQ(plan({"--gpu-price", "0"}).code, 2);
    EXPECT_EQ(plan({"--measure", "f", "--model", "kimi-k2-1t"}).code, 2);
    EXPECT_EQ(plan({"--topology", "one-link", "--from", "a", "--to", "b"}).code, 2);
    EXPECT_EQ(plan({"--gpu", "B300"}).code, 0);  // money was not asked for
}

TEST(PlanCommand, ListsSayWhatPlansKnow) {
    for (const char* topic : {"regions", "links", "prices"}) {
        const Json json = run_refit({"list", topic, "--json"}).document();
        EXPECT_EQ(json["schema"], "refit.list/1") << topic;
        EXPECT_GE(json["entries"].size(), 14u) << topic;
    }
    const std::string prices = run_refit({"list", "prices"}).out;
    EXPECT_NE(prices.find("$4.5 a GPU-hour; planning default, ours"), std::string::npos);
    EXPECT_NE(run_refit({"list", "links"}).out.find("aws:us-east-1 -> aws:eu-west-1"),
              std::string::npos);
}

}  // namespace
}  // namespace refit
