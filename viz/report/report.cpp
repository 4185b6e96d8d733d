#include "viz/report/report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <ostream>

#include "viz/report/assets.hpp"
#include "viz/report/html.hpp"
#include "viz/report/pictures.hpp"
#include "viz/report/player_data.hpp"
#include "viz/report/tables.hpp"

namespace refit {

namespace {

using namespace report;  // NOLINT(google-build-using-namespace): this file is its composition

constexpr const char* kPlayer =
    "<div class=\"player\"><button id=\"play\">Play</button><label class=\"soft\">speed <select "
    "id=\"speed\"><option value=\"0.25\">1/4</option><option value=\"0.5\">1/2</option><option "
    "value=\"1\" selected>1</option><option value=\"2\">2</option><option value=\"4\">4</option>"
    "</select></label><input id=\"scrub\" type=\"range\" min=\"0\" max=\"10000\" value=\"10000\" "
    "aria-label=\"time\"><output id=\"clock\"></output><span id=\"phase\"></span></div>\n"
    "<div id=\"tip\" role=\"status\"></div>\n";

std::string subtitle(const SavedRun& run) {
    const auto& record = run.record;
    if (!record.is_object()) return "";
    return fmt::format(
        "{}, {} parameters{}. Codec {}. {}. Declared: {}. Seed {}.",
        escaped(record["model"]["name"].get<std::string>()),
        number(record["model"]["parameters"].get<double>()),
        record["model"]["stands_for_parameters"] == record["model"]["parameters"]
            ? ""
            : ", standing for " + number(record["model"]["stands_for_parameters"].get<double>()),
        escaped(record["codec"]["name"].get<std::string>()),
        escaped(record["backend_reason"].get<std::string>()),
        escaped(record["declared_rates"].get<std::string>()), record["seed"].dump());
}

/// In a script element nothing may look like its end.
std::string embedded(const nlohmann::ordered_json& data) {
    std::string text = data.dump();
    for (std::size_t at = 0; (at = text.find("</", at)) != std::string::npos; at += 3)
        text.insert(at + 1, "\\");
    return text;
}

void write_head(const SavedRun& run, std::ostream& out) {
    const std::string title = escaped(run.recording.cast.title);
    out << "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
           "name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>"
        << title << "</title><style>\n"
        << kReportStyle << "</style></head><body>\n";
    write_patterns(out);
    out << "<main><h1>" << title << "</h1><p class=\"soft\">" << subtitle(run) << "</p>\n";
    for (const std::string& missing : run.missing)
        out << "<p class=\"missing\">Not whole: " << escaped(missing) << ".</p>\n";
}

}  // namespace

std::vector<PublishedRow> comparable(const std::vector<PublishedRow>& rows,
                                     const nlohmann::ordered_json& record) {
    std::vector<PublishedRow> alike;
    if (!record.is_object()) return alike;
    const double words = record["model"]["stands_for_parameters"];
    for (const PublishedRow& row : rows) {
        if (!row.seconds || !row.parameters) continue;
        const double theirs = (row.parameters->low + row.parameters->high) / 2;
        if (std::abs(theirs - words) <= 0.1 * words) alike.push_back(row);
    }
    return alike;
}

void write_html(const SavedRun& run,
                const std::vector<PublishedRow>& published,
                std::ostream& out) {
    const TreeView places = lay_out(run.recording.cast.tree);
    const std::vector<LaneRow> rows = lane_rows(run);
    const TimeScale scale = TimeScale::squeezed(run.recording.timeline, static_cast<float>(kPlot));
    const TensorMap map = map_tensors(run.recording.cast);
    write_head(run, out);
    if (run.record.is_object()) write_cards(run.record, out);
    out << kPlayer << "<h2>Relay tree</h2>\n";
    write_tree(run, places, out);
    out << "<h2>Who did what</h2>\n";
    write_lanes(run, rows, scale, out);
    out << "<h2>Links</h2>\n";
    write_rates(run, scale, out);
    out << "<h2>Bit-exact map</h2>\n";
    write_map(run, map, out);
    write_shares(run, map, out);
    if (run.record.is_object()) {
        out << "<h2>Full transfer against refit</h2>\n";
        write_scale(run, published, out);
    }
    write_tables(run, out);
    out << "<p class=\"soft\">Measured: real bits or a real clock. Simulated: virtual time over "
           "declared rates that somebody measured. Extrapolated: over a declared rate nobody "
           "measured, or bytes nobody produced. Keys: space plays, comma and full stop step, Home "
           "and End jump.</p>\n<script type=\"application/json\" id=\"run\">"
        << embedded(player_data(run, {places, rows, map, scale})) << "</script>\n<script>\n"
        << kReportPlayer << "</script>\n</main></body></html>\n";
}

}  // namespace refit
