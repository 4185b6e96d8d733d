// What the page of weights is drawn from, without drawing: shares by layer and kind, bits against
// the bound, cuts of a tensor, and words.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <sstream>

#include "engine/base/rng.hpp"
#include "tests/viz/recorded_world.hpp"
#include "viz/codec_view.hpp"
#include "viz/cut_view.hpp"
#include "viz/rate_map_view.hpp"
#include "viz/report/pictures.hpp"
#include "viz/words_view.hpp"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

/// Layers 0 and 1 with kinds a and b, and c of no layer; a cell's words are 100, 200, ...
TensorMap small_map() {
    TensorMap map;
    map.rows = {"", "layer 0", "layer 1"};
    map.columns = {"c", "a", "b"};
    map.cells = {{0, 0, 1, 100, {}}, {1, 1, 1, 200, {}}, {1, 2, 1, 300, {}}, {2, 1, 1, 400, {}}};
    return map;
}

Json two_refits() {
    return Json::parse(R"({"refits": [
        {"version": 1, "changed_by_layer": {"": {"c": 0.5}, "0": {"a": 0.1, "b": 0.2}}},
        {"version": 2, "changed_by_layer": {"0": {"a": 0.3}, "1": {"a": 0.04}}}]})");
}

TEST(RateMap, IsThatOfTheRefitThatWasAsked) {
    const RateMap rates = rate_map(two_refits(), small_map(), 1);
    EXPECT_EQ(rates.of, "refit 1");
    const std::vector<std::optional<double>> cells = {0.5, 0.1, 0.2, std::nullopt};
    EXPECT_EQ(rates.cells, cells);
    EXPECT_EQ(rates.measured, 3u);
    EXPECT_EQ(rates.most, 0.5);
    EXPECT_EQ(rates.of_kind, (std::vector<std::optional<double>>{0.5, 0.1, 0.2}));
    ASSERT_TRUE(rates.of_layer[1].has_value());
    EXPECT_DOUBLE_EQ(*rates.of_layer[1], (0.1 * 200 + 0.2 * 300) / 500);
    EXPECT_FALSE(rates.of_layer[2].has_value());
}

TEST(RateMap, IsTheMeanOfWhatWasMeasuredBeforeTheFirstRefit) {
    const RateMap rates = rate_map(two_refits(), small_map(), 0);
    EXPECT_EQ(rates.of, "the mean of 2 refits");
    EXPECT_DOUBLE_EQ(*rates.cells[1], 0.2);
    EXPECT_DOUBLE_EQ(*rates.cells[3], 0.04);
    EXPECT_DOUBLE_EQ(*rates.of_kind[1], (0.2 * 200 + 0.04 * 400) / 600);
}

TEST(RateMap, MeasuresNothingWhereTheRecordHasNoShares) {
    for (const Json& record :
         {Json(), Json::object(), Json{{"refits", Json::array()}},
          Json::parse(R"({"refits": [{"version": 1}]})"),
          Json::parse(R"({"refits": [{"version": 1, "changed_by_layer": {"0": 3}}]})"),
          Json::parse(R"({"refits": [{"version": 1, "changed_by_layer": {"0": {"a": "x"}}}]})")}) {
        const RateMap rates = rate_map(record, small_map(), 1);
        EXPECT_EQ(rates.measured, 0u) << record;
        EXPECT_EQ(rates.cells.size(), 4u);
        EXPECT_EQ(rates.most, 0);
    }
}

TEST(RateMap, SharesAreFourCharactersAtMost) {
    EXPECT_EQ(share_text(0), "0.00");
    EXPECT_EQ(share_text(0.0302), "3.02");
    EXPECT_EQ(share_text(0.09996), "10.0");
    EXPECT_EQ(share_text(0.1234), "12.3");
    EXPECT_EQ(share_text(0.9996), "100");
    EXPECT_EQ(share_text(1), "100");
}

TEST(RateMap, IsInTheReportAsFarAsItWasMeasured) {
    SavedRun run = make_saved_run(record_world(tiny_plan(1, 1)), nullptr);
    std::ostringstream none;
    report::write_shares(run, small_map(), none);
    EXPECT_EQ(none.str(), "");
    run.record = two_refits();
    run.record["refits"].erase(1);
    std::ostringstream some;
    report::write_shares(run, small_map(), some);
    EXPECT_NE(some.str().find("data-tip=\"layer 0 b: 20.0 %\""), std::string::npos) << some.str();
    EXPECT_EQ(some.str().find("layer 1 a"), std::string::npos);
    EXPECT_NE(some.str().find("not in the sample"), std::string::npos);
}

Json coded_record(std::size_t refits) {
    Json record = Json::parse(R"({"model": {"parameters": 1000},
        "codec": {"name": "xc",
                  "bits_per_parameter": {"value": 0.2, "provenance": "extrapolated",
                                         "ci95": [0.19, 0.21]},
                  "bound_bits_per_parameter": {"value": 0.16, "provenance": "measured"},
                  "ratio_to_bound": {"value": 1.25}},
        "full": {"baselines": [{"codec": "full", "payload_bytes": 2000},
                               {"codec": "full-zstd", "payload_bytes": 1500}]},
        "refits": []})");
    for (std::size_t i = 1; i <= refits; ++i)
        record["refits"].push_back(
            {{"version", i}, {"payload_bytes", 25 * i}, {"changed_words", 10}});
    return record;
}

TEST(CodecView, SetsBytesOfAllBesideTheBound) {
    const CodecView view = view_codec(coded_record(2));
    ASSERT_EQ(view.bars.size(), 5u);
    EXPECT_EQ(view.bars[0].bits, 16);
    EXPECT_EQ(view.bars[1].bits, 12);
    EXPECT_EQ(view.bars[2].name, "xc");
    EXPECT_EQ(view.bars[2].bits, 0.2);
    EXPECT_EQ(view.bars[2].note, "1.25 x the bound");
    EXPECT_EQ(view.bars[2].ci95, std::pair(0.19, 0.21));
    EXPECT_EQ(view.bars[4].name, "refit 2");
    EXPECT_EQ(view.bars[4].bits, 0.4);
    EXPECT_NE(view.bars[4].note.find("40 bits a change"), std::string::npos) << view.bars[4].note;
    EXPECT_EQ(view.axis.first, -1);
    EXPECT_EQ(view.axis.decades, 3);
    EXPECT_EQ(view_codec(coded_record(1)).bars.size(), 3u);
    EXPECT_EQ(view.provenance, "extrapolated");
    EXPECT_EQ(view.bound_provenance, "measured");
}

SavedRun run_of(const Catalog& catalog, const Json& maps) {
    SavedRun run = make_saved_run(record_world(tiny_plan(1, 1)), nullptr);
    run.recording.cast.catalog = catalog;
    if (!maps.is_null()) run.record = {{"maps", maps}};
    return run;
}

Catalog catalog_of(std::vector<TensorSpec> specs) {
    auto catalog = Catalog::make(std::move(specs));
    REFIT_ASSERT(catalog.has_value());
    return std::move(catalog).value();
}

TEST(CutView, BoxesHoldEachWordAsOftenAsTheLayoutSays) {
    const Catalog catalog = catalog_of({{"x.q_proj.weight", WordType::bf16, {10, 7}},
                                        {"x.o_proj.weight", WordType::bf16, {5, 9}},
                                        {"x.norm.weight", WordType::bf16, {11}}});
    const Json maps = {{{"name", "trainer"}, {"layout", "fsdp:dp4"}},
                       {{"name", "a"}, {"layout", "tp:tp3"}},
                       {{"name", "b"}, {"layout", "replicated:r2"}},
                       {{"name", "c"}, {"layout", "tp:tp3"}}};
    const SavedRun run = run_of(catalog, maps);
    for (std::uint32_t t = 0; t < catalog.tensors().size(); ++t) {
        const Tensor& tensor = catalog.tensor(t);
        const CutView view = view_cuts(run, t);
        ASSERT_EQ(view.serving.size(), 2u);
        EXPECT_EQ(view.serving[0].users, (std::vector<std::string>{"a", "c"}));
        EXPECT_EQ(view.serving[0].ranks, 3u);
        const auto held = [&](const TensorCut& cut) {
            std::vector<std::size_t> copies(tensor.words);
            for (const CutBox& box : cut.boxes)
                for (std::uint64_t row = box.row_first; row < box.row_end; ++row)
                    for (std::uint64_t column = box.col_first; column < box.col_end; ++column)
                        copies[row * tensor.columns + column] += box.ranks.size();
            return copies;
        };
        EXPECT_EQ(held(view.trainer), std::vector<std::size_t>(tensor.words, 1));
        const std::size_t times = tensor.rows == 1 ? 3 : 1;
        EXPECT_EQ(held(view.serving[0]), std::vector<std::size_t>(tensor.words, times));
        EXPECT_EQ(held(view.serving[1]), std::vector<std::size_t>(tensor.words, 2));
        EXPECT_EQ(view.serving[1].boxes.size(), 1u);
        EXPECT_EQ(view.tiles, std::vector<std::uint64_t>{0});
    }
}

TEST(CutView, SaysWhatThereIsNoMapOf) {
    const Catalog catalog = catalog_of({{"a.weight", WordType::bf16, {4, 4}}});
    EXPECT_NE(view_cuts(run_of(catalog, nullptr), 0).trainer.missing, "");
    const CutView served = view_cuts(run_of(catalog, {{{"name", "a"}, {"layout", "tp:tp2"}}}), 0);
    EXPECT_NE(served.trainer.missing, "");
    EXPECT_EQ(served.serving[0].missing, "");
    const CutView unknown =
        view_cuts(run_of(catalog, {{{"name", "trainer"}, {"layout", "ring:k2"}}}), 0);
    EXPECT_TRUE(unknown.trainer.boxes.empty());
    EXPECT_NE(unknown.trainer.missing, "");
}

TEST(CutView, TilesAreBandsOfRows) {
    const Catalog catalog = catalog_of({{"a.weight", WordType::bf16, {2048, 1024}}});
    EXPECT_EQ(view_cuts(run_of(catalog, nullptr), 0).tiles,
              (std::vector<std::uint64_t>{0, 512, 1024, 1536}));
    const Catalog long_rows = catalog_of({{"a.weight", WordType::bf16, {2, 1 << 20}}});
    EXPECT_TRUE(view_cuts(run_of(long_rows, nullptr), 0).tiles.empty());
}

TEST(PickTensor, TakesFusedQkvThenAnExpertThenTheLargest) {
    const auto picked = [](std::vector<TensorSpec> specs) {
        const Catalog catalog = catalog_of(std::move(specs));
        const auto id = pick_tensor(catalog);
        return id ? catalog.tensor(*id).name : "";
    };
    const TensorSpec embed{"embed", WordType::bf16, {100, 8}};
    const TensorSpec bias{"layers.0.qkv_proj.bias", WordType::bf16, {24}};
    const TensorSpec qkv{"layers.0.qkv_proj.weight", WordType::bf16, {24, 8}};
    const TensorSpec expert{"layers.0.experts.0.up.weight", WordType::bf16, {8, 8}};
    EXPECT_EQ(picked({embed, bias, qkv, expert}), qkv.name);
    EXPECT_EQ(picked({embed, bias, expert}), expert.name);
    EXPECT_EQ(picked({embed, bias}), embed.name);
    EXPECT_EQ(picked({}), "");
}

TEST(RanksText, JoinsRuns) {
    EXPECT_EQ(ranks_text({0}), "0");
    EXPECT_EQ(ranks_text({0, 1, 2, 3}), "0-3");
    EXPECT_EQ(ranks_text({0, 2, 3, 7}), "0, 2-3, 7");
}

/// A piece of 9000 words behind 100 others in its tile; `changed` are words of the piece.
TileWords drawn_tile(Rng& rng, const std::vector<std::uint64_t>& changed) {
    TileWords tile;
    tile.version = 1;
    tile.piece = {0, 5000, 9000, 100};
    for (std::size_t i = 0; i < 9100; ++i)
        tile.base.push_back(static_cast<std::uint16_t>(rng.below(1 << 16)));
    tile.mask.assign(tile.base.size(), 0);
    for (const std::uint64_t at : changed)
        tile.mask[tile.piece.tile_first + at] = static_cast<std::uint16_t>(1 + rng.below(0xFFFF));
    for (std::size_t i = 0; i < tile.base.size(); ++i)
        tile.next.push_back(static_cast<std::uint16_t>(tile.base[i] ^ tile.mask[i]));
    tile.delta_changed = changed.size();
    return tile;
}

TEST(WordsView, BeginsALittleBeforeTheFirstChange) {
    Rng rng(11, 0);
    const std::vector<std::pair<std::vector<std::uint64_t>, std::uint64_t>> cases = {
        {{500, 700}, 497}, {{1}, 0}, {{8999}, 8980}, {{}, 0}};
    for (const auto& [changed, first] : cases) {
        const TileWords tile = drawn_tile(rng, changed);
        const WordsView view = view_words(tile, 20);
        ASSERT_EQ(view.rows.size(), 20u);
        EXPECT_EQ(view.rows.front().index, 5000 + first);
        EXPECT_EQ(view.segment, (100 + first) / 4096);
        EXPECT_EQ(view.changed, changed.size());
        EXPECT_TRUE(view.exact(tile));
        for (const WordRow& row : view.rows) {
            EXPECT_EQ(row.base, tile.base[row.index - 5000 + 100]);
            EXPECT_EQ(row.base ^ row.mask, row.next);
        }
    }
    EXPECT_EQ(view_words(drawn_tile(rng, {3}), 10'000).rows.size(), 9000u);
}

TEST(WordsView, SegmentsHaveTheSharesOfTheirWords) {
    Rng rng(12, 0);
    const WordsView view = view_words(drawn_tile(rng, {0, 1, 4000, 8999}), 4);
    ASSERT_EQ(view.segments.size(), 3u);
    EXPECT_DOUBLE_EQ(view.segments[0], 2.0 / 4096);
    EXPECT_DOUBLE_EQ(view.segments[1], 1.0 / 4096);
    EXPECT_DOUBLE_EQ(view.segments[2], 1.0 / (9100 - 8192));
}

TEST(WordsView, IsNotExactWhenOneBitOrOneCountIsOff) {
    Rng rng(13, 0);
    TileWords tile = drawn_tile(rng, {7, 4200});
    tile.mask[9000] ^= 0x0100;
    WordsView view = view_words(tile, 4);
    EXPECT_EQ(view.mismatches, 1u);
    EXPECT_FALSE(view.exact(tile));
    tile.mask[9000] ^= 0x0100;
    ++tile.delta_changed;
    view = view_words(tile, 4);
    EXPECT_EQ(view.mismatches, 0u);
    EXPECT_FALSE(view.exact(tile));
}

TEST(WordText, IsTheNumberOfTheBits) {
    EXPECT_EQ(word_text(WordType::bf16, 0x3F80), "1");
    EXPECT_EQ(word_text(WordType::bf16, 0xBC49), "-0.01227");
    EXPECT_EQ(word_text(WordType::bf16, 0x8000), "-0");
    EXPECT_EQ(word_text(WordType::bf16, 0x7FC0), "nan");
    EXPECT_EQ(word_text(WordType::f16, 0x3C00), "1");
    EXPECT_EQ(word_text(WordType::f16, 0xC500), "-5");
    EXPECT_EQ(word_text(WordType::f16, 0x0001), "5.96e-08");
    EXPECT_EQ(word_text(WordType::f16, 0xFC00), "-inf");
    EXPECT_EQ(word_text(WordType::f16, 0x7BFF), "6.55e+04");
}

}  // namespace
}  // namespace refit
