// Which activity gives a drift field the change rate that was asked for.
//
// Model     the law in closed form: the rate of a tensor is the mean of min(1, |u| / ulp) over the
//           shares of its exponents, counted exactly, and over 32 equally likely |u|, the 16 row
//           activities and the column activities of the field.
// Exact     the answer is an integer that follows from sums of integers and of products of doubles
//           in one order, so one field has one activity everywhere.
// Accuracy  1/64 octave of u, below 0.6 % of the rate; the words themselves then vary as draws do.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/weight_field.hpp"

namespace refit {

/// A tensor's field and how many words it has.
struct FieldShare {
    FieldTensor field;
    std::uint64_t words = 0;
};

/// The activity at which one step changes `changed_per_million` of all words. Tensors whose law is
/// not drift change nothing, norms next to nothing; both count among the words.
std::int32_t drift_activity(std::span<const FieldShare> tensors, std::uint32_t changed_per_million);

}  // namespace refit
