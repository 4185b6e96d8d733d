// An SVG picture, written element by element: numbers with one decimal, text escaped, and nothing
// that lies outside the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace refit {

struct SvgPoint {
    double x = 0;
    double y = 0;
};

struct SvgText {
    const char* fill = "#000";
    int size = 13;
    const char* anchor = "start";  // start, middle, end
    bool bold = false;
};

struct SvgStroke {
    const char* color = "#000";
    double width = 1;
    const char* dashes = "none";
};

enum class SvgShape : std::uint8_t { circle, diamond, square, triangle, right, left };

struct SvgMark {
    SvgShape shape = SvgShape::circle;
    const char* color = "#000";
    bool hollow = false;
};

class Svg {
public:
    /// `title` and `description` are for those who cannot see the picture.
    Svg(double width, double height, std::string_view title, std::string_view description);

    void text(SvgPoint at, std::string_view words, const SvgText& style);
    void rectangle(SvgPoint at, double width, double height, const char* fill);
    void line(SvgPoint from, SvgPoint to, const SvgStroke& stroke);
    /// `says` appears under the pointer.
    void mark(SvgPoint at, const SvgMark& mark, std::string_view says);

    std::string finish() &&;

private:
    std::string text_;
};

}  // namespace refit
