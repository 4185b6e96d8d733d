// The time pass: a world over recorded sizes and hashes lives through the same run, event by
// event, as the world that held the words.
#include <gtest/gtest.h>

#include "engine/refit.hpp"
#include "engine/sim/recorded_bits.hpp"
#include "tests/sim/tiny_world.hpp"

namespace refit {
namespace {

constexpr std::uint64_t kSeed = 11;

/// What a bit pass over the tiny model yields: the same units the resident world makes.
RecordedRun record_of(const WorldPlan& plan, const std::unique_ptr<Device>& device) {
    const TinySteps steps(tiny_transformer(), plan.seed, plan.refits + 1);
    const Grid grid(steps.catalog());
    const DeltaContext context{steps.catalog(), grid, digest_salt(plan.seed)};
    RecordedRun run;
    run.catalog = steps.catalog().id();
    run.grid = grid.id();
    run.salt = context.salt;
    run.words = steps.catalog().words();
    const std::vector<UnitRange> units = make_units(grid, plan.delta.unit_words);
    for (const UnitRange range : units) {
        Words words;
        for (std::uint32_t t = 0; t < range.tile_count; ++t)
            words += Words{grid.tile(range.first_tile + t).words};
        run.units.push_back(words);
    }
    const auto record = [&](const std::string& name, const Weights& base, const Weights& next) {
        const auto codec = find_codec(name);
        RecordedDelta delta;
        std::vector<std::uint64_t> digests;
        for (const UnitRange range : units) {
            const EncodedUnit unit =
                encode_unit(*device, *codec.value(), context, range, base, next);
            delta.units.push_back({unit.bytes.size(), unit.changed_words, std::nullopt});
            digests.insert(digests.end(), unit.next_digests.begin(), unit.next_digests.end());
            std::uint64_t staged = 0;
            for (std::uint32_t t = range.first_tile; t < range.first_tile + range.tile_count; ++t) {
                std::vector<std::uint16_t> from(grid.tile(t).words);
                std::vector<std::uint16_t> to(grid.tile(t).words);
                base.read_tile(grid.tile(t), from);
                next.read_tile(grid.tile(t), to);
                Changes changes;
                device->diff(from, to, changes);
                staged += changes.bytes();
            }
            delta.staged_bytes.push_back(staged);
        }
        close_phantom_parts(delta.units, plan.delta, 5);
        delta.next_version = version_id(run.catalog, run.salt, digests);
        return delta;
    };
    run.anchor = record("full-zstd", MemoryWeights(steps.catalog(), {}), steps.version(0));
    for (std::uint64_t v = 1; v <= plan.refits; ++v)
        run.deltas.push_back(record(plan.delta.codec, steps.version(v - 1), steps.version(v)));
    run.replica_gather.resize(plan.topology.sites.size() * 3);
    return run;
}

/// Time, place, kind, index and amount of every event; the anchor has other chunks in the record.
std::vector<Event> events_of(const World& world) {
    std::vector<Event> events = world.timeline().events();
    std::erase_if(events, [](const Event& event) { return event.kind == EventKind::store_read; });
    return events;
}

TEST(RecordedBits, TheTimePassRepeatsTheRunOfTheResidentWorld) {
    WorldPlan plan = tiny_plan(kSeed, 3);
    for (Site& site : plan.topology.sites)
        for (ReplicaSpec& replica : site.replicas) replica.join_at = Nanoseconds{0};
    plan.faults = {{FaultKind::kill, "eu/relay-1", 1, 40, {}},
                   {FaultKind::cut, "ap/relay-1", 2, 50, 2_s},
                   {FaultKind::crash, "eu/relay-2", 3, 30, 1_s}};
    TinyWorld resident(plan);
    ASSERT_TRUE(resident->run().has_value());

    const std::unique_ptr<Device> device = make_cpu_device(1, "scalar");
    const RecordedRun run = record_of(plan, device);
    const auto bits = make_recorded_bits(run, plan.delta);
    const auto store = make_memory_store();
    World recorded(plan, WorldParts{*bits, *store}, make_memory_register);
    const Status status = recorded.run();
    ASSERT_TRUE(status.has_value()) << status.error().what;

    EXPECT_TRUE(events_of(recorded) == events_of(*resident));
    EXPECT_EQ(recorded.decided().version, 3u);
    EXPECT_EQ(recorded.totals().words_checked, 0u) << "a time pass checks no word";
    EXPECT_EQ(recorded.totals().reencodes, 0u);
    EXPECT_EQ(recorded.totals().resident_failures, 0u);
}

TEST(RecordedBits, ALateReplicaCatchesUpOverRecordedObjects) {
    WorldPlan plan = tiny_plan(2 * kSeed, 2);
    plan.topology.sites.back().replicas.back().join_at = 3_s;
    const std::unique_ptr<Device> device = make_cpu_device(1, "scalar");
    const RecordedRun run = record_of(plan, device);
    const auto bits = make_recorded_bits(run, plan.delta);
    const auto store = make_memory_store();
    World world(plan, WorldParts{*bits, *store}, make_memory_register);
    const Status status = world.run();
    ASSERT_TRUE(status.has_value()) << status.error().what;
    EXPECT_EQ(world.decided().version, 2u);
    EXPECT_GT(world.totals().store_bytes_read, run.anchor.payload_bytes());
}

TEST(RecordedBits, PhantomPartsFollowTheRuleOfThePartBuilder) {
    DeltaSpec delta;
    delta.chunk = Bytes{64};
    delta.chunks_per_part = 2;
    std::vector<RecordedUnit> units;
    Rng rng(kSeed, 0);
    OpenRecord open;
    open.chunk_bytes = 64;
    PartBuilder builder(open, delta.chunks_per_part);
    std::vector<PartRecord> expected;
    for (int i = 0; i < 100; ++i) {
        const std::uint64_t bytes = 1 + rng.below(150);
        units.push_back({bytes, 1, std::nullopt});
        if (const auto part = builder.add(ByteVector(bytes))) expected.push_back(part->record);
    }
    if (const auto part = builder.flush()) expected.push_back(part->record);
    close_phantom_parts(units, delta, kSeed);
    PartBuilder phantom(open, delta.chunks_per_part);
    std::vector<PartRecord> made;
    for (const RecordedUnit& unit : units)
        if (const auto part = phantom.add(unit)) made.push_back(part->record);
    ASSERT_EQ(made.size(), expected.size());
    for (std::size_t p = 0; p < made.size(); ++p) {
        EXPECT_EQ(made[p].first_unit, expected[p].first_unit);
        EXPECT_EQ(made[p].unit_count, expected[p].unit_count);
        EXPECT_EQ(made[p].first_chunk, expected[p].first_chunk);
        ASSERT_EQ(made[p].chunks.size(), expected[p].chunks.size());
        for (std::size_t c = 0; c < made[p].chunks.size(); ++c)
            EXPECT_EQ(made[p].chunks[c].bytes, expected[p].chunks[c].bytes);
    }
}

}  // namespace
}  // namespace refit
