// Two records side by side: every number of both, and how the second stands to the first.
//
// Ratio     b / a. Where a figure has a 95 % interval, so has the ratio: both are taken as
//           independent and their relative half widths add in squares (first order).
// Same      a figure of the second record counts as different when its interval of the ratio leaves
//           1 out; without intervals when the numbers differ at all.
// Left out  `host` and what is below it: nobody's result. Numbers that only one record has.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/result.hpp"

namespace refit {

struct ComparedValue {
    std::string key;
    double a = 0;
    double b = 0;
    std::string unit;             // empty of plain numbers
    std::string provenance;       // the weaker of both; empty of plain numbers
    std::optional<double> ratio;  // none where a is 0
    std::optional<std::pair<double, double>> ratio_ci95;
    bool differs = false;
};

struct ComparedText {
    std::string key;
    std::string a;
    std::string b;
};

struct Comparison {
    std::vector<ComparedValue> values;
    std::vector<ComparedText> texts;  // of both, those that differ: codec.name, seed's title, ...
};

/// invalid_input when they are documents of different kinds.
Result<Comparison> compare_records(const nlohmann::ordered_json& a,
                                   const nlohmann::ordered_json& b);

}  // namespace refit
