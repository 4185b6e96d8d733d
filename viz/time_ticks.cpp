#include "viz/time_ticks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "viz/report/html.hpp"

namespace refit {

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
    if (seconds < 120) return report::number(seconds) + " s";
    const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
    if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

/// Ticks of one piece; `free` is where the next label has room, and moves on.
void add_ticks(const TimeScale::Piece& piece, double& free, std::vector<TimeTick>& ticks) {
    const double seconds = to_seconds(piece.to - piece.from);
    const double pixels = double{piece.x1} - double{piece.x0};
    // Below ten seconds a run is short enough for tenths and hundredths.
    double step = tick_step(pixels / seconds);
    while (step <= 1 && step / 10 * pixels / seconds >= kTickPixels) step /= 10;
    const double from = to_seconds(piece.from);
    for (double at = std::ceil(from / step) * step; at <= from + seconds; at += step) {
        const double x = double{piece.x0} + (at - from) / seconds * pixels;
        ticks.push_back({x, x >= free ? tick_text(at) : ""});
        free = std::max(free, x + kLabelPixels);
    }
}

}  // namespace

TimeAxis time_ticks(const TimeScale& scale) {
    TimeAxis axis;
    double free = -kLabelPixels;
    double free_above = -kLabelPixels;
    for (const TimeScale::Piece& piece : scale.pieces()) {
        if (!piece.quiet) {
            add_ticks(piece, free, axis.ticks);
            continue;
        }
        const double x = double{piece.x0 + piece.x1} / 2;
        const bool room = x >= free_above;
        axis.quiet.push_back(
            {piece.x0, piece.x1, report::seconds_text(to_seconds(piece.to - piece.from)), room});
        if (room) free_above = x + 2 * kLabelPixels;
    }
    return axis;
}

}  // namespace refit
