// The closed form against time passes of the same plan: total within 5 %, the wire as well.
#include "engine/closed_form.hpp"

#include <gtest/gtest.h>

#include "engine/refit.hpp"
#include "engine/sim/recorded_bits.hpp"
#include "scenarios/shipped.hpp"

namespace refit {
namespace {

constexpr std::uint64_t kUnitWords = std::uint64_t{16} << 20;

/// A delta of `payload` bytes of a model of `units` units, spread evenly.
RecordedRun even_run(std::uint64_t units, Bytes payload, const DeltaSpec& delta) {
    RecordedRun run;
    run.units.assign(units, Words{kUnitWords});
    run.words = Words{units * kUnitWords};
    RecordedDelta even;
    std::uint64_t given = 0;
    for (std::uint64_t u = 0; u < units; ++u) {
        const std::uint64_t due =
            payload.count / units * (u + 1) + payload.count % units * (u + 1) / units;
        even.units.push_back({due - given, kUnitWords / 33, std::nullopt});
        even.staged_bytes.push_back(kUnitWords / 33 * 4);
        given = due;
    }
    run.anchor = even;
    close_phantom_parts(even.units, delta, 1);
    close_phantom_parts(run.anchor.units, delta, 2);
    even.next_version = sha256(as_byte_span("next"));
    run.anchor.next_version = sha256(as_byte_span("base"));
    run.deltas = {even};
    run.replica_gather.resize(64);
    return run;
}

Fleet declared_fleet() {
    const auto rate = [](std::uint64_t giga) {
        return DeclaredRate{BytesPerSecond{giga * 1'000'000'000}, "test"};
    };
    return {rate(8000), rate(4000), rate(1000), rate(8000), 200_ms, "test"};
}

struct Case {
    const char* topology;
    std::uint64_t units;  // 2,000: 30B; 61,000: 1T
    double bits_per_parameter;
    std::uint64_t fleet_percent = 100;
};

class ClosedForm : public ::testing::TestWithParam<Case> {};

TEST_P(ClosedForm, AgreesWithTheRun) {
    const Case& c = GetParam();
    const auto file = std::filesystem::path(REFIT_SOURCE_DIR) / "scenarios" / "topologies" /
                      (std::string(c.topology) + ".toml");
    WorldPlan plan;
    plan.topology = load_topology(file).value();
    for (Site& site : plan.topology.sites)
        std::erase_if(site.replicas, [](const ReplicaSpec& r) { return r.join_at.count > 0; });
    plan.transport.goodput = 1.0;
    plan.fleet = declared_fleet();
    for (DeclaredRate* rate : {&plan.fleet.encode, &plan.fleet.decode})
        rate->value.count = rate->value.count * c.fleet_percent / 100;
    plan.seed = 3;
    const auto words = static_cast<double>(c.units * kUnitWords);
    const Bytes payload{static_cast<std::uint64_t>(words * c.bits_per_parameter / 8)};
    const RecordedRun run = even_run(c.units, payload, plan.delta);
    const auto bits = make_recorded_bits(run, plan.delta);
    const auto store = make_memory_store();
    const auto result = run_refits(plan, {*bits, *store}, make_memory_register);
    ASSERT_TRUE(result.has_value()) << result.error().what;
    const RefitTimes& times = result.value().refits.front();

    std::uint64_t staged = 0;
    for (const std::uint64_t bytes : run.deltas.front().staged_bytes) staged += bytes;
    const RefitForm form = closed_form(plan.topology, plan.delta, plan.transport, plan.fleet,
                                       {payload, size_of(run.words), Bytes{staged}});
    const double seconds = to_seconds(times.seconds());
    const auto shares = [](double encode, double wire, double stage, double pause) {
        return "encode " + std::to_string(encode) + " wire " + std::to_string(wire) + " stage " +
               std::to_string(stage) + " pause " + std::to_string(pause);
    };
    EXPECT_NEAR(form.seconds(), seconds, 0.05 * seconds)
        << shares(form.encode_seconds, form.wire_seconds, form.stage_seconds, form.pause_seconds)
        << " against "
        << shares(to_seconds(times.encode()), to_seconds(times.wire()), to_seconds(times.stage()),
                  to_seconds(times.pause()));
    EXPECT_NEAR(form.wire_seconds, to_seconds(times.wire()), 0.05 * seconds);
    EXPECT_NEAR(form.pause_seconds, to_seconds(times.pause()), 0.05 * seconds);
    EXPECT_FALSE(form.bottleneck.empty());
}

INSTANTIATE_TEST_SUITE_P(Shipped,
                         ClosedForm,
                         ::testing::Values(Case{"one-link", 61'000, 0.186},
                                           Case{"one-link", 2'000, 0.186},
                                           Case{"one-link", 61'000, 1.44},
                                           Case{"one-link", 2'000, 16.0},
                                           Case{"one-link", 61'000, 0.186, 2},
                                           Case{"three-regions", 61'000, 0.186},
                                           Case{"three-regions", 14'000, 0.39},
                                           Case{"three-regions", 2'000, 0.05},
                                           Case{"three-regions", 2'000, 16.0},
                                           Case{"three-regions", 61'000, 0.186, 2}));

TEST(ClosedForm, NamesWhatTheWireWaitsFor) {
    const auto file =
        std::filesystem::path(REFIT_SOURCE_DIR) / "scenarios" / "topologies" / "one-link.toml";
    const Topology topology = load_topology(file).value();
    const DeltaSize size{24_GiB, Bytes{2'052'816'464'896}, 100_GiB};
    TransportSpec transport;
    transport.goodput = 1.0;
    Fleet fleet = declared_fleet();
    EXPECT_EQ(closed_form(topology, {}, transport, fleet, size).bottleneck,
              "link trainer -> rollout");
    fleet.encode.value = BytesPerSecond{1'000'000'000};
    EXPECT_EQ(closed_form(topology, {}, transport, fleet, size).bottleneck, "encode");
    fleet = declared_fleet();
    transport.window = 1;
    EXPECT_NE(closed_form(topology, {}, transport, fleet, size).bottleneck.find("window of"),
              std::string::npos);
}

}  // namespace
}  // namespace refit
