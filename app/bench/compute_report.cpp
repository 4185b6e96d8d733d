#include "app/bench/compute_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/format.hpp"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kProduct = "{:<32} {:>22} {:>8} {:>8} {:>6}";
constexpr std::string_view kStolen = "{:<16} {:<7} {:>7} {:>7} {:>7} {:>7}  {}";

std::string giga(double rate) { return fmt::format("{:.1f}", rate / 1e9); }

std::string size_text(const GemmSize& size) {
    return fmt::format("{} x {} x {}", size.m, size.n, size.k);
}

void add_products(const ComputeRows& products, std::vector<std::string>& lines) {
    std::string section;
    for (const ComputeRow& row : products.rows) {
        const std::string title = row.gemm + ": " + row.pass;
        if (title != section) {
            lines.emplace_back();
            lines.push_back(title);
            section = title;
        }
        lines.push_back(fmt::format(kProduct, row.name, size_text(row.size),
                                    giga(row.flop_per_second),
                                    fmt::format("{:.2f}", row.share_of_peak), row.check.wrong));
    }
}

void add_stolen(const HostCompute& compute, std::vector<std::string>& lines) {
    const std::pair<const char*, const HostStolen*> works[] = {{"stage", &compute.stage},
                                                               {"encode", &compute.encode}};
    for (const auto& [work, stolen] : works) {
        lines.push_back(
            fmt::format(kStolen, compute.gemm, work, giga(compute.flop_per_second),
                        giga(stolen->flop_per_second_beside),
                        fmt::format("{:.2f}", stolen->codec_bytes_per_second / 1e9),
                        fmt::format("{:.2f}", stolen->codec_bytes_per_second_beside / 1e9),
                        stolen_text(*stolen)));
    }
}

Json to_json(const ComputeRow& row) {
    return {{"name", row.name},
            {"pass", row.pass},
            {"gemm", row.gemm},
            {"m", row.size.m},
            {"n", row.size.n},
            {"k", row.size.k},
            {"count", row.count},
            {"flop_per_second", row.flop_per_second},
            {"share_of_peak", row.share_of_peak},
            {"checked", row.check.checked},
            {"wrong", row.check.wrong}};
}

Json to_json(const ComputeBench& bench,
             const HostCompute& compute,
             const char* work,
             const HostStolen& stolen) {
    return {{"gemm", compute.gemm},
            {"work", work},
            {"codec", bench.codec},
            {"unit_words", compute.unit_words},
            {"rounds", compute.rounds},
            {"flop_per_second", compute.flop_per_second},
            {"flop_per_second_beside", stolen.flop_per_second_beside},
            {"codec_bytes_per_second", stolen.codec_bytes_per_second},
            {"codec_bytes_per_second_beside", stolen.codec_bytes_per_second_beside},
            {"stolen", stolen.stolen},
            {"stolen_range", {stolen.stolen_low, stolen.stolen_high}},
            {"on_core", stolen.on_core}};
}

}  // namespace

std::string stolen_text(const HostStolen& stolen) {
    constexpr double kCoreOfItsOwn = 0.95;
    const std::string text = fmt::format("{:.1f} % ({:.1f} .. {:.1f})", 100 * stolen.stolen,
                                         100 * stolen.stolen_low, 100 * stolen.stolen_high);
    if (stolen.on_core >= kCoreOfItsOwn) return text;
    return text + fmt::format(", with {:.0f} % of a core", 100 * stolen.on_core);
}

std::vector<std::string> compute_table(const ComputeBench& bench, const BenchHost& host) {
    std::vector<std::string> lines;
    lines.push_back(
        fmt::format("{}: products of a rank of {} tokens, cut to what a few milliseconds allow",
                    bench.model, format_count(bench.tokens)));
    lines.push_back(fmt::format(kProduct, "product", "m x n x k", "GFLOP/s", "of peak", "wrong"));
    add_products(bench.products, lines);
    lines.emplace_back();
    lines.push_back(fmt::format("stolen by {} on another thread ({}): load and codec alone, beside",
                                bench.codec, bench.change));
    lines.push_back(
        fmt::format(kStolen, "", "", "GFLOP/s", "beside", "GB/s", "beside", "stolen of the load"));
    for (const HostCompute& compute : bench.stolen) add_stolen(compute, lines);
    lines.emplace_back();
    lines.push_back(fmt::format("peak     {} GFLOP/s: FP32 multiply-adds in registers, one core",
                                giga(bench.products.peak_flop_per_second)));
    lines.emplace_back("GFLOP/s  of products and peak: per second of CPU time");
    lines.emplace_back("wrong    of 64 words a product, in FP64: off by more than its error bound");
    lines.emplace_back("stolen   1 - beside / alone, median and ends of rounds in turn");
    lines.push_back(fmt::format("machine  {}; {} cores; the speeds are this machine's", host.cpu,
                                host.threads));
    return lines;
}

nlohmann::ordered_json compute_document(const ComputeBench& bench, const BenchHost& host) {
    Json products = Json::array();
    for (const ComputeRow& row : bench.products.rows) products.push_back(to_json(row));
    Json stolen = Json::array();
    for (const HostCompute& compute : bench.stolen) {
        stolen.push_back(to_json(bench, compute, "stage", compute.stage));
        stolen.push_back(to_json(bench, compute, "encode", compute.encode));
    }
    return {{"schema", "refit.bench/1"},
            {"rows", Json::array()},
            {"compute",
             {{"model", bench.model},
              {"tokens", bench.tokens},
              {"peak_flop_per_second", bench.products.peak_flop_per_second},
              {"products", products},
              {"stolen", stolen}}},
            {"host", host_json(host)}};
}

}  // namespace refit
