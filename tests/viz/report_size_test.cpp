// What a report of a 1T run weighs: a page that is passed on by mail or chat.
#include <gtest/gtest.h>

#include <sstream>

#include "viz/large_recording.hpp"
#include "viz/report/assets.hpp"
#include "viz/report/report.hpp"

namespace refit {
namespace {

constexpr std::size_t kPageMax = 8'000'000;
constexpr std::size_t kScriptMax = 40 << 10;

std::string page_of(Recording recording) {
    std::ostringstream page;
    write_html(make_saved_run(std::move(recording), {}), {}, page);
    return std::move(page).str();
}

TEST(ReportSize, StaysBelowEightMegabytesForALargeRun) {
    Recording recording = large_recording();
    ASSERT_GE(recording.timeline.events().size(), 100'000u);
    ASSERT_GE(recording.cast.catalog.tensors().size(), 70'000u);
    const std::string page = page_of(std::move(recording));
    EXPECT_LT(page.size(), kPageMax);
    EXPECT_LT(std::string_view(report::kReportPlayer).size(), kScriptMax);
    std::size_t lanes = 0;
    for (std::size_t at = 0; (at = page.find("replica-", at)) != std::string::npos; ++at) ++lanes;
    EXPECT_GE(lanes, kLargeReplicas);
}

/// A lane that changes at every event: drawn no finer than a pixel, played no finer than anybody
/// can point. 100,000 spans of their own would be two megabytes more: what a node does stays exact.
TEST(ReportSize, DoesNotGrowWithSpansThatNobodyCouldTellApart) {
    Recording recording = large_recording();
    const auto replica = static_cast<NodeId>(recording.cast.tree.nodes.size() - 1);
    Timeline timeline(node_names(recording.cast.tree));
    for (std::int64_t i = 0; i < 100'000; ++i)
        timeline.append({Nanoseconds{i * 1'000'000}, 0, 0, replica, kNoNode, 0,
                         i % 2 == 1 ? EventKind::pause_begin : EventKind::serving});
    recording.timeline = std::move(timeline);
    EXPECT_LT(page_of(std::move(recording)).size(), kPageMax / 2);
}

}  // namespace
}  // namespace refit
