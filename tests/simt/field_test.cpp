// The weight field's kernel gives the words of the CPU under every schedule.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/weight_field.hpp"
#include "tests/kernels/support.hpp"
#include "tests/simt/support.hpp"

namespace refit {
namespace {

constexpr FieldLaw kLaws[] = {FieldLaw::still, FieldLaw::drift, FieldLaw::spread, FieldLaw::even,
                              FieldLaw::fresh};

FieldTensor random_tensor(TestRng& rng, FieldLaw law, std::uint64_t columns) {
    FieldTensor tensor;
    tensor.key = rng.next();
    tensor.columns = columns;
    tensor.sigma = static_cast<std::uint32_t>(1 + rng.below(15));
    tensor.sigma_exponent = static_cast<std::int32_t>(rng.below(30)) - 20;
    tensor.around_one = rng.below(4) == 0;
    tensor.law = law;
    tensor.activity = -static_cast<std::int32_t>(rng.below(30 * 64));
    tensor.row_spread = static_cast<std::uint32_t>(rng.below(60));
    tensor.column_levels = 1u << rng.below(4);
    tensor.steps = static_cast<std::uint32_t>(1 + rng.below(20));
    tensor.chance = rng.next() >> (32 + rng.below(8));
    tensor.hot_chance = rng.below(2) == 0 ? tensor.chance : rng.next() >> 32;
    tensor.any_word = rng.below(2) == 0;
    return tensor;
}

kernels::FieldPiece random_piece_of(TestRng& rng, FieldLaw law, std::uint64_t columns) {
    kernels::FieldPiece piece;
    piece.tensor = random_tensor(rng, law, columns);
    const std::uint64_t version = rng.below(200);
    const std::uint64_t left = kEpochVersions - version % kEpochVersions;
    piece.span = {version, static_cast<std::uint32_t>(1 + rng.below(left))};
    piece.first = rng.below(4) == 0 ? 0 : rng.below(1'000'000'000'000);
    piece.words = rng.below(3 * columns + 20) % 9000;
    return piece;
}

/// Both versions of a piece, row by row.
void fill_as_the_cpu(const kernels::FieldPiece& piece, WordVector& base, WordVector& next) {
    const FillField fill = field_levels().back().fill;
    for (std::uint64_t done = 0; done < piece.words;) {
        const std::uint64_t word = piece.first + done;
        const std::uint64_t columns = piece.tensor.columns;
        const std::uint64_t words = std::min(columns - word % columns, piece.words - done);
        const FieldRun run{word / columns, static_cast<std::uint32_t>(word % columns)};
        fill(piece.tensor, run, piece.span, std::span(base).subspan(piece.at + done, words),
             std::span(next).subspan(piece.at + done, words));
        done += words;
    }
}

TEST(SimtField, GivesTheWordsOfTheCpu) {
    TestRng rng{96};
    for (const simt::Schedule& schedule : every_schedule()) {
        std::vector<kernels::FieldPiece> pieces;
        std::uint64_t end = 0;
        for (const FieldLaw law : kLaws) {
            for (const std::uint64_t columns : {1u, 7u, 8u, 100u, 4096u, 8200u}) {
                pieces.push_back(random_piece_of(rng, law, columns));
                pieces.back().at = end;
                end += pieces.back().words + rng.below(9);
            }
        }
        WordVector base = junk<std::uint16_t>(end);
        WordVector next = base;
        WordVector want_base = base;
        WordVector want_next = base;
        for (const kernels::FieldPiece& piece : pieces)
            fill_as_the_cpu(piece, want_base, want_next);
        const kernels::FieldPlan plan = kernels::plan_field(pieces);
        simt::Queue queue{schedule, {}};
        kernels::launch_field(
            queue,
            {plan.rows.data(), plan.warps.data(), static_cast<std::uint32_t>(plan.warps.size())},
            {base.data(), next.data()});
        ASSERT_EQ(base, want_base) << schedule_text(schedule);
        ASSERT_EQ(next, want_next) << schedule_text(schedule);
        ASSERT_NE(base, next);
    }
}

TEST(SimtFieldDeathTest, SpansStayInsideTheirEpoch) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    TestRng rng{97};
    kernels::FieldPiece piece = random_piece_of(rng, FieldLaw::drift, 10);
    piece.span = {60, 4};
    piece.words = 1;
    EXPECT_EQ(kernels::plan_field({&piece, 1}).rows.size(), 1u);
    piece.span = {60, 5};
    EXPECT_DEATH(kernels::plan_field({&piece, 1}), "kEpochVersions");
    piece.span = {60, 4};
    piece.tensor.columns = 0;
    EXPECT_DEATH(kernels::plan_field({&piece, 1}), "columns > 0");
}

}  // namespace
}  // namespace refit
