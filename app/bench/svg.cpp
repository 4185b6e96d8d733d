#include "app/bench/svg.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "viz/markup.hpp"

namespace refit {
namespace {

/// Around a mark's middle, by SvgShape; all of about one area.
constexpr const char* kShapes[] = {
    "m-4.6 0a4.6 4.6 0 1 0 9.2 0a4.6 4.6 0 1 0 -9.2 0z",
    "m0 -6l6 6l-6 6l-6 -6z",
    "m-4.3 -4.3h8.6v8.6h-8.6z",
    "m0 -5.6l5.8 9.8h-11.6z",
    "m-4 -5l9 5l-9 5z",
    "m4 -5l-9 5l9 5z",
};

}  // namespace

Svg::Svg(double width, double height, std::string_view title, std::string_view description) {
    text_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" font-family=\"system-ui, sans-serif\">\n"
        "<title>{2}</title>\n<desc>{3}</desc>\n",
        width, height, escaped(title), escaped(description));
}

void Svg::text(SvgPoint at, std::string_view words, const SvgText& style) {
    fmt::format_to(std::back_inserter(text_),
                   "<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"{}\" font-size=\"{}\" "
                   "text-anchor=\"{}\"{}>{}</text>\n",
                   at.x, at.y, style.fill, style.size, style.anchor,
                   style.bold ? " font-weight=\"700\"" : "", escaped(words));
}

void Svg::rectangle(SvgPoint at, double width, double height, const char* fill) {
    fmt::format_to(
        std::back_inserter(text_),
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n", at.x,
        at.y, width, height, fill);
}

void Svg::line(SvgPoint from, SvgPoint to, const SvgStroke& stroke) {
    fmt::format_to(std::back_inserter(text_),
                   "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
                   "stroke-width=\"{:.1f}\" stroke-dasharray=\"{}\"/>\n",
                   from.x, from.y, to.x, to.y, stroke.color, stroke.width, stroke.dashes);
}

void Svg::mark(SvgPoint at, const SvgMark& mark, std::string_view says) {
    fmt::format_to(std::back_inserter(text_),
                   "<path d=\"M{:.1f} {:.1f}{}\" fill=\"{}\" stroke=\"{}\" "
                   "stroke-width=\"{}\"><title>{}</title></path>\n",
                   at.x, at.y, kShapes[static_cast<std::size_t>(mark.shape)],
                   mark.hollow ? "#ffffff" : mark.color, mark.hollow ? mark.color : "#ffffff",
                   mark.hollow ? "1.3" : "0.8", escaped(says));
}

std::string Svg::finish() && {
    text_ += "</svg>\n";
    return std::move(text_);
}

}  // namespace refit
