#include "app/fraction.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

namespace refit {

std::string check_fraction(std::string& text) {
    double fraction = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, failure] = std::from_chars(text.data(), end, fraction);
    const bool percent = std::string_view(rest, static_cast<std::size_t>(end - rest)) == "%";
    if (percent) fraction /= 100;
    if (failure == std::errc{} && (percent || rest == end) && fraction > 0 && fraction <= 1) {
        text = fmt::format("{:.17g}", fraction);
        return {};
    }
    return "takes a fraction above 0 and at most 1 (0.05 or 5%), not '" + text + "'";
}

}  // namespace refit
