#include "viz/report/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

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

constexpr double kTickPixels = 74;
constexpr double kLabelPixels = 52;

/// The least step a person would take whose ticks stand so far apart.
double tick_step(double pixels_per_second) {
    for (const double step : {1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0,
                              1800.0, 3600.0, 7200.0, 18000.0, 36000.0, 86400.0})
        if (step * pixels_per_second >= kTickPixels) return step;
    return std::pow(10, std::ceil(std::log10(kTickPixels / pixels_per_second)));
}

/// "40 s", "5:20", "1:02:00": short, and exact at a tick.
std::string tick_text(double seconds) {
    if (seconds < 120) return number(seconds) + " s";
    const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
    if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string grid_line(double x, double bottom, const std::string& label) {
    return fmt::format(
        "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2:.1f}\"/>"
        "<text class=\"soft\" x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>",
        x, kTop - 6, bottom, kTop - 10, label);
}

/// Ticks of one piece; `free` is where the next label has room, and moves on.
std::string ticks(const TimeScale::Piece& piece, double bottom, double& free) {
    const double seconds = to_seconds(piece.to - piece.from);
    const double pixels = double{piece.x1} - double{piece.x0};
    // Below ten seconds a run is short enough for tenths and hundredths.
    double step = tick_step(pixels / seconds);
    while (step <= 1 && step / 10 * pixels / seconds >= kTickPixels) step /= 10;
    const double from = to_seconds(piece.from);
    std::string lines;
    for (double at = std::ceil(from / step) * step; at <= from + seconds; at += step) {
        const double x = kLeft + double{piece.x0} + (at - from) / seconds * pixels;
        lines += grid_line(x, bottom, x >= free ? tick_text(at) : "");
        free = std::max(free, x + kLabelPixels);
    }
    return lines;
}

std::string quiet_band(const TimeScale::Piece& piece, double bottom) {
    const std::string length = seconds_text(to_seconds(piece.to - piece.from));
    return fmt::format(
        "<rect class=\"quiet\" x=\"{0:.1f}\" y=\"{1}\" width=\"{2:.1f}\" height=\"{3:.1f}\">"
        "<title>nothing happens for {4}</title></rect>",
        kLeft + double{piece.x0}, kTop - 6, double{piece.x1 - piece.x0}, bottom - kTop + 6, length);
}

}  // namespace

std::string time_axis(const TimeScale& scale, double bottom) {
    std::string axis;
    double free = 0;
    double free_above = 0;
    for (const TimeScale::Piece& piece : scale.pieces()) {
        if (!piece.quiet) {
            axis += ticks(piece, bottom, free);
            continue;
        }
        axis += quiet_band(piece, bottom);
        const double x = kLeft + double{piece.x0 + piece.x1} / 2;
        if (x < free_above) continue;
        axis += fmt::format(
            "<text class=\"soft\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{} "
            "of quiet</text>",
            x, kTop - 28, seconds_text(to_seconds(piece.to - piece.from)));
        free_above = x + 2 * kLabelPixels;
    }
    return axis + fmt::format(
                      "<line class=\"cursor\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" "
                      "y2=\"{2:.1f}\"/>",
                      kLeft + kPlot, kTop - 6, bottom);
}

std::string caption(std::string_view text) {
    return "<figcaption>" + std::string(text) + "</figcaption>";
}

}  // namespace refit::report
