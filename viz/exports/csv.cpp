#include <fmt/format.h>

#include <ostream>

#include "viz/exports/tables.hpp"
#include "viz/record_values.hpp"

namespace refit {

namespace {

using Json = nlohmann::ordered_json;

/// A field that holds a separator, a quote or a line break is quoted (RFC 4180).
std::string field(const std::string& text) {
    if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + "\"";
}

std::string as_text(const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
}

void write_row(const std::string& key, const Json& value, std::ostream& out) {
    const auto interval = [&](std::size_t end) {
        return value.contains("ci95") ? value["ci95"][end].dump() : std::string();
    };
    if (is_figure(value)) {
        out << fmt::format("{},{},{},{},{},{}\n", field(key), value["value"].dump(),
                           as_text(value["unit"]), as_text(value["provenance"]), interval(0),
                           interval(1));
    } else {
        out << fmt::format("{},{},,,,\n", field(key), field(as_text(value)));
    }
}

}  // namespace

void write_csv(const SavedRun& run, std::ostream& out) {
    out << "figure,value,unit,provenance,ci95_low,ci95_high\n";
    if (run.record.is_null()) return;
    each_value(run.record,
               [&](const std::string& key, const Json& value) { write_row(key, value, out); });
}

}  // namespace refit
