// The colours of every view, by name: those of the report's style sheet (viz/report/style.css), so
// that a page and a picture of one run look alike. Light is its first block, dark its second.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace refit {

enum class Shade : std::uint8_t { light, dark };

class Palette {
public:
    using Rgb = std::array<std::uint8_t, 3>;

    explicit Palette(Shade shade);

    Shade shade() const { return shade_; }
    /// A name that the style sheet has: "busy", "payload", "text".
    Rgb operator[](std::string_view name) const;

private:
    Shade shade_;
    std::map<std::string, Rgb, std::less<>> colors_;
};

}  // namespace refit
