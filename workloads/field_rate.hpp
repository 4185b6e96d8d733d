// Which activity gives a drift field the change rate that was asked for.
//
// Model     the law in closed form: the rate of a tensor is the mean of min(1, |u| / ulp) over the
//           shares of its exponents, counted exactly, and over 32 equally likely |u|, the 16 row
//           activities and the column activities of the field. Over k steps, |u| is what they come
//           to: its distribution keeps its shape. Of fresh words, the share of those that lie
//           within |u| / 2 of an edge of their cell.
// Exact     the answer is an integer that follows from sums of integers and of products of doubles
//           in one order, so one field has one activity everywhere.
// Accuracy  1/64 octave of u, below 0.6 % of the rate; the words themselves then vary as draws do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "kernels/weight_field.hpp"

namespace refit {

/// A tensor's field and how many words it has.
struct FieldShare {
    FieldTensor field;
    std::uint64_t words = 0;
};

/// The most steps whose net rate is known: half an epoch.
inline constexpr std::uint32_t kRateStepsMax = kEpochVersions / 2;

/// The activity at which `steps` steps change `changed_per_million` of all words, or nothing if
/// none does. Tensors whose law is neither drift nor fresh change nothing, norms next to nothing;
/// both count among the words.
std::optional<std::int32_t> drift_activity(std::span<const FieldShare> tensors,
                                           std::uint32_t changed_per_million,
                                           std::uint32_t steps = 1);

}  // namespace refit
