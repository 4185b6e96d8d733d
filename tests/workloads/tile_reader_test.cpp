// Words read ahead are those of the checkpoint, batch by batch, and a failed read reaches the
// coder, however many batches it wanted.
#include "workloads/tile_reader.hpp"

#include <gtest/gtest.h>

#include "engine/base/rng.hpp"

namespace refit {
namespace {

Catalog mixed_catalog() {
    auto catalog = Catalog::make({{"a.0.bias", WordType::bf16, {70}},
                                  {"a.1.bias", WordType::bf16, {30}},
                                  {"b", WordType::bf16, {900, 1024}},
                                  {"c", WordType::f16, {5}}});
    return std::move(catalog).value();
}

std::vector<std::uint16_t> random_words(const Catalog& catalog, std::uint64_t seed) {
    Rng rng(seed, 1);
    std::vector<std::uint16_t> words(catalog.words().count);
    for (std::uint16_t& word : words) word = static_cast<std::uint16_t>(rng.next());
    return words;
}

/// Reads the words of a memory, but fails from a tensor on.
class Failing final : public Weights {
public:
    Failing(const Weights& weights, std::uint32_t from) : weights_(weights), from_(from) {}
    void read(std::uint32_t tensor,
              std::uint64_t first,
              std::span<std::uint16_t> out) const override {
        if (tensor >= from_) throw MachineError("a torn cable");
        weights_.read(tensor, first, out);
    }

private:
    const Weights& weights_;
    std::uint32_t from_;
};

struct Stage {
    Catalog catalog = mixed_catalog();
    Grid grid{catalog};
    MemoryWeights base{catalog, random_words(catalog, 1)};
    MemoryWeights next{catalog, random_words(catalog, 2)};
    std::vector<UnitRange> units = make_units(grid, 1);  // a tile each
    MonotonicClock now = [] { return Nanoseconds{}; };

    std::vector<std::span<const UnitRange>> batches(std::size_t units_each) const {
        std::vector<std::span<const UnitRange>> list;
        for (std::size_t at = 0; at < units.size(); at += units_each)
            list.push_back(std::span(units).subspan(at, std::min(units_each, units.size() - at)));
        return list;
    }
};

TEST(TileReader, GivesTheWordsOfEveryTileOfEveryBatch) {
    const Stage stage;
    ASSERT_GE(stage.units.size(), 4u);
    for (const std::size_t each : {1u, 2u, 3u, 100u}) {
        const auto batches = stage.batches(each);
        TileReader reader(stage.grid, stage.base, stage.next, batches, stage.now);
        for (std::size_t i = 0; i < batches.size(); ++i) {
            const TileReader::Batch batch = reader.next();
            ASSERT_EQ(batch.units.data(), batches[i].data());
            for (const UnitRange unit : batch.units) {
                const Tile& tile = stage.grid.tile(unit.first_tile);
                std::vector<std::uint16_t> got(tile.words);
                std::vector<std::uint16_t> wanted(tile.words);
                batch.base.read_tile(tile, got);
                stage.base.read_tile(tile, wanted);
                EXPECT_TRUE(got == wanted);
                batch.next.read_tile(tile, got);
                stage.next.read_tile(tile, wanted);
                EXPECT_TRUE(got == wanted);
                if (tile.pieces.size() == 1) {
                    EXPECT_TRUE(std::ranges::equal(batch.next.view_tile(tile), wanted));
                }
            }
        }
    }
}

TEST(TileReader, ThrowsWhatReadingThrewWhenThatBatchIsDue) {
    const Stage stage;
    const Failing next(stage.next, 2);
    TileReader reader(stage.grid, stage.base, next, stage.batches(1), stage.now);
    EXPECT_EQ(reader.next().units.front().first_tile, 0u);
    EXPECT_THROW(for (std::size_t i = 1; i < stage.units.size(); ++i) reader.next(), MachineError);
}

TEST(TileReader, EndsWithoutAnyoneTakingItsBatches) {
    const Stage stage;
    for (int i = 0; i < 50; ++i)
        const TileReader reader(stage.grid, stage.base, stage.next, stage.batches(1), stage.now);
}

}  // namespace
}  // namespace refit
