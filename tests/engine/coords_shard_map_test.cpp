// What must hold for shard maps: box arithmetic says what a walk over every word says, and
// placements name exactly the words of a tile that a rank holds, where it holds them.
#include <gtest/gtest.h>

#include <cstdio>

#include "engine/coords/shard_map.hpp"
#include "tests/support/random_catalog.hpp"
#include "tests/support/shard_maps.hpp"

namespace refit {
namespace {

constexpr std::uint64_t kHuge = ~std::uint64_t{0};

Catalog one_tensor(std::vector<std::uint64_t> shape) {
    auto catalog = Catalog::make({{"t", WordType::bf16, std::move(shape)}});
    REFIT_ASSERT(catalog.has_value());
    return std::move(catalog).value();
}

Result<ShardMap> one_rank(const Catalog& catalog, std::vector<Box> boxes, std::uint64_t words) {
    return ShardMap::make(catalog, "test", {RankMap{std::move(boxes), words}});
}

/// The walk's verdict on the same ranks; an error must name the right word.
void expect_proof_equals_walk(const Catalog& catalog, const std::vector<RankMap>& ranks) {
    const auto map = ShardMap::make(catalog, "test", ranks);
    ASSERT_TRUE(map.has_value()) << map.error().what;
    const Walk walk = walk_words(catalog, ranks);
    const auto proof = map.value().prove(catalog);
    ASSERT_EQ(proof.has_value(), walk.disjoint() && walk.copies_min() > 0);
    if (proof.has_value()) {
        std::uint64_t held = 0, local = 0, boxes = 0;
        for (const std::uint64_t copies : walk.copies) held += copies;
        for (const RankMap& rank : ranks) {
            local += rank.local_words;
            boxes += rank.boxes.size();
        }
        EXPECT_EQ(proof.value().canonical_words, catalog.words().count);
        EXPECT_EQ(proof.value().held_words, held);
        EXPECT_EQ(proof.value().padding_words, local - held);
        EXPECT_EQ(proof.value().boxes, boxes);
        EXPECT_EQ(proof.value().copies_min, walk.copies_min());
        EXPECT_EQ(proof.value().copies_max, walk.copies_max());
        return;
    }
    const std::string& what = proof.error().what;
    EXPECT_EQ(proof.error().code, ErrorCode::invalid_input);
    if (walk.disjoint()) {
        const auto hole = std::ranges::find(walk.copies, 0u) - walk.copies.begin();
        EXPECT_EQ(what, "layout test: no rank holds " +
                            describe_word(catalog, static_cast<std::uint64_t>(hole)));
        return;
    }
    unsigned rank = 0;
    unsigned long long word = 0;
    ASSERT_EQ(std::sscanf(what.c_str(), "layout test: rank %u: local word %llu", &rank, &word), 2)
        << what;
    EXPECT_EQ(
        std::ranges::count(walk.shared, std::pair(std::uint32_t{rank}, std::uint64_t{word})) > 0,
        true)
        << what;
}

/// One field of one box changed a little; false if that is no longer a box make() takes.
bool spoil(const Catalog& catalog, std::vector<RankMap>& ranks, Rng& rng) {
    RankMap& rank = ranks[rng.below(ranks.size())];
    if (rank.boxes.empty()) return false;
    Box& box = rank.boxes[rng.below(rank.boxes.size())];
    std::uint64_t* const fields[] = {
        &box.row_first,        &box.row_count,   &box.row_step,
        &box.col_first,        &box.col_count,   &box.col_step,
        &box.local_row_stride, &box.local_first, &box.local_col_stride};
    std::uint64_t& field = *fields[rng.below(std::size(fields))];
    field += rng.chance(500'000) ? 1 + rng.below(3) : kHuge - rng.below(3);
    return ShardMap::make(catalog, "test", ranks).has_value();
}

TEST(ShardMap, ProofOfRandomMapsEqualsAWalkOverWords) {
    for (std::uint64_t seed = 0; seed < 600; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        const Catalog catalog = random_catalog(seed);
        const auto ranks =
            RandomMap(catalog, 1 + static_cast<std::uint32_t>(seed % 5), seed).make();
        const Walk walk = walk_words(catalog, ranks);
        ASSERT_TRUE(walk.disjoint() && walk.copies_min() > 0);
        ASSERT_NO_FATAL_FAILURE(expect_proof_equals_walk(catalog, ranks));
    }
}

TEST(ShardMap, ProofOfSpoiledMapsEqualsAWalkOverWords) {
    std::size_t sound = 0, holes = 0, collisions = 0;
    for (std::uint64_t seed = 0; seed < 2500; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Rng rng(seed, 0x73706F);
        const Catalog catalog = random_catalog(seed % 50);
        auto ranks = RandomMap(catalog, 1 + static_cast<std::uint32_t>(seed % 4), seed).make();
        if (!spoil(catalog, ranks, rng)) continue;
        const Walk walk = walk_words(catalog, ranks);
        ++(!walk.disjoint() ? collisions : walk.copies_min() == 0 ? holes : sound);
        ASSERT_NO_FATAL_FAILURE(expect_proof_equals_walk(catalog, ranks));
    }
    EXPECT_GT(sound, 100u);
    EXPECT_GT(holes, 100u);
    EXPECT_GT(collisions, 100u);
}

TEST(ShardMap, ProofOfAnyTwoSmallBoxesEqualsAWalkOverWords) {
    const Catalog catalog = one_tensor({6, 6});
    std::size_t collisions = 0, own = 0;
    for (std::uint64_t seed = 0; seed < 8000; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Rng rng(seed, 0x74776F);
        std::vector<RankMap> ranks(1);
        for (int n = 0; n < 2; ++n) {
            Box box;
            box.row_count = 1 + rng.below(4);
            box.col_count = 1 + rng.below(4);
            box.local_first = rng.below(12);
            box.local_row_stride = 1 + rng.below(9);
            box.local_col_stride = 1 + rng.below(5);
            ranks[0].boxes.push_back(box);
        }
        ranks[0].local_words = 64;
        // Whole copies elsewhere, so that only collisions decide.
        ranks.push_back({{{.row_count = 6, .col_count = 6, .local_row_stride = 6}}, 36});
        const Walk walk = walk_words(catalog, ranks);
        collisions += !walk.disjoint();
        own += !walk_words(catalog, std::vector{RankMap{{ranks[0].boxes[0]}, 64}}).disjoint();
        ASSERT_NO_FATAL_FAILURE(expect_proof_equals_walk(catalog, ranks));
    }
    EXPECT_GT(collisions, 2000u);
    EXPECT_LT(collisions, 7600u);
    EXPECT_GT(own, 400u);
}

TEST(ShardMap, MakeRefusesBoxesOutsideTheirTensorOrMemory) {
    const Catalog catalog = one_tensor({4, 6});
    const Box good{.row_first = 1,
                   .row_count = 2,
                   .row_step = 2,
                   .col_first = 1,
                   .col_count = 3,
                   .col_step = 2,
                   .local_first = 4,
                   .local_row_stride = 3};
    ASSERT_TRUE(one_rank(catalog, {good}, 10).has_value());
    const auto refused = [&](auto change, const std::string& part, std::uint64_t words = 10) {
        Box box = good;
        change(box);
        const auto map = one_rank(catalog, {box}, words);
        ASSERT_FALSE(map.has_value()) << part;
        EXPECT_EQ(map.error().code, ErrorCode::invalid_input);
        EXPECT_NE(map.error().what.find(part), std::string::npos) << map.error().what;
        EXPECT_NE(map.error().what.find("layout test, rank 0"), std::string::npos);
    };
    refused([](Box& b) { b.tensor = 1; }, "does not exist");
    refused([](Box& b) { b.row_count = 0; }, "empty box");
    refused([](Box& b) { b.col_count = 0; }, "empty box");
    for (std::uint64_t Box::*field :
         {&Box::row_step, &Box::col_step, &Box::local_row_stride, &Box::local_col_stride})
        refused([&](Box& b) { b.*field = 0; }, "stride 0");
    for (std::uint64_t Box::*field : {&Box::row_first, &Box::row_count, &Box::row_step,
                                      &Box::col_first, &Box::col_count, &Box::col_step}) {
        refused([&](Box& b) { b.*field += 1; }, "outside tensor 't'");
        refused([&](Box& b) { b.*field = kHuge; }, "outside tensor 't'");
    }
    refused([](Box& b) { b.row_count = b.row_step = kHuge; }, "outside tensor 't'");
    for (std::uint64_t Box::*field :
         {&Box::local_first, &Box::local_row_stride, &Box::local_col_stride}) {
        refused([&](Box& b) { b.*field += 1; }, "outside the 10 local words");
        refused([&](Box& b) { b.*field = kHuge; }, "outside the 10 local words");
    }
    refused([](Box& b) { b.local_row_stride = std::uint64_t{1} << 63; }, "outside the 10");
    refused([](Box&) {}, "outside the 9 local words", 9);
    refused([](Box&) {}, "2^48 local words", std::uint64_t{1} << 48);
    EXPECT_FALSE(ShardMap::make(catalog, "test", {}).has_value());
    EXPECT_FALSE(ShardMap::make(catalog, "test", std::vector<RankMap>(65537)).has_value());
}

TEST(ShardMap, DoesNotCareInWhichOrderBoxesCome) {
    const Catalog catalog = tiny_transformer();
    auto ranks = RandomMap(catalog, 1, 5).make();
    const auto map = ShardMap::make(catalog, "test", ranks);
    std::ranges::reverse(ranks[0].boxes);
    const auto reversed = ShardMap::make(catalog, "test", ranks);
    ASSERT_TRUE(map.has_value() && reversed.has_value());
    EXPECT_EQ(reversed.value().ranks()[0].boxes, map.value().ranks()[0].boxes);
    const Grid grid(catalog);
    for (const Tile& tile : grid.tiles())
        EXPECT_EQ(reversed.value().placements(catalog, tile, 0),
                  map.value().placements(catalog, tile, 0));
}

TEST(ShardMap, ASingleRowOrColumnNeedsNoStride) {
    const Catalog catalog = one_tensor({1, 5});
    EXPECT_TRUE(one_rank(catalog, {{.row_count = 1, .col_count = 5}}, 5).has_value());
    EXPECT_TRUE(one_rank(catalog, {{.row_count = 1, .col_count = 1, .local_col_stride = 0}}, 1)
                    .has_value());
}

TEST(ShardMap, HoldsATensorPast32Bits) {
    const Catalog catalog = one_tensor({262144, 8960});
    std::vector<RankMap> ranks;
    for (std::uint64_t r = 0; r < 2; ++r)
        ranks.push_back({{{.row_first = r * 131072,
                           .row_count = 131072,
                           .col_count = 8960,
                           .local_row_stride = 8960}},
                         131072ull * 8960});
    auto map = ShardMap::make(catalog, "test", ranks);
    ASSERT_TRUE(map.has_value());
    const auto proof = map.value().prove(catalog);
    ASSERT_TRUE(proof.has_value()) << proof.error().what;
    EXPECT_EQ(proof.value().held_words, 2'348'810'240u);
    EXPECT_EQ(proof.value().copies_max, 1u);

    const Grid grid(catalog);
    const auto last = map.value().placements(catalog, grid.tiles().back(), 1);
    ASSERT_EQ(last.size(), 1u);
    const Placement& p = last[0];
    EXPECT_EQ(p.local_first + (p.row_count - 1) * 8960 + 8959, 131072ull * 8960 - 1);
    EXPECT_EQ(p.tensor_first + p.tile_words, 2'348'810'240u);
    EXPECT_TRUE(map.value().placements(catalog, grid.tiles().back(), 0).empty());

    ranks[1].boxes[0].row_count -= 1;
    map = ShardMap::make(catalog, "test", ranks);
    ASSERT_TRUE(map.has_value());
    EXPECT_EQ(map.value().prove(catalog).error().what,
              "layout test: no rank holds tensor 't', row 262143, column 0");
}

TEST(ShardMap, RefusesToGuessAboutBoxesTooInterleavedToProve) {
    // Even words here, odd words there, so the two never meet; but each of 2^12 runs of one reaches
    // across nearly all 2^12 of the other.
    const std::uint64_t n = 1 << 12;
    const Catalog catalog = one_tensor({n, n});
    const Box even{
        .row_count = n, .col_count = n, .local_row_stride = 4 * n + 2, .local_col_stride = 4 * n};
    Box odd = even;
    odd.local_first = 1;
    odd.local_row_stride = 4 * n + 6;
    const auto code_of = [&](std::vector<Box> boxes) {
        const auto map = one_rank(catalog, std::move(boxes), std::uint64_t{1} << 40);
        REFIT_ASSERT(map.has_value());
        const auto proof = map.value().prove(catalog);
        return proof.has_value() ? std::optional<ErrorCode>() : proof.error().code;
    };
    EXPECT_EQ(code_of({even}), std::nullopt);
    EXPECT_EQ(code_of({odd}), std::nullopt);
    EXPECT_EQ(code_of({even, odd}), ErrorCode::unsupported);
    odd.local_row_stride = even.local_row_stride;  // equal strides have a closed form
    EXPECT_EQ(code_of({even, odd}), std::nullopt);

    // Row steps whose least common multiple is past any use.
    std::vector<Box> boxes;
    for (const std::uint64_t step : {1021u, 1019u, 1013u})
        boxes.push_back({.row_count = 4,
                         .row_step = step,
                         .col_count = 1,
                         .local_first = 4 * boxes.size(),
                         .local_row_stride = 1});
    EXPECT_EQ(code_of(boxes), ErrorCode::unsupported);
}

/// What a rank's memory holds: the canonical number of each word, or nobody's.
void expect_gathers(const Catalog& catalog,
                    const Tile& tile,
                    std::span<const Placement> placements,
                    const std::vector<std::uint64_t>& local) {
    std::vector<std::uint64_t> seen(tile.words, 0);
    for (const Placement& p : placements) {
        const Tensor& tensor = catalog.tensor(static_cast<std::uint32_t>(p.tensor));
        ASSERT_EQ(p.columns, tensor.columns);
        for (std::uint64_t i = 0; i < p.row_count; ++i) {
            for (std::uint64_t j = 0; j < p.col_count; ++j) {
                const std::uint64_t word =
                    (p.row_first + i * p.row_step) * p.columns + p.col_first + j * p.col_step;
                ASSERT_GE(word, p.tensor_first);
                ASSERT_LT(word - p.tensor_first, p.tile_words);
                ASSERT_EQ(local.at(p.local_first + i * p.local_row_stride + j * p.local_col_stride),
                          tensor.first_word + word);
                ++seen.at(p.tile_first + word - p.tensor_first);
            }
        }
    }
    std::vector<std::uint64_t> holds(catalog.words().count, 0);
    for (const std::uint64_t word : local)
        if (word != kNobody) ++holds[word];
    for (const Piece& piece : tile.pieces)
        for (std::uint64_t k = 0; k < piece.words; ++k)
            ASSERT_EQ(seen[piece.tile_first + k],
                      holds[catalog.tensor(piece.tensor).first_word + piece.tensor_first + k]);
}

/// Tiles cut anywhere a piece may be cut: at rows, or inside one row.
std::vector<Tile> random_tiles(const Catalog& catalog, Rng& rng) {
    std::vector<Tile> tiles(1);
    for (std::uint32_t id = 0; id < catalog.tensors().size(); ++id) {
        const Tensor& tensor = catalog.tensor(id);
        for (std::uint64_t first = 0; first < tensor.words;) {
            const std::uint64_t column = first % tensor.columns, row = first / tensor.columns;
            std::uint64_t words = 1 + rng.below(tensor.columns - column);
            if (column == 0 && rng.chance(600'000))
                words = tensor.columns * (1 + rng.below(tensor.rows - row));
            if (rng.chance(300'000)) tiles.emplace_back();
            Tile& tile = tiles.back();
            tile.pieces.push_back({id, first, words, tile.words});
            tile.words += words;
            first += words;
        }
    }
    return tiles;
}

TEST(Placements, NameExactlyTheWordsOfTheTileThatTheRankHolds) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Rng rng(seed, 0x706C61);
        const Catalog catalog = random_catalog(seed);
        const auto ranks =
            RandomMap(catalog, 1 + static_cast<std::uint32_t>(seed % 4), seed).make();
        const auto map = ShardMap::make(catalog, "test", ranks);
        ASSERT_TRUE(map.has_value());
        const Walk walk = walk_words(catalog, ranks);
        const Grid grid(catalog);
        auto tiles = random_tiles(catalog, rng);
        tiles.insert(tiles.end(), grid.tiles().begin(), grid.tiles().end());
        for (std::uint32_t r = 0; r < ranks.size(); ++r)
            for (const Tile& tile : tiles)
                ASSERT_NO_FATAL_FAILURE(expect_gathers(
                    catalog, tile, map.value().placements(catalog, tile, r), walk.local[r]));
    }
}

TEST(Placements, AllOfARankAreItsBoxesOverWholeTensors) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        const Catalog catalog = random_catalog(seed);
        const auto map = ShardMap::make(catalog, "test", RandomMap(catalog, 2, seed).make());
        ASSERT_TRUE(map.has_value());
        const Walk walk = walk_words(catalog, map.value().ranks());
        for (std::uint32_t r = 0; r < 2; ++r) {
            const auto all = map.value().all_placements(catalog, r);
            ASSERT_EQ(all.size(), map.value().ranks()[r].boxes.size());
            // One "tile" per tensor, each word of it at its own place.
            for (std::uint32_t id = 0; id < catalog.tensors().size(); ++id) {
                const std::uint64_t words = catalog.tensor(id).words;
                std::vector<Placement> own;
                for (const Placement& p : all) {
                    if (p.tensor != id) continue;
                    EXPECT_EQ(p.tile_first, 0u);
                    EXPECT_EQ(p.tensor_first, 0u);
                    EXPECT_EQ(p.tile_words, words);
                    own.push_back(p);
                }
                if (words == 0) continue;
                ASSERT_NO_FATAL_FAILURE(expect_gathers(
                    catalog, Tile{{Piece{id, 0, words, 0}}, words}, own, walk.local[r]));
            }
        }
    }
}

}  // namespace
}  // namespace refit
