// Pieces of the report: text made safe, numbers for people, and where everything stands.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "viz/markup.hpp"
#include "viz/time_scale.hpp"

namespace refit::report {

// Of every picture, in units of its viewBox. The player gets the same numbers.
inline constexpr double kWidth = 1160;
inline constexpr double kLeft = 220;  // labels of rows end here
inline constexpr double kPlot = 850;  // time goes from kLeft to kLeft + kPlot
inline constexpr double kTop = 42;    // the time axis is above
inline constexpr double kRow = 18;
inline constexpr double kNodeWidth = 168;

/// Four digits: "1,203", "12.34", "0.0123".
std::string number(double value);
/// With the unit a person would take: seconds, minutes, bytes, bits a second, shares in percent.
std::string quantity(double value, std::string_view unit);
/// "1.03 s": four digits, minutes from 120 s on.
std::string seconds_text(double seconds);
std::string bytes_text(double bytes);

/// `value`, and on hover where it comes from and its interval, of a figure of the record.
std::string figure(const nlohmann::ordered_json& figure);

/// The picture's time axis with its cursor: ticks at round times, grid lines down to `bottom`, and
/// bands where the quiet of the run is squeezed. The scale is kPlot wide.
std::string time_axis(const TimeScale& scale, double bottom);

/// A caption below a picture.
std::string caption(std::string_view text);

}  // namespace refit::report
