#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "viz/rate_map_view.hpp"
#include "viz/report/html.hpp"
#include "viz/report/pictures.hpp"

namespace refit::report {

namespace {

constexpr double kHead = 108;    // names of kinds, slanted
constexpr double kMeans = 22;    // below the cells
constexpr double kNumbers = 13;  // the least height of a cell with its number inside

/// Where the cells are: layers from top to bottom, kinds from left to right.
struct Places {
    double width;
    double height;

    double x(std::size_t column) const { return kLeft + width * static_cast<double>(column); }
    double y(std::size_t row) const { return kHead + height * static_cast<double>(row); }
    std::string number_at(double x, double y, double share) const {
        return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>",
                           x + width / 2, y, share_text(share));
    }
};

void write_names(const TensorMap& map, const Places& places, std::ostream& out) {
    for (std::size_t column = 0; column < map.columns.size(); ++column)
        out << fmt::format("<text transform=\"translate({:.1f} {}) rotate(-38)\">{}</text>",
                           places.x(column) + places.width / 2, kHead - 8,
                           escaped(map.columns[column]));
    const auto every = static_cast<std::size_t>(std::ceil(12 / places.height));
    for (std::size_t row = 0; row < map.rows.size(); row += every)
        out << fmt::format(
            "<text class=\"soft\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", kLeft - 8,
            places.y(row) + places.height / 2 + 4, escaped(map.rows[row]));
}

/// Deeper than half they are too dark for the page's text, so half is the deepest.
void write_cells(const TensorMap& map,
                 const RateMap& rates,
                 const Places& places,
                 std::ostream& out) {
    out << "<g style=\"fill:var(--accent)\">";
    for (std::size_t i = 0; i < map.cells.size(); ++i) {
        if (!rates.cells[i]) continue;
        const MapCell& cell = map.cells[i];
        const double depth = rates.most > 0 ? 0.5 * *rates.cells[i] / rates.most : 0;
        out << fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
            "fill-opacity=\"{:.3f}\" data-tip=\"{} {}: {} %\"/>",
            places.x(cell.column), places.y(cell.row), places.width - 1, places.height - 1,
            0.03 + depth, escaped(map.rows[cell.row]), escaped(map.columns[cell.column]),
            share_text(*rates.cells[i]));
    }
    out << "</g>";
    if (places.height < kNumbers) return;
    for (std::size_t i = 0; i < map.cells.size(); ++i)
        if (rates.cells[i])
            out << places.number_at(places.x(map.cells[i].column),
                                    places.y(map.cells[i].row) + places.height / 2 + 4,
                                    *rates.cells[i]);
}

}  // namespace

void write_shares(const SavedRun& run, const TensorMap& map, std::ostream& out) {
    const RateMap rates = rate_map(run.record, map, 0);
    if (rates.measured == 0) return;
    const auto columns = static_cast<double>(map.columns.size());
    const auto rows = static_cast<double>(map.rows.size());
    const Places places{std::min(60.0, kPlot / columns), std::clamp(620 / rows, 7.0, 18.0)};
    const double bottom = places.y(map.rows.size());
    out << "<h2>Changed words by layer and kind</h2>\n<figure>"
        << fmt::format(
               "<svg viewBox=\"0 0 {} {:.0f}\" role=\"img\" aria-label=\"Changed words in "
               "percent by layer and kind\">",
               kWidth, bottom + kMeans);
    write_names(map, places, out);
    write_cells(map, rates, places, out);
    out << fmt::format(
        "<text class=\"soft\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">mean, %</text>", kLeft - 8,
        bottom + 15);
    for (std::size_t column = 0; column < map.columns.size(); ++column)
        if (rates.of_kind[column])
            out << places.number_at(places.x(column), bottom + 15, *rates.of_kind[column]);
    const bool whole = rates.measured == map.cells.size();
    out << "</svg>"
        << caption(fmt::format("Percent of words, {}; {} % at most.{}", rates.of,
                               share_text(rates.most), whole ? "" : " No cell: not in the sample."))
        << "</figure>\n";
}

}  // namespace refit::report
