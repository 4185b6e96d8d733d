// Intersections and differences of progressions, compared with sets of numbers.
#include <gtest/gtest.h>

#include <set>

#include "engine/base/rng.hpp"
#include "engine/coords/progression.hpp"

namespace refit {
namespace {

std::set<std::uint64_t> members(const Progression& p) {
    std::set<std::uint64_t> set;
    for (std::uint64_t i = 0; i < p.count; ++i) set.insert(p.first + i * p.step);
    return set;
}

std::set<std::uint64_t> common(const std::set<std::uint64_t>& a, const std::set<std::uint64_t>& b) {
    std::set<std::uint64_t> both;
    for (const std::uint64_t x : a)
        if (b.contains(x)) both.insert(x);
    return both;
}

/// Every progression with a first below 6, up to 5 members and a step of 1 to 6.
std::vector<Progression> small_progressions() {
    std::vector<Progression> all;
    for (std::uint64_t first = 0; first < 6; ++first)
        for (std::uint64_t count = 0; count < 6; ++count)
            for (std::uint64_t step = 1; step < 7; ++step) all.push_back({first, count, step});
    return all;
}

TEST(Progression, IntersectionAndDifferenceAreThoseOfSets) {
    const auto all = small_progressions();
    for (const Progression& a : all) {
        for (const Progression& b : all) {
            SCOPED_TRACE(testing::Message() << a.first << '+' << a.count << '*' << a.step << " and "
                                            << b.first << '+' << b.count << '*' << b.step);
            const auto expected = common(members(a), members(b));
            const auto both = intersect(a, b);
            ASSERT_EQ(both.has_value(), !expected.empty());
            if (!both) continue;
            ASSERT_EQ(members(*both), expected);
            ASSERT_EQ(both->count, expected.size());

            const auto rest = difference(a, *both);
            ASSERT_LE(rest.size(), difference_parts(a, *both));
            std::multiset<std::uint64_t> joined(expected.begin(), expected.end());
            for (const Progression& p : rest) {
                const auto part = members(p);
                ASSERT_FALSE(part.empty());
                joined.insert(part.begin(), part.end());
            }
            const auto whole = members(a);
            ASSERT_EQ(joined, std::multiset<std::uint64_t>(whole.begin(), whole.end()));
        }
    }
}

TEST(Progression, IntersectsAtTheLimitOfACatalog) {
    constexpr std::uint64_t kEnd = std::uint64_t{1} << 48;
    // Coprime steps near 2^24: the first common member is their product away from 0.
    const std::uint64_t p = 16'777'213, q = 16'777'259;
    const Progression a{0, (kEnd - 1) / p + 1, p}, b{0, (kEnd - 1) / q + 1, q};
    EXPECT_EQ(intersect(a, b), (Progression{0, 1, 1}));
    const Progression c{p, (kEnd - 1) / p, p}, d{q, (kEnd - 1) / q, q};
    EXPECT_EQ(intersect(c, d), std::nullopt);  // p * q is 671,088,511 past 2^48
    const Progression everything{0, kEnd, 1};
    EXPECT_EQ(intersect(everything, a), a);
    EXPECT_EQ(intersect({kEnd - 1, 1, 1}, everything), (Progression{kEnd - 1, 1, 1}));
    // Steps of 2^47 and 2^47 - 1 meet once, where both have taken their first step back to 0.
    const std::uint64_t half = kEnd / 2;
    EXPECT_EQ(intersect({5, 2, half}, {5, 2, half - 1}), (Progression{5, 1, 1}));
    EXPECT_EQ(intersect({1, 2, half}, {2, 2, half - 1}), (Progression{half + 1, 1, 1}));
}

TEST(Progression, AStepOfASingleMemberMeansNothing) {
    const std::uint64_t huge = ~std::uint64_t{0};
    EXPECT_EQ(intersect({7, 1, huge}, {1, 4, 3}), (Progression{7, 1, 1}));
    EXPECT_EQ(intersect({8, 1, huge}, {1, 4, 3}), std::nullopt);
}

}  // namespace
}  // namespace refit
