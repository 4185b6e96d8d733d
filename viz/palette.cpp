#include "viz/palette.hpp"

#include <charconv>

#include "engine/base/assert.hpp"
#include "viz/report/assets.hpp"

namespace refit {

namespace {

std::uint8_t hex_byte(std::string_view digits) {
    std::uint8_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    return value;
}

}  // namespace

Palette::Palette(Shade shade) : shade_(shade) {
    const std::string_view style(report::kReportStyle);
    std::size_t begin = style.find(":root {");
    if (shade == Shade::dark) begin = style.find(":root {", begin + 1);
    const std::string_view block = style.substr(begin, style.find('}', begin) - begin);
    for (std::size_t at = 0; (at = block.find("--", at)) != std::string_view::npos; ++at) {
        const std::size_t colon = block.find(": #", at);
        const std::string_view name = block.substr(at + 2, colon - at - 2);
        const std::string_view digits = block.substr(colon + 3, 6);
        colors_.emplace(name, Rgb{hex_byte(digits.substr(0, 2)), hex_byte(digits.substr(2, 2)),
                                  hex_byte(digits.substr(4, 2))});
    }
}

Palette::Rgb Palette::operator[](std::string_view name) const {
    const auto found = colors_.find(name);
    REFIT_ASSERT(found != colors_.end());
    return found->second;
}

}  // namespace refit
