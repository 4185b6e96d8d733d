// The scenario of one node: what crosses between its ranks stands in the record.
#include <gtest/gtest.h>

#include "tests/app/driver.hpp"

namespace refit {
namespace {

TEST(NodeScenario, CountsWhatIsGatheredOnBothSides) {
    const TestFolder folder;
    const Outcome outcome =
        run_refit({"run", "node-8gpu", "--json", "--out", (folder / "run").string()});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const nlohmann::json record = outcome.document();
    EXPECT_EQ(record["verify"]["exact"], true);
    EXPECT_EQ(record["commit"]["versions"], 2);
    const double bytes = 2 * record["model"]["parameters"].get<double>();
    // 2 refits x 2 replicas, copies counted: both ranks of a replica hold the norms.
    const double checked = record["verify"]["words_checked"];
    EXPECT_GE(checked, 2 * bytes);
    EXPECT_NEAR(checked, 2 * bytes, bytes / 100);
    // Base and next of three shards of four, per refit; tiles of norms may be whole at a rank.
    const double trainer = record["gather"]["trainer_bytes"];
    EXPECT_NEAR(trainer, 2 * 2 * bytes * 3 / 4, bytes / 100);
    // The base of one shard of two, per refit and replica.
    const double replicas = record["gather"]["replica_bytes"];
    EXPECT_NEAR(replicas, 2 * 2 * bytes / 2, bytes / 100);
}

}  // namespace
}  // namespace refit
