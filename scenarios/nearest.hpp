// The known name closest to a mistyped one: "did you mean" for keys, commands and flags.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace refit {

/// Fewest inserted, removed or replaced characters that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The nearest of `known` within a third of the longer name (at least one edit); else empty.
/// Ties go to the first.
std::string nearest_name(std::string_view name, std::span<const std::string> known);

}  // namespace refit
