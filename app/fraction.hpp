// Fractions as flags take them.
#pragma once

#include <string>

namespace refit {

/// "0.05" or "5%" becomes a plain number above 0, at most 1; the answer says what is wrong, if
/// anything. For CLI::Validator.
std::string check_fraction(std::string& text);

}  // namespace refit
