// The table [compute]: times of the loop that follow from FLOP, and what does not go together.
#include <gtest/gtest.h>

#include "scenarios/scenario.hpp"
#include "scenarios/shipped.hpp"
#include "workloads/compute_load.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;
using Overrides = std::vector<std::pair<std::string, std::string>>;

const fs::path kRoot = REFIT_SOURCE_DIR;
const std::pair<std::string, std::string> kNoStep = {"loop.step", "0 s"};
const std::pair<std::string, std::string> kTokens = {"compute.tokens_per_step", "4194304"};
const std::pair<std::string, std::string> kTrainer = {
    "compute.trainer", "{ value = \"25.6 PFLOP/s\", source = \"ours: 64 GPUs\" }"};
const std::pair<std::string, std::string> kRollout = {
    "compute.rollout", "{ value = \"6 PFLOP/s\", source = \"ours: 64 more\" }"};

Result<Scenario> load(const std::string& name, const Overrides& overrides) {
    REFIT_TRY(file, find_scenario(name, kRoot));
    REFIT_TRY(scenario, load_scenario(file, kRoot, overrides));
    REFIT_CHECK(validate(scenario));
    return scenario;
}

void expect_refused(const Result<Scenario>& scenario, const std::string& what) {
    ASSERT_FALSE(scenario.has_value()) << what;
    EXPECT_EQ(scenario.error().code, ErrorCode::invalid_input);
    EXPECT_TRUE(scenario.error().what.starts_with(what)) << scenario.error().what;
}

std::uint64_t training_flop_of(const std::string& model) {
    const auto file = kRoot / "workloads/architectures" / (model + ".toml");
    return training_flop(load_architecture(file).value());
}

TEST(ComputeSpec, IsOffUnlessSomebodyAsks) {
    const Scenario scenario = load("model", {}).value();
    EXPECT_EQ(scenario.compute.seconds.count, 0);
    EXPECT_TRUE(scenario.derived.empty());
    EXPECT_EQ(load("model", {{"compute.seconds", "2s"}}).value().compute.seconds, 2_s);
}

TEST(ComputeSpec, GivesTheStepThatFollowsFromFlop) {
    const auto loaded = load("model", {kNoStep, kTokens, kTrainer});
    ASSERT_TRUE(loaded.has_value()) << loaded.error().what;
    const Scenario& scenario = loaded.value();
    ASSERT_EQ(scenario.derived.size(), 1u);
    const DerivedTime& step = scenario.derived.front();
    EXPECT_EQ(step.name, "step");
    EXPECT_EQ(step.flop_per_token, training_flop_of("kimi-k2-1t"));
    EXPECT_EQ(step.tokens, 4'194'304u);
    EXPECT_EQ(step.rate.value.count, 25'600'000'000'000'000u);
    EXPECT_EQ(step.rate.source, "ours: 64 GPUs");
    EXPECT_EQ(scenario.loop.step, step.time);
    const double expected = static_cast<double>(step.flop_per_token) * 4194304 / 25.6e15;
    EXPECT_NEAR(to_seconds(step.time), expected, 2e-9);
    EXPECT_EQ(scenario.loop.generation.count, 0);
}

TEST(ComputeSpec, GivesTheGenerationOfASynchronousLoop) {
    const auto loaded =
        load("model", {kNoStep, kTokens, kTrainer, kRollout, {"loop.shape", "synchronous"}});
    ASSERT_TRUE(loaded.has_value()) << loaded.error().what;
    const Scenario& scenario = loaded.value();
    ASSERT_EQ(scenario.derived.size(), 2u);
    EXPECT_EQ(scenario.derived[1].name, "generation");
    EXPECT_EQ(3 * scenario.derived[1].flop_per_token, scenario.derived[0].flop_per_token);
    EXPECT_EQ(scenario.loop.generation, scenario.derived[1].time);
}

TEST(ComputeSpec, FollowsTheModelThatIsAskedFor) {
    const auto loaded = load(
        "model", {{"source", "{ model = { name = \"qwen3-8b\" } }"}, kNoStep, kTokens, kTrainer});
    ASSERT_TRUE(loaded.has_value()) << loaded.error().what;
    EXPECT_EQ(loaded.value().derived.at(0).flop_per_token, training_flop_of("qwen3-8b"));
}

TEST(ComputeSpec, RefusesWhatDoesNotGoTogether) {
    const std::string both = "loop.step: is given, and follows from compute.trainer too";
    expect_refused(load("model", {kTokens, kTrainer}), both);
    expect_refused(
        load("model", {kNoStep, kTokens, kTrainer, kRollout, {"loop.generation", "1 s"}}),
        "loop.generation: is given, and follows from compute.rollout too");
    expect_refused(load("model", {kNoStep, kTrainer}),
                   "compute.trainer: needs compute.tokens_per_step");
    expect_refused(load("model", {kTokens}),
                   "compute.tokens_per_step: needs compute.trainer or compute.rollout");
    expect_refused(load("first", {kTokens, kTrainer}),
                   "compute.trainer: the FLOP are a model's: needs source.model");
    expect_refused(load("first", {{"compute.seconds", "2 s"}}),
                   "compute.seconds: the load is of a model: needs source.model (--model)");
    expect_refused(load("model", {{"compute.seconds", "2 h"}}), "compute.seconds: must be at most");
    expect_refused(load("model", {{"compute.seconds", "soon"}}),
                   "compute.seconds: \"soon\" is not a duration");
}

TEST(ComputeSpec, RefusesBadRatesAndUnknownKeys) {
    const auto trainer = [](const std::string& value) {
        return load("model", {kNoStep, kTokens, {"compute.trainer", value}});
    };
    expect_refused(trainer("{ value = \"0 PFLOP/s\", source = \"x\" }"),
                   "compute.trainer.value: must be over 0");
    expect_refused(trainer("{ value = \"1 PFLOP/s\", source = \"\" }"),
                   "compute.trainer.source: must say who says so");
    expect_refused(trainer("{ value = \"1 PFLOP/s\" }"), "compute.trainer.source: is missing");
    expect_refused(trainer("{ value = \"1 PFLOPS\", source = \"x\" }"),
                   "compute.trainer.value: \"1 PFLOPS\" is not a rate of computing");
    expect_refused(trainer("{ value = \"1 PFLOP/s\", source = \"x\", gpus = 4 }"),
                   "compute.trainer.gpus: ");
    expect_refused(load("model", {{"compute.tokens", "5"}}), "compute.tokens: ");
    expect_refused(trainer("{ value = \"1 FLOP/s\", source = \"x\" }"),
                   "compute.trainer: so many tokens at this rate take centuries");
    expect_refused(load("model", {kNoStep, kTrainer, {"compute.tokens_per_step", "2000000000000"}}),
                   "compute.tokens_per_step: must be at most 2^40");
}

TEST(FlopRate, IsExactWithItsUnit) {
    EXPECT_EQ(parse_flop_rate("25.6 PFLOP/s").value().count, 25'600'000'000'000'000u);
    EXPECT_EQ(parse_flop_rate("9 EFLOP/s").value().count, 9'000'000'000'000'000'000u);
    EXPECT_EQ(parse_flop_rate("989 TFLOP/s").value().count, 989'000'000'000'000u);
    EXPECT_EQ(parse_flop_rate("1.5GFLOP/s").value().count, 1'500'000'000u);
    EXPECT_FALSE(parse_flop_rate("10 EFLOP/s").has_value());
    EXPECT_FALSE(parse_flop_rate("0.5 FLOP/s").has_value());
    EXPECT_FALSE(parse_flop_rate("-1 FLOP/s").has_value());
    EXPECT_FALSE(parse_flop_rate("1 GB/s").has_value());
}

}  // namespace
}  // namespace refit
