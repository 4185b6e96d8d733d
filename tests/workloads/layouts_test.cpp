// What must hold for every layout of the list: proved by boxes, confirmed word by word, and any
// planted bug refused with a message that says where.
#include "workloads/layouts.hpp"

#include <gtest/gtest.h>

#include "tests/support/random_catalog.hpp"
#include "tests/support/shard_maps.hpp"

namespace refit {
namespace {

constexpr std::uint32_t kCounts[] = {1, 2, 3, 4, 7, 8};

std::string layout_name(const LayoutFamily& family, std::uint32_t ranks) {
    return family.name + ":" + family.key + std::to_string(ranks);
}

ShardMap layout_of(const Catalog& catalog, const std::string& name) {
    auto map = make_layout(catalog, name);
    REFIT_ASSERT(map.has_value());
    return std::move(map).value();
}

/// Calls check(catalog, map, ranks) for every family, count and a few catalogs.
template <class Check>
void for_all_layouts(const Check& check) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const Catalog catalog = seed == 0 ? tiny_transformer() : random_catalog(seed);
        for (const LayoutFamily& family : layout_families()) {
            for (const std::uint32_t ranks : kCounts) {
                const std::string name = layout_name(family, ranks);
                SCOPED_TRACE(testing::Message() << name << ", seed " << seed);
                ASSERT_NO_FATAL_FAILURE(check(catalog, layout_of(catalog, name), ranks));
            }
        }
    }
}

Catalog one_tensor(const std::string& name, std::vector<std::uint64_t> shape) {
    auto catalog = Catalog::make({{name, WordType::bf16, std::move(shape)}});
    REFIT_ASSERT(catalog.has_value());
    return std::move(catalog).value();
}

/// Per rank the words held of a one-tensor catalog; -1 marks a rank that holds it whole.
std::vector<std::uint64_t> words_per_rank(const Catalog& catalog, const std::string& layout) {
    std::vector<std::uint64_t> words;
    const ShardMap map = layout_of(catalog, layout);
    for (const RankMap& rank : map.ranks()) words.push_back(rank.local_words);
    return words;
}

TEST(Layouts, AreProvedAndAWalkOverWordsAgrees) {
    for_all_layouts([](const Catalog& catalog, const ShardMap& map, std::uint32_t ranks) {
        ASSERT_EQ(map.ranks().size(), ranks);
        const auto proof = map.prove(catalog);
        ASSERT_TRUE(proof.has_value()) << proof.error().what;
        const Walk walk = walk_words(catalog, map.ranks());
        ASSERT_TRUE(walk.disjoint());
        EXPECT_EQ(proof.value().copies_min, walk.copies_min());
        EXPECT_EQ(proof.value().copies_max, walk.copies_max());
        EXPECT_GE(proof.value().copies_min, 1u);
        EXPECT_LE(proof.value().copies_max, ranks);
        EXPECT_EQ(proof.value().padding_words, 0u);
    });
}

TEST(Layouts, KeepLocalMemoryCompactInCatalogOrder) {
    for_all_layouts([](const Catalog&, const ShardMap& map, std::uint32_t) {
        for (const RankMap& rank : map.ranks()) {
            std::uint64_t next = 0;
            for (const Box& box : rank.boxes) {
                EXPECT_EQ(box.local_first, next);
                EXPECT_EQ(box.local_row_stride, box.col_count);
                EXPECT_EQ(box.local_col_stride, 1u);
                next += box.words();
            }
            EXPECT_EQ(rank.local_words, next);
        }
    });
}

TEST(Layouts, RefuseABoxShiftedByARow) {
    std::size_t planted = 0;
    for_all_layouts([&](const Catalog& catalog, const ShardMap& map, std::uint32_t ranks) {
        // Only where the rank's own word is the only copy does a shift leave a hole.
        std::vector<RankMap> wrong(map.ranks().begin(), map.ranks().end());
        for (RankMap& rank : wrong) {
            for (Box& box : rank.boxes) {
                if (box.row_first == 0 || box.row_count == 0) continue;
                box.row_first -= 1;
                const auto spoiled = ShardMap::make(catalog, map.layout(), wrong);
                ASSERT_TRUE(spoiled.has_value());
                const auto proof = spoiled.value().prove(catalog);
                ASSERT_FALSE(proof.has_value()) << ranks;
                EXPECT_NE(proof.error().what.find("no rank holds tensor"), std::string::npos);
                ++planted;
                box.row_first += 1;
            }
        }
    });
    EXPECT_GT(planted, 500u);
}

TEST(Layouts, RefuseAMissingBoxUnlessAnotherRankHoldsItsWords) {
    std::size_t refused = 0, copied = 0;
    for_all_layouts([&](const Catalog& catalog, const ShardMap& map, std::uint32_t ranks) {
        for (std::uint32_t r = 0; r < ranks; ++r) {
            std::vector<RankMap> wrong(map.ranks().begin(), map.ranks().end());
            if (wrong[r].boxes.empty()) continue;
            const Box gone = wrong[r].boxes.back();
            wrong[r].boxes.pop_back();
            const auto spoiled = ShardMap::make(catalog, map.layout(), wrong);
            ASSERT_TRUE(spoiled.has_value());
            const auto proof = spoiled.value().prove(catalog);
            const Walk walk = walk_words(catalog, wrong);
            ASSERT_EQ(proof.has_value(), walk.copies_min() > 0);
            if (proof.has_value()) {
                EXPECT_EQ(proof.value().padding_words, gone.words());
                ++copied;
                continue;
            }
            const Tensor& tensor = catalog.tensor(gone.tensor);
            const std::uint64_t first =
                tensor.first_word + gone.row_first * tensor.columns + gone.col_first;
            EXPECT_EQ(proof.error().what, "layout " + map.layout() + ": no rank holds " +
                                              describe_word(catalog, first));
            ++refused;
        }
    });
    EXPECT_GT(refused, 200u);
    EXPECT_GT(copied, 200u);
}

TEST(Layouts, RefuseTwoBoxesThatShareALocalWord) {
    for_all_layouts([](const Catalog& catalog, const ShardMap& map, std::uint32_t ranks) {
        std::vector<RankMap> wrong(map.ranks().begin(), map.ranks().end());
        RankMap& last = wrong[ranks - 1];
        if (last.boxes.size() < 2) return;
        last.boxes[1].local_first -= 1;
        const std::string word = std::to_string(last.boxes[1].local_first);
        const auto spoiled = ShardMap::make(catalog, map.layout(), wrong);
        ASSERT_TRUE(spoiled.has_value());
        const auto proof = spoiled.value().prove(catalog);
        ASSERT_FALSE(proof.has_value());
        EXPECT_NE(proof.error().what.find("rank " + std::to_string(ranks - 1) + ": local word " +
                                          word + " belongs both to"),
                  std::string::npos)
            << proof.error().what;
    });
}

TEST(Layouts, ComposeIntoEachOtherWordByWord) {
    for (const Catalog& catalog : {tiny_transformer(), random_catalog(7)}) {
        for (const LayoutFamily& from : layout_families()) {
            for (const LayoutFamily& to : layout_families()) {
                for (const auto& [n, m] : {std::pair(4u, 2u), std::pair(3u, 8u)}) {
                    const ShardMap source = layout_of(catalog, layout_name(from, n));
                    const ShardMap target = layout_of(catalog, layout_name(to, m));
                    SCOPED_TRACE(source.layout() + " to " + target.layout());
                    const auto transfers = compose(catalog, source, target);
                    ASSERT_TRUE(transfers.has_value()) << transfers.error().what;
                    const Walk held = walk_words(catalog, source.ranks());
                    auto filled = walk_words(catalog, target.ranks()).local;
                    std::uint64_t copied = 0, wanted = 0;
                    for (const auto& local : filled) wanted += local.size();
                    for (const Transfer& t : transfers.value()) {
                        for (std::uint64_t k = 0; k < t.source.words(); ++k) {
                            const auto at = [&](const Box& b) {
                                return b.local_first + k / b.col_count * b.local_row_stride +
                                       k % b.col_count * b.local_col_stride;
                            };
                            ASSERT_EQ(held.local[t.source_rank].at(at(t.source)),
                                      filled[t.target_rank].at(at(t.target)));
                            ++copied;
                        }
                    }
                    EXPECT_EQ(copied, wanted);
                }
            }
        }
    }
}

TEST(Layouts, UnevenSizesGiveTheFirstRanksOneMore) {
    const Catalog catalog = one_tensor("model.layers.0.mlp.up_proj.weight", {10, 7});
    EXPECT_EQ(words_per_rank(catalog, "rows:tp4"), (std::vector<std::uint64_t>{21, 21, 14, 14}));
    EXPECT_EQ(words_per_rank(catalog, "columns:tp4"), (std::vector<std::uint64_t>{20, 20, 20, 10}));
    EXPECT_EQ(words_per_rank(catalog, "replicated:r2"), (std::vector<std::uint64_t>{70, 70}));
    EXPECT_EQ(words_per_rank(one_tensor("t", {2, 3}), "rows:tp4"),
              (std::vector<std::uint64_t>{3, 3, 0, 0}));
}

TEST(Layouts, FsdpCutsDimensionZeroInChunksOfTheCeiling) {
    // FSDP2: ceil(10 / 4) = 3 rows a rank, the last short; ceil(5 / 4) = 2 leaves one rank empty.
    EXPECT_EQ(words_per_rank(one_tensor("t", {10, 7}), "fsdp:dp4"),
              (std::vector<std::uint64_t>{21, 21, 21, 7}));
    EXPECT_EQ(words_per_rank(one_tensor("t", {5}), "fsdp:dp4"),
              (std::vector<std::uint64_t>{2, 2, 1, 0}));
    EXPECT_EQ(words_per_rank(one_tensor("t", {}), "fsdp:dp3"),
              (std::vector<std::uint64_t>{1, 0, 0}));
    EXPECT_EQ(words_per_rank(one_tensor("t", {3, 2, 5}), "fsdp:dp2"),
              (std::vector<std::uint64_t>{20, 10}));
    const ShardMap map = layout_of(one_tensor("t", {3, 2, 5}), "fsdp:dp2");
    EXPECT_EQ(map.ranks()[1].boxes[0].row_first, 4u);  // two leading slices of two rows each
}

TEST(Layouts, RowsOfAThreeDimensionalTensorAreItsFlattenedLeadingDimensions) {
    const Catalog catalog = one_tensor("t", {3, 3, 5});
    EXPECT_EQ(words_per_rank(catalog, "rows:tp2"), (std::vector<std::uint64_t>{25, 20}));
    EXPECT_EQ(words_per_rank(catalog, "columns:tp2"), (std::vector<std::uint64_t>{27, 18}));
}

TEST(Layouts, TpFollowsTheLastNameComponent) {
    const Catalog catalog = tiny_transformer();
    const ShardMap map = layout_of(catalog, "tp:tp2");
    for (const Box& box : map.ranks()[0].boxes) {
        const Tensor& t = catalog.tensor(box.tensor);
        const std::string kind = tensor_kind(t.name);
        const bool by_columns = kind == "o_proj" || kind == "down_proj";
        const bool whole = kind.find("norm") != std::string::npos;
        EXPECT_EQ(box.row_count, by_columns || whole ? t.rows : t.rows / 2) << t.name;
        EXPECT_EQ(box.col_count, by_columns ? t.columns / 2 : t.columns) << t.name;
    }
    EXPECT_EQ(map.ranks()[0].boxes.size(), catalog.tensors().size());
    EXPECT_EQ(words_per_rank(one_tensor("mlp.gate.weight", {4, 4}), "tp:tp2"),
              (std::vector<std::uint64_t>{16, 16}));
    EXPECT_EQ(words_per_rank(one_tensor("self_attn.q_proj.bias", {4}), "tp:tp2"),
              (std::vector<std::uint64_t>{4, 4}));
}

TEST(Layouts, AreParsedStrictly) {
    const Catalog catalog = one_tensor("t", {2, 3});
    for (const char* good : {"tp:tp1", "tp:tp4096", "fsdp:dp10", "replicated:r2"})
        EXPECT_TRUE(make_layout(catalog, good).has_value()) << good;
    for (const char* bad : {"",
                            ":",
                            "tp",
                            "tp:",
                            "tp:tp",
                            "tp:4",
                            "tp:tp0",
                            "tp:tp04",
                            "tp:tp4097",
                            "tp:tp-1",
                            "tp:tp+1",
                            "tp:tp 4",
                            "tp:tp4 ",
                            " tp:tp4",
                            "tp:tp4x",
                            "tp:tp4.0",
                            "tp:tp0x4",
                            "TP:tp4",
                            "tp:TP4",
                            "tp:dp4",
                            "fsdp:tp4",
                            "tp:tp4,",
                            "tp:tp4:",
                            "mega:tp4",
                            "tp:tp18446744073709551617",
                            "tp:tp4294967297",
                            "rows:r2",
                            "replicated:tp2"}) {
        const auto map = make_layout(catalog, bad);
        ASSERT_FALSE(map.has_value()) << bad;
        EXPECT_EQ(map.error().code, ErrorCode::invalid_input);
        EXPECT_NE(map.error().what.find("tp:tp<n>, rows:tp<n>, columns:tp<n>, fsdp:dp<n>, "
                                        "replicated:r<n>"),
                  std::string::npos)
            << map.error().what;
    }
}

TEST(Layouts, OfAnEmptyCatalogHoldNothing) {
    auto catalog = Catalog::make({});
    ASSERT_TRUE(catalog.has_value());
    const ShardMap map = layout_of(catalog.value(), "tp:tp2");
    const auto proof = map.prove(catalog.value());
    ASSERT_TRUE(proof.has_value());
    EXPECT_EQ(proof.value().held_words, 0u);
    EXPECT_EQ(proof.value().copies_max, 0u);
}

}  // namespace
}  // namespace refit
