#include "scenarios/requirement.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace refit {
namespace {

struct Operator {
    std::string_view text;
    Comparison comparison;
};

// Longer operators first: ">=" must not be read as ">" and a number "=12".
constexpr Operator kOperators[] = {{">=", Comparison::at_least},
                                   {"<=", Comparison::at_most},
                                   {"==", Comparison::equal},
                                   {">", Comparison::above},
                                   {"<", Comparison::below}};

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

bool is_figure(std::string_view name) {
    if (name.empty() || name.front() == '.' || name.back() == '.') return false;
    return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") ==
           std::string_view::npos;
}

bool parse_bound(std::string_view text, double& bound) {
    double factor = 1;
    if (text.ends_with('%')) factor = 0.01;
    if (text.ends_with('%') || text.ends_with('x')) text.remove_suffix(1);
    text = trimmed(text);
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), bound);
    bound *= factor;
    return failure == std::errc{} && end == text.data() + text.size() && std::isfinite(bound);
}

}  // namespace

bool Requirement::holds(double value) const {
    switch (comparison) {
        case Comparison::at_least:
            return value >= bound;
        case Comparison::at_most:
            return value <= bound;
        case Comparison::above:
            return value > bound;
        case Comparison::below:
            return value < bound;
        case Comparison::equal:
            return value == bound;
    }
    return false;
}

Result<Requirement> parse_requirement(std::string_view text) {
    Requirement requirement;
    requirement.text = text;
    const std::size_t at = text.find_first_of("<>=");
    for (const Operator& known : kOperators) {
        if (at == std::string_view::npos || !text.substr(at).starts_with(known.text)) continue;
        requirement.figure = trimmed(text.substr(0, at));
        requirement.comparison = known.comparison;
        if (is_figure(requirement.figure) &&
            parse_bound(trimmed(text.substr(at + known.text.size())), requirement.bound)) {
            return requirement;
        }
        break;
    }
    return Error{ErrorCode::invalid_input,
                 fmt::format("\"{}\" is not a requirement; write it like \"speedup>=12\"", text)};
}

}  // namespace refit
