#include "viz/comparison.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

Json figure(double value, const char* provenance) {
    return {{"value", value}, {"unit", "s"}, {"provenance", provenance}};
}

const ComparedValue& only(const Result<Comparison>& comparison) {
    EXPECT_TRUE(comparison.has_value());
    EXPECT_EQ(comparison.value().values.size(), 1u);
    return comparison.value().values.front();
}

TEST(Comparison, TakesTheRatioAndTheWeakerProvenance) {
    const Json a = {{"schema", "refit.run/1"}, {"refit", {{"seconds", figure(2, "measured")}}}};
    const Json b = {{"schema", "refit.run/1"}, {"refit", {{"seconds", figure(3, "simulated")}}}};
    const auto made = compare_records(a, b);
    const ComparedValue& value = only(made);
    EXPECT_EQ(value.key, "refit.seconds");
    EXPECT_EQ(value.ratio, 1.5);
    EXPECT_EQ(value.provenance, "simulated");
    EXPECT_TRUE(value.differs);
    EXPECT_FALSE(value.ratio_ci95.has_value());
    EXPECT_FALSE(only(compare_records(a, a)).differs);
}

TEST(Comparison, CarriesIntervalsIntoTheRatio) {
    Json a = {{"schema", "s"}, {"x", figure(10, "measured")}};
    Json b = {{"schema", "s"}, {"x", figure(11, "measured")}};
    a["x"]["ci95"] = {9.0, 11.0};   // 10 %
    b["x"]["ci95"] = {10.0, 12.0};  // 9.09 %
    const auto made = compare_records(a, b);
    const ComparedValue& value = only(made);
    const double half = 1.1 * std::hypot(0.1, 1.0 / 11);
    ASSERT_TRUE(value.ratio_ci95.has_value());
    EXPECT_NEAR(value.ratio_ci95->first, 1.1 - half, 1e-12);
    EXPECT_NEAR(value.ratio_ci95->second, 1.1 + half, 1e-12);
    EXPECT_FALSE(value.differs);  // 1 is inside
    b["x"]["value"] = 20.0;
    b["x"]["ci95"] = {19.0, 21.0};
    EXPECT_TRUE(only(compare_records(a, b)).differs);
}

TEST(Comparison, PairsRowsByNameAndLeavesTheHostOut) {
    const Json a = {{"schema", "s"},
                    {"rows", {{{"name", "x"}, {"n", 1}}, {{"name", "y"}, {"n", 0}}}},
                    {"codec", "xc"},
                    {"host", {{"wall_seconds", 3}}}};
    const Json b = {{"schema", "s"},
                    {"rows", {{{"name", "y"}, {"n", 2}}, {{"name", "x"}, {"n", 1}}}},
                    {"codec", "full"},
                    {"host", {{"wall_seconds", 4}}}};
    const auto made = compare_records(a, b);
    ASSERT_TRUE(made.has_value());
    ASSERT_EQ(made.value().values.size(), 2u);
    EXPECT_EQ(made.value().values[0].key, "rows.x.n");
    EXPECT_FALSE(made.value().values[0].differs);
    EXPECT_EQ(made.value().values[1].key, "rows.y.n");
    EXPECT_FALSE(made.value().values[1].ratio.has_value());  // of 0
    EXPECT_TRUE(made.value().values[1].differs);
    ASSERT_EQ(made.value().texts.size(), 1u);
    EXPECT_EQ(made.value().texts[0].a, "xc");
}

TEST(Comparison, RefusesDocumentsOfTwoKinds) {
    const Json run = {{"schema", "refit.run/1"}};
    EXPECT_FALSE(compare_records(run, {{"schema", "refit.bench/1"}}).has_value());
    EXPECT_FALSE(compare_records(Json(), Json()).has_value());
    EXPECT_TRUE(compare_records(run, run).has_value());
}

}  // namespace
}  // namespace refit
