#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

#include "viz/report/html.hpp"
#include "viz/report/pictures.hpp"

namespace refit::report {

namespace {

constexpr double kHead = 108;  // names of kinds, slanted

std::string legend() {
    constexpr std::array<std::pair<const char*, const char*>, 5> kStates = {
        {{"cell", "pending"},
         {"cell e", "encoded"},
         {"cell s", "staged by all"},
         {"cell v", "verified by all"},
         {"cell w", "mismatch"}}};
    std::string text = "<div class=\"legend\">";
    for (const auto& [css, name] : kStates)
        text += fmt::format(
            "<span><svg viewBox=\"0 0 22 12\"><rect class=\"{}\" width=\"22\" "
            "height=\"12\"/></svg> {}</span>",
            css, name);
    return text + "</div>";
}

}  // namespace

void write_map(const SavedRun& run, const TensorMap& map, std::ostream& out) {
    const double columns = static_cast<double>(std::max<std::size_t>(1, map.columns.size()));
    const double rows = static_cast<double>(std::max<std::size_t>(1, map.rows.size()));
    const double width = std::min(60.0, kPlot / columns);
    const double height = std::clamp(620 / rows, 7.0, 18.0);
    const bool mismatch = run.record.is_object() && run.record["verify"]["mismatches"] != 0;
    out << fmt::format(
        "<figure><svg id=\"map\" viewBox=\"0 0 {} {:.0f}\" role=\"img\" "
        "aria-label=\"Tensors by layer and kind\">",
        kWidth, kHead + height * rows + 6);
    for (std::size_t column = 0; column < map.columns.size(); ++column) {
        const double x = kLeft + width * (static_cast<double>(column) + 0.5);
        out << fmt::format("<text transform=\"translate({:.1f} {}) rotate(-38)\">{}</text>", x,
                           kHead - 8, escaped(map.columns[column]));
    }
    const auto every = static_cast<std::size_t>(std::ceil(12 / height));
    for (std::size_t row = 0; row < map.rows.size(); ++row) {
        if (row % every != 0) continue;
        out << fmt::format(
            "<text class=\"soft\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}"
            "</text>",
            kLeft - 8, kHead + height * (static_cast<double>(row) + 0.5) + 4,
            escaped(map.rows[row]));
    }
    for (std::size_t i = 0; i < map.cells.size(); ++i) {
        const MapCell& cell = map.cells[i];
        out << fmt::format(
            "<rect class=\"cell {}\" id=\"c{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
            "height=\"{:.1f}\" data-tip=\"{} {}: {} tensor{}, {} words\"/>",
            mismatch ? "w" : "v", i, kLeft + width * static_cast<double>(cell.column),
            kHead + height * static_cast<double>(cell.row), width - 1, height - 1,
            escaped(map.rows[cell.row]), escaped(map.columns[cell.column]), cell.tensors,
            cell.tensors == 1 ? "" : "s", number(static_cast<double>(cell.words)));
    }
    out << "</svg>" << legend()
        << caption(
               "Every cell is all tensors of one kind in one layer. Verified: the resident "
               "check of every replica read the overwritten words back.")
        << "</figure>\n";
}

}  // namespace refit::report
