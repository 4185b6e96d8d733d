// What must hold for the grid: every word in exactly one piece, tiles within their limit, and the
// same tiles for the same catalog, always.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "engine/coords/grid.hpp"
#include "engine/coords/weights.hpp"
#include "tests/support/random_catalog.hpp"

namespace refit {
namespace {

Catalog make_catalog(std::vector<TensorSpec> specs) {
    auto catalog = Catalog::make(std::move(specs));
    REFIT_ASSERT(catalog.has_value());
    return std::move(catalog).value();
}

Catalog one_tensor(std::vector<std::uint64_t> shape) {
    return make_catalog({{"t", WordType::bf16, std::move(shape)}});
}

/// Pieces, in canonical order, join without gap or overlap; places in a tile do too.
void expect_exact_cover(const Catalog& catalog, const Grid& grid) {
    std::vector<Piece> pieces;
    for (const Tile& tile : grid.tiles()) {
        std::uint64_t words = 0;
        for (const Piece& piece : tile.pieces) {
            EXPECT_EQ(piece.tile_first, words);
            EXPECT_GT(piece.words, 0u);
            words += piece.words;
            pieces.push_back(piece);
        }
        EXPECT_EQ(tile.words, words);
        EXPECT_GT(words, 0u);
        EXPECT_LE(words, kTileWordsMax);
    }
    std::ranges::sort(pieces, [](const Piece& a, const Piece& b) {
        return std::pair(a.tensor, a.tensor_first) < std::pair(b.tensor, b.tensor_first);
    });
    std::uint64_t word = 0;
    for (const Piece& piece : pieces) {
        ASSERT_EQ(catalog.tensor(piece.tensor).first_word + piece.tensor_first, word);
        word += piece.words;
    }
    EXPECT_EQ(Words{word}, catalog.words());
}

void expect_first_pieces_in_order(const Grid& grid) {
    for (std::size_t i = 1; i < grid.tiles().size(); ++i) {
        const Piece& a = grid.tile(i - 1).pieces[0];
        const Piece& b = grid.tile(i).pieces[0];
        EXPECT_LT(std::pair(a.tensor, a.tensor_first), std::pair(b.tensor, b.tensor_first));
    }
}

TEST(Grid, CoversRandomCatalogsExactly) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        const Catalog catalog = random_catalog(seed);
        const Grid grid(catalog);
        expect_exact_cover(catalog, grid);
        expect_first_pieces_in_order(grid);
    }
}

TEST(Grid, CutsLargeTensorsIntoTheFewestBands) {
    struct Case {
        std::vector<std::uint64_t> shape;
        std::uint64_t tiles;
        std::uint64_t words_min, words_max;
    };
    constexpr std::uint64_t kMax = kTileWordsMax;
    for (const Case& c : {
             // 58 rows of 8960 fit a tile; 262,144 rows are 4520 bands of 57 or 58 rows.
             Case{{262144, 8960}, 4520, 57ull * 8960, 58ull * 8960},
             // 73 rows of 7168 fit; 163,840 rows are 2245 bands of 72 or 73.
             Case{{163840, 7168}, 2245, 72ull * 7168, 73ull * 7168},
             Case{{3 << 20}, 6, kMax, kMax},
             Case{{kMax}, 1, kMax, kMax},
             Case{{kMax + 1}, 2, kMax / 2, kMax / 2 + 1},
             Case{{2, kMax + 1}, 4, kMax / 2, kMax / 2 + 1},
             Case{{3, kMax}, 3, kMax, kMax},
             Case{{3, 300000}, 3, 300000, 300000},
             Case{{4, 16, 1024}, 1, 65536, 65536},
             Case{{513, 1024}, 2, 256 * 1024, 257 * 1024},
         }) {
        SCOPED_TRACE(testing::Message() << "last dimension " << c.shape.back());
        const Catalog catalog = one_tensor(c.shape);
        const Grid grid(catalog);
        expect_exact_cover(catalog, grid);
        expect_first_pieces_in_order(grid);
        EXPECT_EQ(grid.tiles().size(), c.tiles);
        const auto [low, high] = std::ranges::minmax(grid.tiles(), {}, &Tile::words);
        EXPECT_EQ(low.words, c.words_min);
        EXPECT_EQ(high.words, c.words_max);
    }
}

TEST(Grid, SharesTilesOnlyWithinOneClassAndType) {
    std::vector<TensorSpec> specs;
    for (int i = 0; i < 10; ++i) {
        const std::string layer = "layers." + std::to_string(i);
        specs.push_back({layer + ".norm", WordType::bf16, {60000}});
        specs.push_back({layer + ".bias", i < 5 ? WordType::bf16 : WordType::f16, {10}});
    }
    specs.push_back({"layers.0.wide", WordType::bf16, {kShareTileBelow}});
    specs.push_back({"layers.1.wide", WordType::bf16, {kShareTileBelow}});
    const Catalog catalog = make_catalog(std::move(specs));
    const Grid grid(catalog);
    expect_exact_cover(catalog, grid);
    expect_first_pieces_in_order(grid);
    // Biases: five of each type. Norms: 8 of 60,000 words fit, then 2. Wide ones stand alone.
    std::vector<std::size_t> pieces;
    for (const Tile& tile : grid.tiles()) {
        pieces.push_back(tile.pieces.size());
        for (const Piece& piece : tile.pieces) {
            const Tensor& first = catalog.tensor(tile.pieces[0].tensor);
            const Tensor& tensor = catalog.tensor(piece.tensor);
            EXPECT_EQ(tensor_class(tensor.name), tensor_class(first.name));
            EXPECT_EQ(tensor.type, first.type);
        }
    }
    EXPECT_EQ(pieces, (std::vector<std::size_t>{5, 8, 1, 1, 5, 2}));
}

TEST(Grid, OfNothingHasNoTiles) {
    EXPECT_TRUE(Grid(make_catalog({})).tiles().empty());
    EXPECT_TRUE(Grid(one_tensor({4, 0})).tiles().empty());
    EXPECT_TRUE(Grid(one_tensor({0, 4})).tiles().empty());
}

TEST(Grid, HasTheIdOfItsPieces) {
    const Catalog catalog = make_catalog({{"a.0.w", WordType::bf16, {3}},
                                          {"a.1.w", WordType::bf16, {2, 2}},
                                          {"big", WordType::bf16, {3, 262144}}});
    const Grid grid(catalog);
    ASSERT_EQ(grid.tiles().size(), 3u);
    EXPECT_EQ(grid.tile(0).pieces, (std::vector<Piece>{{0, 0, 3, 0}, {1, 0, 4, 3}}));
    EXPECT_EQ(grid.tile(1).pieces, (std::vector<Piece>{{2, 0, 524288, 0}}));
    EXPECT_EQ(grid.tile(2).pieces, (std::vector<Piece>{{2, 524288, 262144, 0}}));
    // sha256sum of "refit.grid/1" and, per tile, u32 pieces, then u32 tensor, u64 first, u64 words.
    EXPECT_EQ(to_hex(grid.id()),
              "143c2780b6f66692a3c4f16a48e4896392d167034d4b5fe59415f5665f3759f3");
    EXPECT_EQ(Grid(catalog).id(), grid.id());
    EXPECT_NE(Grid(one_tensor({3})).id(), Grid(one_tensor({4})).id());
}

TEST(PieceWindow, IsWholeRowsOrARunInsideOneRow) {
    const Catalog catalog = one_tensor({4, 10});
    const auto window = [&](std::uint64_t first, std::uint64_t words) {
        return piece_window(catalog.tensor(0), Piece{0, first, words, 0});
    };
    EXPECT_EQ(window(0, 40).rows, (Progression{0, 4, 1}));
    EXPECT_EQ(window(0, 40).columns, (Progression{0, 10, 1}));
    EXPECT_EQ(window(10, 20).rows, (Progression{1, 2, 1}));
    EXPECT_EQ(window(33, 7).rows, (Progression{3, 1, 1}));
    EXPECT_EQ(window(33, 7).columns, (Progression{3, 7, 1}));
    EXPECT_EQ(window(20, 10).columns, (Progression{0, 10, 1}));
    EXPECT_DEATH(window(5, 10), "broken invariant");
    EXPECT_DEATH(window(10, 11), "broken invariant");
    EXPECT_DEATH(window(30, 20), "broken invariant");
}

TEST(IdentityPlacements, PutEveryTileWordInItsOwnPlace) {
    const Catalog catalog = make_catalog({{"a.0", WordType::bf16, {5}},
                                          {"a.1", WordType::bf16, {3, 4}},
                                          {"a.2", WordType::bf16, {}},
                                          {"bands", WordType::bf16, {1030, 700}},
                                          {"runs", WordType::bf16, {2, kTileWordsMax + 3}}});
    const Grid grid(catalog);
    for (const Tile& tile : grid.tiles()) {
        std::vector<std::uint64_t> seen(tile.words, 0);
        for (const Placement& p : identity_placements(catalog, tile)) {
            EXPECT_EQ(p.columns, catalog.tensor(static_cast<std::uint32_t>(p.tensor)).columns);
            for (std::uint64_t i = 0; i < p.row_count; ++i) {
                for (std::uint64_t j = 0; j < p.col_count; ++j) {
                    const std::uint64_t row = p.row_first + i * p.row_step;
                    const std::uint64_t column = p.col_first + j * p.col_step;
                    const std::uint64_t k = row * p.columns + column - p.tensor_first;
                    ASSERT_LT(k, p.tile_words);
                    ASSERT_EQ(p.local_first + i * p.local_row_stride + j * p.local_col_stride,
                              p.tile_first + k);
                    ++seen.at(p.tile_first + k);
                }
            }
        }
        EXPECT_EQ(std::ranges::count(seen, 1), static_cast<std::ptrdiff_t>(tile.words));
    }
}

TEST(MemoryWeights, ReadsRangesAndTilesOfTheRightTensor) {
    const Catalog catalog = random_catalog(3);
    std::vector<std::uint16_t> words(catalog.words().count);
    std::iota(words.begin(), words.end(), std::uint16_t{1});
    const MemoryWeights weights(catalog, words);
    for (std::uint32_t id = 0; id < catalog.tensors().size(); ++id) {
        const Tensor& tensor = catalog.tensor(id);
        for (std::uint64_t first = 0; first <= tensor.words; first += 5) {
            std::vector<std::uint16_t> out(tensor.words - first);
            weights.read(id, first, out);
            for (std::size_t k = 0; k < out.size(); ++k)
                ASSERT_EQ(out[k], words[tensor.first_word + first + k]);
        }
    }
    const Grid grid(catalog);
    for (const Tile& tile : grid.tiles()) {
        std::vector<std::uint16_t> out(tile.words);
        weights.read_tile(tile, out);
        for (const Piece& piece : tile.pieces)
            ASSERT_EQ(out[piece.tile_first],
                      words[catalog.tensor(piece.tensor).first_word + piece.tensor_first]);
    }
}

TEST(MemoryWeights, AnEmptyVectorStandsForZeros) {
    const Catalog catalog = one_tensor({2, 3});
    const MemoryWeights nothing(catalog, {});
    std::vector<std::uint16_t> out(4, 0xFFFF);
    nothing.read(0, 2, out);
    EXPECT_EQ(out, std::vector<std::uint16_t>(4, 0));
    EXPECT_DEATH(nothing.read(0, 3, out), "broken invariant");
    EXPECT_DEATH(nothing.read(0, ~std::uint64_t{0}, out), "broken invariant");
    EXPECT_DEATH(MemoryWeights(catalog, std::vector<std::uint16_t>(5)), "broken invariant");
}

}  // namespace
}  // namespace refit
