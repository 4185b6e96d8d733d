#include <fmt/format.h>

#include <ostream>

#include "viz/exports/tables.hpp"

namespace refit {

namespace {

using Json = nlohmann::ordered_json;

/// A cell: what would end it is escaped.
std::string cell(const std::string& text) {
    std::string escaped;
    for (const char c : text) {
        if (c == '|') escaped += '\\';
        escaped += c == '\n' ? ' ' : c;
    }
    return escaped;
}

std::string number(const Json& value) { return fmt::format("{:.6g}", value.get<double>()); }

std::string figure(const Json& value) {
    const std::string unit = value["unit"] == "1" ? "" : " " + value["unit"].get<std::string>();
    const std::string interval =
        value.contains("ci95")
            ? fmt::format(" ({} to {})", number(value["ci95"][0]), number(value["ci95"][1]))
            : "";
    return number(value["value"]) + unit + interval;
}

void write_headline(const Json& record, std::ostream& out) {
    out << "| figure | value | provenance |\n|---|---|---|\n";
    const auto row = [&](const char* name, const Json& value) {
        out << fmt::format("| {} | {} | {} |\n", name, figure(value),
                           value["provenance"].get<std::string>());
    };
    row("refit", record["refit"]["seconds"]);
    row("of it encode", record["refit"]["encode_seconds"]);
    row("of it wire", record["refit"]["wire_seconds"]);
    row("of it stage", record["refit"]["stage_seconds"]);
    row("of it pause", record["refit"]["pause_seconds"]);
    if (record["full"].contains("seconds")) {
        row("full transfer", record["full"]["seconds"]);
        row("achieved by it", record["full"]["bits_per_second"]);
        row("speed-up", record["speedup"]);
    }
    row("payload", record["codec"]["payload_bytes"]);
    row("bits per parameter", record["codec"]["bits_per_parameter"]);
    row("bound", record["codec"]["bound_bits_per_parameter"]);
    row("changed", record["changed"]);
    row("GPU idle", record["gpu_idle"]["fraction"]);
    out << fmt::format("| words checked | {} | {} differ |\n",
                       record["verify"]["words_checked"].dump(),
                       record["verify"]["mismatches"].dump());
}

void write_idle(const SavedRun& run, std::ostream& out) {
    out << "\n## GPU idle by cause\n\n| cause | seconds | share of replica time |\n|---|---|---|\n";
    const double all = to_seconds(run.idle.replica_time);
    for (const auto& [cause, time] : run.idle.idle) {
        if (time.count == 0) continue;
        out << fmt::format("| {} | {:.3f} | {:.4f} % |\n", cause_name(cause), to_seconds(time),
                           all > 0 ? 100 * to_seconds(time) / all : 0.0);
    }
    out << fmt::format("| busy | {:.3f} | {:.4f} % |\n", to_seconds(run.idle.busy),
                       all > 0 ? 100 * to_seconds(run.idle.busy) / all : 0.0);
}

void write_edges(const SavedRun& run, std::ostream& out) {
    out << "\n## Edges\n\n| version | from | to | chunks | repeated | sent bytes | kept bytes | "
           "first s | last s |\n|---|---|---|---|---|---|---|---|---|\n";
    for (const EdgeTraffic& edge : run.edges) {
        out << fmt::format("| {} | {} | {} | {} | {} | {} | {} | {:.3f} | {:.3f} |\n", edge.version,
                           cell(run.node_name(edge.parent)), cell(run.node_name(edge.child)),
                           edge.chunks, edge.repeated, edge.sent_bytes, edge.kept_bytes,
                           to_seconds(edge.first), to_seconds(edge.last));
    }
}

void write_refits(const Json& record, std::ostream& out) {
    out << "\n## Refits\n\n| version | payload bytes | seconds | encode | wire | stage | pause |\n"
           "|---|---|---|---|---|---|---|\n";
    for (const Json& refit : record["refits"]) {
        out << fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", refit["version"].dump(),
                           refit["payload_bytes"].dump(), number(refit["seconds"]),
                           number(refit["encode_seconds"]), number(refit["wire_seconds"]),
                           number(refit["stage_seconds"]), number(refit["pause_seconds"]));
    }
}

}  // namespace

void write_markdown(const SavedRun& run, std::ostream& out) {
    const Json& record = run.record;
    out << "# " << cell(run.recording.cast.title) << "\n\n";
    for (const std::string& missing : run.missing) out << "Not whole: " << missing << ".\n\n";
    if (record.is_object()) {
        write_headline(record, out);
        write_refits(record, out);
    }
    write_idle(run, out);
    write_edges(run, out);
    if (record.is_object() && !record["faults"].empty()) {
        out << "\n## Faults\n\n";
        for (const Json& fault : record["faults"])
            out << "- " << cell(fault.get<std::string>()) << "\n";
    }
}

}  // namespace refit
