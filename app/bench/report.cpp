#include "app/bench/report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/format.hpp"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kRow = "{:<13} {:>9} {:>8} {:>7} {:>7} {:>7} {:>8} {:>8} {:>5}";

std::string gigabytes(double rate) { return rate > 0 ? fmt::format("{:.2f}", rate / 1e9) : "-"; }

std::string quotient(double part, double whole) {
    if (part <= 0 || whole <= 0) return "-";
    const double value = part / whole;
    if (value >= 999'999) return fmt::format("{:.0e}x", value);
    return fmt::format("{:.{}f}x", value, value < 999 ? 2 : 0);
}

std::string table_row(const BenchRow& row) {
    const BytesPerSecondRates& rates = row.rates;
    const std::string exact = row.exact ? "yes" : "NO";
    if (row.kind != BenchRowKind::codec) {
        const bool compare = row.kind == BenchRowKind::compare;
        return fmt::format(kRow, compare ? "compare" : "copy", "", "", "",
                           gigabytes(compare ? rates.compare : rates.copy), "", "", "", exact);
    }
    return fmt::format(kRow, row.codec, fmt::format("{:.4f}", row.bits_per_parameter),
                       fmt::format("{:.4f}", row.bound_bits_per_parameter),
                       quotient(row.bits_per_parameter, row.bound_bits_per_parameter),
                       gigabytes(rates.encode), gigabytes(rates.decode),
                       quotient(rates.encode, rates.compare), quotient(rates.decode, rates.compare),
                       exact);
}

Json figure(double value) { return value > 0 ? Json(value) : Json(nullptr); }

Json to_json(const BenchRow& row, const BenchSample& sample, unsigned threads) {
    const bool is_codec = row.kind == BenchRowKind::codec;
    const double bound = row.bound_bits_per_parameter;
    const auto of_codec = [&](double value) { return is_codec ? Json(value) : Json(nullptr); };
    return {{"name", row.name},
            {"codec", is_codec ? Json(row.codec) : Json(nullptr)},
            {"profile", sample.profile},
            {"changed", row.changed},
            {"bits_per_parameter", of_codec(row.bits_per_parameter)},
            {"bound_bits_per_parameter", of_codec(bound)},
            {"ratio_to_bound", bound > 0 ? of_codec(row.bits_per_parameter / bound) : Json()},
            {"encode_bytes_per_second", figure(row.rates.encode)},
            {"decode_bytes_per_second", figure(row.rates.decode)},
            {"compare_bytes_per_second", figure(row.rates.compare)},
            {"copy_bytes_per_second", figure(row.rates.copy)},
            {"exact", row.exact},
            {"words", row.words},
            {"sampled_fraction", sample.sampled_fraction},
            {"threads", threads}};
}

}  // namespace

std::vector<std::string> bench_table(const std::vector<BenchSample>& samples,
                                     const std::vector<BenchRow>& rows,
                                     const BenchHost& host) {
    std::vector<std::string> lines;
    const auto add_header = [&](auto... columns) {
        const std::string line = fmt::format(kRow, columns...);
        lines.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
    };
    add_header("", "bits per", "", "of", "encode", "decode", "encode/", "decode/", "");
    add_header("codec", "parameter", "bound", "bound", "GB/s", "GB/s", "compare", "compare",
               "exact");
    const BenchSample* shown = nullptr;
    for (const BenchRow& row : rows) {
        const BenchSample& sample = samples[row.sample];
        if (&sample != shown) {
            lines.emplace_back();
            lines.push_back(fmt::format("{}: {:.3f} % of {} words changed", sample.name,
                                        row.changed * 100, format_count(row.words)));
            for (const std::string& line : sample.title) lines.push_back("  " + line);
            shown = &sample;
        }
        lines.push_back(table_row(row));
    }
    lines.emplace_back();
    for (const BenchRow& row : rows) {
        if (row.failure.empty()) continue;
        lines.push_back(row.name + " is not exact:");
        lines.push_back("  " + row.failure);
    }
    for (const char* line :
         {"bound    conditional entropy of the change, given the old exponents",
          "GB/s     BF16 bytes of one checkpoint per second of wall time, in memory; encode",
          "         with digests, decode with base and delta check; medians",
          "compare  memcmp of two equal versions; copy: memcpy of one version; both in turn",
          "         with every pass of a codec, on as many threads"})
        lines.emplace_back(line);
    lines.push_back(
        fmt::format("machine  {}; {}; the speeds are this machine's", host.cpu, host.device));
    return lines;
}

nlohmann::ordered_json host_json(const BenchHost& host) {
    return {{"cpu", host.cpu},
            {"device", host.device},
            {"version", REFIT_VERSION},
            {"wall_seconds", host.wall_seconds}};
}

nlohmann::ordered_json bench_document(const std::vector<BenchSample>& samples,
                                      const std::vector<BenchRow>& rows,
                                      const BenchHost& host) {
    Json listed = Json::array();
    for (const BenchRow& row : rows)
        listed.push_back(to_json(row, samples[row.sample], host.threads));
    return {{"schema", "refit.bench/1"}, {"rows", listed}, {"host", host_json(host)}};
}

}  // namespace refit
