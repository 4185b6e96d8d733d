// A requirement on a finished run: "speedup>=12", from a scenario's `require` or `--require`.
//
// Form     FIGURE OP NUMBER: FIGURE is a dotted key of the run's record, OP one of >= <= > < ==,
//          NUMBER a decimal; an "x" or "%" after it is read as times 1 and divided by 100.
// Errors   invalid_input naming the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/result.hpp"

namespace refit {

enum class Comparison : std::uint8_t { at_least, at_most, above, below, equal };

struct Requirement {
    std::string text;    // as written, for the report
    std::string figure;  // "speedup", "gpu_idle.fraction"
    Comparison comparison = Comparison::at_least;
    double bound = 0;

    bool holds(double value) const;  // false for a NaN
};

Result<Requirement> parse_requirement(std::string_view text);

}  // namespace refit
