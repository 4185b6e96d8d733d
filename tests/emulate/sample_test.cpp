#include "engine/emulate/sample.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/emulate/model_words.hpp"

namespace refit {
namespace {

constexpr std::uint64_t kUnitWords = std::uint64_t{2} << 20;

TEST(Strata, EveryTileIsInOneStratumOfItsKindAndThird) {
    const Catalog catalog = small_moe();
    const Grid grid(catalog);
    std::set<std::uint32_t> seen;
    Words words;
    for (const Stratum& stratum : stratify(catalog, grid)) {
        std::set<std::string> kinds;
        for (const std::uint32_t t : stratum.tiles) {
            EXPECT_TRUE(seen.insert(t).second);
            kinds.insert(tensor_kind(catalog.tensor(grid.tile(t).pieces.front().tensor).name));
        }
        EXPECT_EQ(kinds.size(), 1u) << stratum.name;
        words += stratum.words;
    }
    EXPECT_EQ(seen.size(), grid.tiles().size());
    EXPECT_EQ(words, catalog.words());
}

TEST(Strata, ADrawTakesTwoOfEachAtLeastAndAllAtMost) {
    const Catalog catalog = small_moe();
    const Grid grid(catalog);
    const std::vector<Stratum> strata = stratify(catalog, grid);
    for (const std::uint64_t budget : {std::uint64_t{1}, catalog.words().count / 2,
                                       catalog.words().count, ~std::uint64_t{0} / 2}) {
        const auto drawn = draw_tiles(strata, Words{budget}, 5);
        ASSERT_EQ(drawn.size(), strata.size());
        for (std::size_t s = 0; s < strata.size(); ++s) {
            const std::set<std::uint32_t> all(strata[s].tiles.begin(), strata[s].tiles.end());
            const std::set<std::uint32_t> mine(drawn[s].begin(), drawn[s].end());
            EXPECT_EQ(mine.size(), drawn[s].size());
            EXPECT_GE(mine.size(), std::min<std::size_t>(2, all.size()));
            for (const std::uint32_t t : mine) EXPECT_TRUE(all.contains(t));
            if (budget >= catalog.words().count) {
                EXPECT_EQ(mine, all);
            }
        }
    }
    EXPECT_NE(draw_tiles(strata, catalog.words(), 5), draw_tiles(strata, Words{1}, 5));
    EXPECT_EQ(draw_tiles(strata, Words{1}, 5), draw_tiles(strata, Words{1}, 5));
    EXPECT_NE(draw_tiles(strata, Words{1}, 5), draw_tiles(strata, Words{1}, 6));
}

struct Sampled {
    TileSample sample;
    SampleMeasures measures;
};

Sampled measure(const Catalog& catalog, const Grid& grid, Words budget, const char* codec) {
    TileSample sample = draw_sample(catalog, grid, kUnitWords, budget, 8);
    const auto device = make_cpu_device(2);
    BitPass pass(*device, {catalog, sample.grid, 1}, *find_codec(codec).value(), {});
    Words done;
    auto measures = measure_sample(sample, catalog, pass, DrawnPairs(6),
                                   [&done](Words words) { done += words; });
    EXPECT_EQ(done, sample.words());
    return {std::move(sample), std::move(measures).value()};
}

std::uint64_t true_bytes(const Catalog& catalog, const Grid& grid, const char* codec) {
    const auto device = make_cpu_device(2);
    BitPass pass(*device, {catalog, grid, 1}, *find_codec(codec).value(), {});
    std::uint64_t bytes = 0;
    for (const UnitRange range : make_units(grid, kUnitWords))
        bytes += pass.run(range, DrawnPairs(6)).value()->encoded.bytes.size();
    return bytes;
}

TEST(Sample, TheWholeModelAsSampleGivesTheTruthButForTheCutsBetweenUnits) {
    const Catalog catalog = small_moe();
    const Grid grid(catalog);
    const std::size_t units = make_units(grid, kUnitWords).size();
    for (const char* codec : {"xc", "full", "coo-zstd"}) {
        const Sampled all = measure(catalog, grid, catalog.words(), codec);
        const Estimate estimate = estimate_payload(all.sample, all.measures, units);
        const auto truth = static_cast<double>(true_bytes(catalog, grid, codec));
        EXPECT_NEAR(estimate.value, truth, truth * 0.002) << codec;
        EXPECT_LE(estimate.low, truth) << codec;
        EXPECT_GE(estimate.high, truth) << codec;
        EXPECT_LE(estimate.high - estimate.low, 0.02 * truth) << codec;
    }
}

TEST(Sample, ExpandedUnitsAddUpToWhatWasAskedFor) {
    const Catalog catalog = small_moe();
    const Grid grid(catalog);
    DeltaSpec delta;
    delta.unit_words = kUnitWords;
    delta.chunk = Bytes{4096};
    const Sampled some = measure(catalog, grid, Words{1}, "xc");
    const Estimate estimate =
        estimate_payload(some.sample, some.measures, make_units(grid, kUnitWords).size());
    EXPECT_LT(estimate.low, estimate.high);
    for (const double payload : {estimate.value, estimate.low, estimate.high}) {
        const auto bytes = static_cast<std::uint64_t>(payload);
        const ModelDelta model = expand(some.sample, some.measures, grid, bytes, delta, 1);
        EXPECT_EQ(model.delta.payload_bytes(), bytes);
        EXPECT_EQ(model.delta.units.size(), make_units(grid, kUnitWords).size());
        EXPECT_TRUE(model.delta.units.back().closes.has_value());
        EXPECT_LT(model.measured_bytes, bytes);
        std::uint64_t chunks = 0;
        for (const RecordedUnit& unit : model.delta.units)
            if (unit.closes) chunks += unit.closes->payload_bytes().count;
        EXPECT_EQ(chunks, bytes);
    }
}

TEST(Sample, TheBoundIsThatOfTheWholeModel) {
    const Catalog catalog = small_moe();
    const Grid grid(catalog);
    const Sampled all = measure(catalog, grid, catalog.words(), "xc");
    std::vector<std::uint16_t> base;
    std::vector<std::uint16_t> next;
    for (std::uint32_t id = 0; id < catalog.tensors().size(); ++id) {
        const std::uint64_t words = catalog.tensor(id).words;
        const Tile tile{{Piece{id, 0, words, 0}}, words};
        base.resize(base.size() + words);
        next.resize(base.size());
        DrawnPairs(6).read(tile, std::span(base).last(words), std::span(next).last(words));
    }
    const auto device = make_cpu_device(1);
    const ChangeStats stats = measure_change(*device, catalog, grid, MemoryWeights(catalog, base),
                                             MemoryWeights(catalog, next));
    EXPECT_NEAR(all.measures.bound_bits, stats.bound_bits, stats.bound_bits * 1e-9);
    const Estimate changed = estimate_changed(all.sample, all.measures);
    EXPECT_DOUBLE_EQ(changed.value, static_cast<double>(stats.changed));
    EXPECT_EQ(all.measures.kinds, stats.kinds);
    EXPECT_EQ(all.measures.layers, stats.layers);
}

TEST(Sample, ChangesByLayerAddUpToThoseByKind) {
    const Catalog catalog = small_moe();
    const Grid grid(catalog);
    for (const Words budget : {Words{1}, catalog.words()}) {
        const SampleMeasures measures = measure(catalog, grid, budget, "xc").measures;
        std::map<std::string, KindChange> kinds;
        for (const auto& [place, change] : measures.layers) {
            kinds[place.kind].words += change.words;
            kinds[place.kind].changed += change.changed;
        }
        EXPECT_EQ(kinds, measures.kinds);
        EXPECT_GT(measures.layers.size(), kinds.size());
    }
}

}  // namespace
}  // namespace refit
