#include "app/bench/kernel_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/format.hpp"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kRow = "{:<13} {:>6} {:>6} {:>6} {:>10} {:>12} {:>8} {:>6} {:>5}";

std::string time_text(double seconds) { return fmt::format("{:.1f} us", seconds * 1e6); }

double bytes_per_word(const KernelRow& row) {
    return row.floor_bytes / static_cast<double>(row.counts.words);
}

/// Where it has a ceiling: as long as the copy would take for as many bytes.
std::optional<double> floor_seconds(const KernelRow& row) {
    if (!row.ceiling_bytes_per_second.has_value()) return std::nullopt;
    return row.floor_bytes / *row.ceiling_bytes_per_second;
}

std::string size_line(const KernelRow& row) {
    const KernelCounts& counts = row.counts;
    return fmt::format(
        "  {} words in {} {}, {:.2f} % changed", format_count(counts.words), counts.tiles,
        row.mixed ? "tiles of every kind" : "tiles",
        100 * static_cast<double>(counts.changed) / static_cast<double>(counts.words));
}

std::string row_line(const KernelTable& table, const KernelRow& row) {
    const OperationSass sass = operation_sass(*row.floor, kSassShown);
    const bool compiled = table.backend == "cuda" && sass.instructions > 0;
    const auto floor = floor_seconds(row);
    const char* const unmeasured = table.backend == "simt" || row.mixed ? "-" : "not measured";
    return fmt::format(kRow, row.floor->name, fmt::format("{:.3f}", bytes_per_word(row)),
                       compiled ? std::to_string(sass.instructions) : "-",
                       compiled && sass.per_word > 0 ? fmt::format("{:.1f}", sass.per_word) : "-",
                       floor ? time_text(*floor) : "-",
                       row.seconds ? time_text(*row.seconds) : unmeasured,
                       row.seconds ? fmt::format("{:.2f}", *row.bytes_per_second() / 1e9) : "-",
                       row.seconds ? fmt::format("{:.2f}", *row.share_of_ceiling()) : "-",
                       row.ran ? std::to_string(row.wrong) : "-");
}

void add_table(const KernelTable& table, std::vector<std::string>& lines) {
    lines.emplace_back();
    lines.push_back(table.backend + ": " + table.detail);
    if (!table.absence.empty())
        lines.push_back("  not measured: " + table.absence + "; floors alone");
    if (table.backend == "simt") lines.emplace_back("  bits are proved here; no speed");
    const KernelCounts* shown = nullptr;
    for (const KernelRow& row : table.rows) {
        if (shown == nullptr || shown->words != row.counts.words) lines.push_back(size_line(row));
        shown = &row.counts;
        lines.push_back(row_line(table, row));
    }
}

template <class Value>
Json or_null(const std::optional<Value>& value) {
    return value.has_value() ? Json(*value) : Json(nullptr);
}

const char* state_of(const KernelRow& row) {
    return row.seconds ? "measured" : row.ran ? "proved" : "not measured";
}

Json sass_json(const KernelFloor& floor) {
    if (floor.kernels.front().empty()) return nullptr;
    Json all = Json::array();
    for (const SassCount& count : sass_counts()) {
        if (std::ranges::find(floor.kernels, count.kernel) == floor.kernels.end()) continue;
        all.push_back({{"kernel", count.kernel},
                       {"architecture", fmt::format("sm_{}", count.architecture)},
                       {"instructions", count.instructions},
                       {"registers", count.registers},
                       {"vector_loads", count.vector_loads},
                       {"loop_per_word",
                        count.loop_per_word > 0 ? Json(count.loop_per_word) : Json(nullptr)}});
    }
    return all;
}

Json to_json(const KernelTable& table, const KernelRow& row) {
    const KernelCounts& counts = row.counts;
    return {{"operation", row.floor->name},
            {"backend", table.backend},
            {"device", table.detail},
            {"state", state_of(row)},
            {"words", counts.words},
            {"tiles", counts.tiles},
            {"mixed", row.mixed},
            {"changed", static_cast<double>(counts.changed) / static_cast<double>(counts.words)},
            {"floor_bytes", row.floor_bytes},
            {"floor_seconds", or_null(floor_seconds(row))},
            {"seconds", or_null(row.seconds)},
            {"bytes_per_second", or_null(row.bytes_per_second())},
            {"ceiling_bytes_per_second", or_null(row.ceiling_bytes_per_second)},
            {"share_of_ceiling", or_null(row.share_of_ceiling())},
            {"words_per_second",
             row.seconds ? Json(static_cast<double>(counts.words) / *row.seconds) : Json(nullptr)},
            {"checked_words", row.checked_words},
            {"wrong", row.ran ? Json(row.wrong) : Json(nullptr)}};
}

}  // namespace

std::vector<std::string> kernel_lines(const std::vector<KernelTable>& tables,
                                      const BenchHost& host) {
    std::vector<std::string> lines;
    lines.push_back(fmt::format(kRow, "", "floor", "SASS", "a", "floor", "", "", "of", ""));
    lines.push_back(fmt::format(kRow, "operation", "B/word", "", "word", "at copy", "measured",
                                "GB/s", "copy", "wrong"));
    for (const KernelTable& table : tables) add_table(table, lines);
    lines.emplace_back();
    for (const KernelFloor& floor : kernel_floors())
        lines.push_back(fmt::format("{:<14} {}", floor.name, floor.formula));
    lines.emplace_back();
    for (const char* line :
         {"floor     bytes that must move, and the seconds the device's own copy of this size",
          "          takes for as many; GB/s: these bytes over the measured seconds",
          "measured  median of runs that rotate through 4 batches; launches included; cpu:",
          "          CPU seconds of one thread; not measured: by nobody, no GPU is here"})
        lines.emplace_back(line);
    lines.push_back(
        fmt::format("SASS      instructions of all launches for sm_{}; a word: the "
                    "fewest through",
                    kSassShown));
    lines.push_back(fmt::format("          the loops over 16-byte loads ({})", sass_compiler()));
    lines.emplace_back("wrong     of all results, in words or numbers, against the CPU backend");
    lines.push_back(fmt::format("machine   {}; the speeds are this machine's", host.cpu));
    return lines;
}

nlohmann::ordered_json kernel_document(const std::vector<KernelTable>& tables,
                                       const BenchHost& host) {
    Json floors = Json::array();
    for (const KernelFloor& floor : kernel_floors())
        floors.push_back(
            {{"operation", floor.name}, {"formula", floor.formula}, {"sass", sass_json(floor)}});
    Json absent = Json::array();
    Json rows = Json::array();
    for (const KernelTable& table : tables) {
        if (!table.absence.empty())
            absent.push_back(
                {{"backend", table.backend}, {"device", table.detail}, {"reason", table.absence}});
        for (const KernelRow& row : table.rows) rows.push_back(to_json(table, row));
    }
    return {
        {"schema", "refit.bench/1"},
        {"rows", Json::array()},
        {"kernels",
         {{"compiler", sass_compiler()}, {"floors", floors}, {"absent", absent}, {"rows", rows}}},
        {"host", host_json(host)}};
}

}  // namespace refit
