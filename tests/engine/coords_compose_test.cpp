// What must hold for composed maps: run as plain copies they fill every target word once, with the
// right word, from the lowest source rank that holds it.
#include <gtest/gtest.h>

#include "engine/coords/shard_map.hpp"
#include "tests/support/random_catalog.hpp"
#include "tests/support/shard_maps.hpp"

namespace refit {
namespace {

ShardMap make_map(const Catalog& catalog, std::vector<RankMap> ranks) {
    auto map = ShardMap::make(catalog, "test", std::move(ranks));
    REFIT_ASSERT(map.has_value());
    return std::move(map).value();
}

/// Per canonical word the lowest rank that holds it; kNobody where none does.
std::vector<std::uint64_t> lowest_holders(const Catalog& catalog, const Walk& walk) {
    std::vector<std::uint64_t> lowest(catalog.words().count, std::uint64_t{kNobody});
    for (std::uint64_t r = walk.local.size(); r-- > 0;)
        for (const std::uint64_t word : walk.local[r])
            if (word != kNobody) lowest[word] = r;
    return lowest;
}

void expect_transfers_fill(const Catalog& catalog,
                           const std::vector<Transfer>& transfers,
                           const Walk& source,
                           const Walk& target) {
    const auto lowest = lowest_holders(catalog, source);
    std::vector<std::vector<std::uint64_t>> filled;
    for (const auto& local : target.local)
        filled.emplace_back(local.size(), std::uint64_t{kNobody});
    for (const Transfer& t : transfers) {
        ASSERT_EQ(t.source.rows(), t.target.rows());
        ASSERT_EQ(t.source.columns(), t.target.columns());
        ASSERT_EQ(t.source.tensor, t.target.tensor);
        for (std::uint64_t i = 0; i < t.source.row_count; ++i) {
            for (std::uint64_t j = 0; j < t.source.col_count; ++j) {
                const auto at = [&](const Box& b) {
                    return b.local_first + i * b.local_row_stride + j * b.local_col_stride;
                };
                const std::uint64_t word = source.local[t.source_rank].at(at(t.source));
                std::uint64_t& place = filled[t.target_rank].at(at(t.target));
                ASSERT_EQ(place, kNobody) << "filled twice";
                ASSERT_EQ(lowest.at(word), t.source_rank);
                place = word;
            }
        }
    }
    ASSERT_EQ(filled, target.local);
}

TEST(Compose, FillsEveryTargetWordOnceFromTheLowestSource) {
    for (std::uint64_t seed = 0; seed < 600; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        const Catalog catalog = random_catalog(seed);
        const auto count = [&](std::uint64_t n) { return 1 + static_cast<std::uint32_t>(n % 4); };
        const auto source = RandomMap(catalog, count(seed), 2 * seed).make();
        const auto target = RandomMap(catalog, count(seed / 4), 2 * seed + 1).make();
        const auto transfers =
            compose(catalog, make_map(catalog, source), make_map(catalog, target));
        ASSERT_TRUE(transfers.has_value()) << transfers.error().what;
        ASSERT_NO_FATAL_FAILURE(expect_transfers_fill(
            catalog, transfers.value(), walk_words(catalog, source), walk_words(catalog, target)));
    }
}

TEST(Compose, NamesTheFirstWordThatHasNoSource) {
    std::size_t missing = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Rng rng(seed, 0x6D6973);
        const Catalog catalog = random_catalog(seed);
        auto source = RandomMap(catalog, 2, 2 * seed).make();
        RankMap& poorer = source[rng.below(2)];
        if (poorer.boxes.empty()) continue;
        poorer.boxes.erase(poorer.boxes.begin() +
                           static_cast<std::ptrdiff_t>(rng.below(poorer.boxes.size())));
        // A target that holds everything: its first missing word is the first missing word.
        std::vector<RankMap> target(1);
        for (std::uint32_t id = 0; id < catalog.tensors().size(); ++id) {
            const Tensor& t = catalog.tensor(id);
            if (t.words == 0) continue;
            target[0].boxes.push_back({.tensor = id,
                                       .row_count = t.rows,
                                       .col_count = t.columns,
                                       .local_first = t.first_word,
                                       .local_row_stride = t.columns});
        }
        target[0].local_words = catalog.words().count;

        const Walk walk = walk_words(catalog, source);
        const auto transfers =
            compose(catalog, make_map(catalog, source), make_map(catalog, target));
        ASSERT_EQ(transfers.has_value(), walk.copies_min() > 0);
        if (transfers.has_value()) continue;
        ++missing;
        const auto hole = std::ranges::find(walk.copies, 0u) - walk.copies.begin();
        EXPECT_EQ(transfers.error().code, ErrorCode::invalid_input);
        EXPECT_EQ(transfers.error().what,
                  "no source holds " + describe_word(catalog, static_cast<std::uint64_t>(hole)) +
                      " for target rank 0");
    }
    EXPECT_GT(missing, 50u);
}

TEST(Compose, RefusesATargetWhoseWordsShareAPlace) {
    const Catalog catalog = tiny_transformer();
    auto ranks = RandomMap(catalog, 2, 1).make();
    const ShardMap source = make_map(catalog, ranks);
    ASSERT_TRUE(compose(catalog, source, source).has_value());
    ASSERT_GE(ranks[1].boxes.size(), 2u);
    ranks[1].boxes[1].local_first = ranks[1].boxes[0].local_first;
    const auto transfers = compose(catalog, source, make_map(catalog, ranks));
    ASSERT_FALSE(transfers.has_value());
    EXPECT_NE(transfers.error().what.find("rank 1: local word"), std::string::npos)
        << transfers.error().what;
}

}  // namespace
}  // namespace refit
