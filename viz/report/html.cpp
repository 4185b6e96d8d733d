#include "viz/report/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "viz/time_ticks.hpp"

namespace refit::report {

std::string number(double value) {
    if (value == 0) return "0";
    const double size = std::abs(value);
    if (size >= 10'000) {
        std::string digits = fmt::format("{:.0f}", size);
        for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
        return (value < 0 ? "-" : "") + digits;
    }
    if (size >= 1000) return fmt::format("{:.0f}", value);
    if (size < 0.0001) return fmt::format("{:.3g}", value);
    const int decimals = 3 - static_cast<int>(std::floor(std::log10(size)));
    std::string text = fmt::format("{:.{}f}", value, std::clamp(decimals, 0, 7));
    if (text.find('.') == std::string::npos) return text;
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text;
}

std::string seconds_text(double seconds) {
    return seconds < 120 ? number(seconds) + " s" : number(seconds / 60) + " min";
}

std::string bytes_text(double bytes) {
    constexpr std::array<const char*, 5> kUnits = {"B", "kB", "MB", "GB", "TB"};
    std::size_t unit = 0;
    for (; bytes >= 1000 && unit + 1 < kUnits.size(); ++unit) bytes /= 1000;
    return number(bytes) + " " + kUnits[unit];
}

std::string quantity(double value, std::string_view unit) {
    if (unit == "s") return seconds_text(value);
    if (unit == "B") return bytes_text(value);
    if (unit == "bit/s") return number(value / 1e9) + " Gbit/s";
    return unit == "1" ? number(value) : number(value) + " " + std::string(unit);
}

std::string figure(const nlohmann::ordered_json& figure) {
    const std::string unit = figure["unit"];
    std::string hover = fmt::format("{}: {} {}", figure["provenance"].get<std::string>(),
                                    figure["value"].dump(), unit == "1" ? "" : unit);
    if (figure.contains("ci95"))
        hover += fmt::format(", 95 % between {} and {}", figure["ci95"][0].dump(),
                             figure["ci95"][1].dump());
    return fmt::format("<span title=\"{}\">{}</span>", escaped(hover),
                       quantity(figure["value"].get<double>(), unit));
}

namespace {

std::string grid_line(double x, double bottom, const std::string& label) {
    return fmt::format(
        "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2:.1f}\"/>"
        "<text class=\"soft\" x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>",
        x, kTop - 6, bottom, kTop - 10, label);
}

std::string quiet_band(const QuietNote& quiet, double bottom) {
    std::string band = fmt::format(
        "<rect class=\"quiet\" x=\"{0:.1f}\" y=\"{1}\" width=\"{2:.1f}\" height=\"{3:.1f}\">"
        "<title>nothing happens for {4}</title></rect>",
        kLeft + quiet.x0, kTop - 6, quiet.x1 - quiet.x0, bottom - kTop + 6, quiet.length);
    if (quiet.labelled)
        band += fmt::format(
            "<text class=\"soft\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{} "
            "of quiet</text>",
            kLeft + (quiet.x0 + quiet.x1) / 2, kTop - 28, quiet.length);
    return band;
}

}  // namespace

std::string time_axis(const TimeScale& scale, double bottom) {
    const TimeAxis marks = time_ticks(scale);
    std::string axis;
    for (const QuietNote& quiet : marks.quiet) axis += quiet_band(quiet, bottom);
    for (const TimeTick& tick : marks.ticks) axis += grid_line(kLeft + tick.x, bottom, tick.label);
    return axis + fmt::format(
                      "<line class=\"cursor\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" "
                      "y2=\"{2:.1f}\"/>",
                      kLeft + kPlot, kTop - 6, bottom);
}

std::string caption(std::string_view text) {
    return "<figcaption>" + std::string(text) + "</figcaption>";
}

}  // namespace refit::report
