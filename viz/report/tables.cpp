#include "viz/report/tables.hpp"

#include <fmt/format.h>

#include <ostream>

#include "viz/report/html.hpp"

namespace refit::report {

namespace {

using Json = nlohmann::ordered_json;

/// Rows of cells that are HTML already; numbers stand to the right.
class Table {
public:
    Table(std::ostream& out, const std::vector<std::string>& head) : out_(out) {
        out_ << "<div class=\"table\"><table><thead><tr>";
        for (const std::string& name : head) out_ << "<th>" << name << "</th>";
        out_ << "</tr></thead><tbody>\n";
    }
    ~Table() { out_ << "</tbody></table></div>\n"; }
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;

    void row(const std::vector<std::string>& cells) {
        out_ << "<tr>";
        for (const std::string& cell : cells) {
            const bool figure = !cell.empty() && (cell[0] >= '0' && cell[0] <= '9');
            out_ << (figure ? "<td class=\"n\">" : "<td>") << cell << "</td>";
        }
        out_ << "</tr>\n";
    }

private:
    std::ostream& out_;
};

void card(std::ostream& out, const char* name, const std::string& value, const std::string& more) {
    out << fmt::format("<div class=\"card\"><small>{}</small><b>{}</b><small>{}</small></div>\n",
                       name, value, more);
}

std::string provenance(const Json& figure) { return figure["provenance"].get<std::string>(); }

std::string percent(const Json& figure) {
    return fmt::format("<span title=\"{}: {}\">{} %</span>", provenance(figure),
                       figure["value"].dump(), number(100 * figure["value"].get<double>()));
}

void write_refits(const Json& record, std::ostream& out) {
    out << "<h2>Refits</h2>\n";
    Table table(out, {"version", "payload", "changed words", "seconds", "encode", "wire", "stage",
                      "pause", "longest pause"});
    for (const Json& refit : record["refits"]) {
        const auto seconds = [&](const char* key) {
            return seconds_text(refit[key].get<double>());
        };
        table.row({refit["version"].dump(), bytes_text(refit["payload_bytes"].get<double>()),
                   number(refit["changed_words"].get<double>()), seconds("seconds"),
                   seconds("encode_seconds"), seconds("wire_seconds"), seconds("stage_seconds"),
                   seconds("pause_seconds"), seconds("longest_pause_seconds")});
    }
}

void write_idle(const SavedRun& run, std::ostream& out) {
    out << "<h2>Where the GPUs of the replicas waited</h2>\n";
    Table table(out, {"cause", "replica seconds", "share of replica time"});
    const double all = std::max(1e-9, to_seconds(run.idle.replica_time));
    const auto row = [&](const std::string& name, Nanoseconds time) {
        table.row({name, number(to_seconds(time)),
                   fmt::format("{} %", number(100 * to_seconds(time) / all))});
    };
    for (const auto& [cause, time] : run.idle.idle) {
        if (time.count == 0) continue;
        std::string name(cause_name(cause));
        for (char& c : name)
            if (c == '_') c = ' ';
        row("idle: " + name, time);
    }
    row("busy", run.idle.busy);
    row("of that stolen by staging, at most", run.stolen);
}

void write_kinds(const Json& record, std::ostream& out) {
    if (record["refits"].empty() || !record["refits"][0].contains("changed_by_kind")) return;
    out << "<h2>Changed words by kind of tensor, first refit</h2>\n";
    Table table(out, {"kind", "changed"});
    for (const auto& [kind, share] : record["refits"][0]["changed_by_kind"].items())
        table.row({escaped(kind), number(100 * share.get<double>()) + " %"});
}

void write_edges(const SavedRun& run, std::ostream& out) {
    out << "<details><summary>Edges of the tree, by refit</summary>\n";
    {
        Table table(out, {"version", "from", "to", "chunks", "repeated", "sent", "kept",
                          "first chunk", "last chunk"});
        for (const EdgeTraffic& edge : run.edges) {
            table.row({std::to_string(edge.version), escaped(run.node_name(edge.parent)),
                       escaped(run.node_name(edge.child)), number(edge.chunks),
                       number(edge.repeated), bytes_text(static_cast<double>(edge.sent_bytes)),
                       bytes_text(static_cast<double>(edge.kept_bytes)),
                       seconds_text(to_seconds(edge.first)), seconds_text(to_seconds(edge.last))});
        }
    }
    out << "</details>\n";
}

void write_maps(const Json& record, std::ostream& out) {
    out << "<details><summary>Layouts, each proved to hold every word</summary>\n";
    {
        Table table(out, {"who", "layout", "ranks", "boxes", "words held", "copies at most"});
        for (const Json& map : record["maps"])
            table.row({escaped(map["name"].get<std::string>()),
                       escaped(map["layout"].get<std::string>()), map["ranks"].dump(),
                       number(map["boxes"].get<double>()), number(map["held_words"].get<double>()),
                       map["copies_max"].dump()});
    }
    out << "</details>\n";
}

void write_faults(const Json& record, std::ostream& out) {
    if (record["faults"].empty()) return;
    out << "<h2>What broke</h2><ul>\n";
    for (const Json& fault : record["faults"])
        out << "<li>" << escaped(fault.get<std::string>()) << "</li>\n";
    out << "</ul>\n";
}

}  // namespace

void write_cards(const Json& record, std::ostream& out) {
    const Json& refit = record["refit"];
    out << "<div class=\"cards\">\n";
    card(out, "final weights to last member serving", figure(refit["seconds"]),
         provenance(refit["seconds"]));
    if (record["full"].contains("seconds")) {
        card(out, ("full transfer, " + escaped(record["full"]["codec"].get<std::string>())).c_str(),
             figure(record["full"]["seconds"]),
             "achieved " + figure(record["full"]["bits_per_second"]));
        card(out, "speed-up over it", figure(record["speedup"]) + "x",
             provenance(record["speedup"]));
    }
    card(out, "payload of a refit", figure(record["codec"]["payload_bytes"]),
         fmt::format("{}, bound {}", figure(record["codec"]["bits_per_parameter"]),
                     figure(record["codec"]["bound_bits_per_parameter"])));
    card(out, "words changed", percent(record["changed"]), provenance(record["changed"]));
    const Json& verify = record["verify"];
    card(out, verify["exact"].get<bool>() ? "bit-exact" : "NOT exact",
         number(verify["mismatches"].get<double>()) + " differ",
         "of " + number(verify["words_checked"].get<double>()) + " words checked");
    card(out, "replica GPUs idle", percent(record["gpu_idle"]["fraction"]),
         provenance(record["gpu_idle"]["fraction"]));
    card(out, "longest pause", figure(refit["longest_pause_seconds"]),
         provenance(refit["longest_pause_seconds"]));
    out << "</div>\n";
}

void write_tables(const SavedRun& run, std::ostream& out) {
    const Json& record = run.record;
    if (record.is_object()) {
        write_faults(record, out);
        write_refits(record, out);
    }
    write_idle(run, out);
    if (record.is_object()) write_kinds(record, out);
    write_edges(run, out);
    if (record.is_object()) write_maps(record, out);
}

}  // namespace refit::report
