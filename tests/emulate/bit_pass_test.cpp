#include "engine/emulate/bit_pass.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/emulate/model_words.hpp"
#include "workloads/layouts.hpp"

namespace refit {
namespace {

constexpr std::uint64_t kSalt = 99;
constexpr std::uint64_t kUnitWords = std::uint64_t{2} << 20;

struct Bench {
    Catalog catalog = small_moe();
    Grid grid{catalog};
    DeltaContext context{catalog, grid, kSalt};
    std::unique_ptr<Device> device = make_cpu_device(2);
    std::vector<ShardMap> maps;

    explicit Bench(const std::vector<std::string>& layouts) {
        for (const std::string& layout : layouts)
            maps.push_back(std::move(make_layout(catalog, layout)).value());
    }
    std::vector<const ShardMap*> serving() const {
        std::vector<const ShardMap*> pointers;
        for (const ShardMap& map : maps) pointers.push_back(&map);
        return pointers;
    }
};

TEST(BitPass, EveryWordOfEveryRankIsReadBackExactForEachLayoutAndCodec) {
    const Bench bench({"tp:tp4", "fsdp:dp3", "columns:tp3", "rows:tp5", "replicated:r2"});
    std::uint64_t held = 0;
    for (const ShardMap& map : bench.maps) held += map.prove(bench.catalog).value().held_words;
    for (const char* name : {"xc", "gap-xor-zstd", "full"}) {
        BitPass pass(*bench.device, bench.context, *find_codec(name).value(), bench.serving());
        const DrawnPairs pairs(1);
        for (const UnitRange range : make_units(bench.grid, kUnitWords)) {
            const auto unit = pass.run(range, pairs);
            ASSERT_TRUE(unit.has_value()) << name << ": " << unit.error().what;
        }
        const BitPassTotals totals = pass.take_totals();
        EXPECT_TRUE(totals.exact()) << name << ": " << totals.first_failure;
        EXPECT_EQ(totals.words, bench.catalog.words());
        EXPECT_EQ(totals.words_checked.count, held) << name;
        EXPECT_EQ(totals.replica_missing[4].count, 0u) << "a whole copy lacks nothing";
        EXPECT_GT(totals.replica_missing[2].count, 0u) << "columns are held by several ranks";
        EXPECT_EQ(pass.take_totals().words.count, 0u) << "totals were taken";
    }
}

/// Says something else when it is asked again: what a wrong store or decoder would look like.
class ForgetfulPairs final : public WordPairs {
public:
    void read(const Tile& tile,
              std::span<std::uint16_t> base,
              std::span<std::uint16_t> next) const override {
        pairs_.read(tile, base, next);
        if (tile.words > 100'000 && ++asked_ == 4) next[77] ^= 1;
    }

private:
    DrawnPairs pairs_{2};
    mutable std::atomic<int> asked_ = 0;
};

TEST(BitPass, OneWrongBitIsCountedOncePerCopy) {
    Bench bench({"replicated:r3"});
    bench.device = make_cpu_device(1);
    BitPass pass(*bench.device, bench.context, *find_codec("xc").value(), bench.serving());
    const ForgetfulPairs pairs;
    for (const UnitRange range : make_units(bench.grid, kUnitWords))
        ASSERT_TRUE(pass.run(range, pairs).has_value());
    const BitPassTotals totals = pass.take_totals();
    EXPECT_EQ(totals.mismatches, 3u);
    EXPECT_EQ(totals.resident_failures, 0u) << "the digests are right; only the truth moved";
    EXPECT_FALSE(totals.exact());
    EXPECT_NE(totals.first_failure.find("replicated:r3"), std::string::npos);
}

TEST(BitPass, WindowsHoldWhatTheWholeShardsHold) {
    const Bench bench({"tp:tp4", "columns:tp3", "fsdp:dp3"});
    const DrawnPairs pairs(3);
    for (const ShardMap& map : bench.maps) {
        for (std::uint32_t t = 0; t < bench.grid.tiles().size(); ++t) {
            const Tile& tile = bench.grid.tile(t);
            std::vector<std::uint16_t> base(tile.words);
            std::vector<std::uint16_t> next(tile.words);
            pairs.read(tile, base, next);
            ShardWindow window;
            window.open(bench.catalog, tile, map);
            window.load(*bench.device, base);
            std::uint64_t room = 0;
            for (const ShardWindow::Rank& rank : window.ranks()) {
                room += rank.words.size();
                EXPECT_EQ(bench.device->digest(rank.words, rank.placements, kSalt),
                          bench.device->digest_change(
                              std::vector<std::uint16_t>(tile.words),
                              [&] {
                                  Changes changes;
                                  bench.device->diff(std::vector<std::uint16_t>(tile.words), base,
                                                     changes);
                                  return changes;
                              }(),
                              rank.placements, kSalt));
            }
            EXPECT_LE(room, window.held().count + tile.words) << map.layout() << " tile " << t;
            std::vector<std::uint16_t> gathered(tile.words);
            window.gather(*bench.device, gathered);
            EXPECT_TRUE(gathered == base) << map.layout() << " tile " << t;
        }
    }
}

}  // namespace
}  // namespace refit
