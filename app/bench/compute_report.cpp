#include "app/bench/compute_report.hpp"

#include <fmt/format.h>

#include <algorithm>
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

std::string peak_text(const ComputeRow& row) {
    return row.device.empty() ? fmt::format("{:.2f}", row.share_of_peak) : "-";
}

void add_products(const std::vector<ComputeRow>& rows, std::vector<std::string>& lines) {
    std::string section;
    for (const ComputeRow& row : rows) {
        const std::string on = row.device.empty() ? "" : " on " + row.device;
        const std::string title = row.gemm + on + ": " + row.pass;
        if (title != section) {
            lines.emplace_back();
            lines.push_back(title);
            section = title;
        }
        lines.push_back(fmt::format(kProduct, row.name, size_text(row.size),
                                    giga(row.flop_per_second), peak_text(row), row.check.wrong));
    }
}

std::string stolen_line(std::string_view gemm,
                        std::string_view work,
                        double flop_per_second,
                        const HostStolen& stolen) {
    return fmt::format(
        kStolen, gemm, work, giga(flop_per_second), giga(stolen.flop_per_second_beside),
        fmt::format("{:.2f}", stolen.codec_bytes_per_second / 1e9),
        fmt::format("{:.2f}", stolen.codec_bytes_per_second_beside / 1e9), stolen_text(stolen));
}

void add_stolen(const ComputeBench& bench, std::vector<std::string>& lines) {
    for (const HostCompute& compute : bench.stolen) {
        const double alone = compute.flop_per_second;
        lines.push_back(stolen_line(compute.gemm, "stage", alone, compute.stage));
        lines.push_back(stolen_line(compute.gemm, "encode", alone, compute.encode));
    }
    for (const GpuStolen& stolen : bench.gpu.stolen)
        lines.push_back(
            stolen_line(bench.gpu.gemm, stolen.work, stolen.flop_per_second, stolen.rates));
}

std::string share_text(std::int64_t part, const BusyAccount& busy) {
    return fmt::format("{:.1f} %",
                       100 * static_cast<double>(part) / static_cast<double>(busy.window()));
}

std::string nvml_text(const GpuNvml& nvml) {
    const auto or_not = [](const auto& value, const auto& text) {
        return value.has_value() ? text(*value) : std::string("not told");
    };
    return fmt::format(
        "busy {}, by events {}; {}, {}",
        or_not(nvml.reading.busy, [](double busy) { return fmt::format("{:.0f} %", 100 * busy); }),
        share_text(nvml.busy.load, nvml.busy),
        or_not(nvml.reading.sm_megahertz, [](unsigned mhz) { return fmt::format("{} MHz", mhz); }),
        or_not(nvml.reading.watts, [](double watts) { return fmt::format("{:.0f} W", watts); }));
}

void add_gpu(const GpuCompute& gpu, std::vector<std::string>& lines) {
    if (!gpu.trouble.empty()) {
        lines.push_back("GPU      not measured: " + gpu.trouble);
        return;
    }
    for (const GpuStolen& stolen : gpu.stolen) {
        const BusyAccount& busy = stolen.busy;
        lines.push_back(fmt::format("GPU      beside {}: load {}, stolen {}, idle {}", stolen.work,
                                    share_text(busy.load, busy), share_text(busy.stolen, busy),
                                    share_text(busy.idle, busy)));
    }
    lines.push_back("NVML     " + (gpu.nvml ? nvml_text(*gpu.nvml) : "not here"));
}

Json to_json(const ComputeRow& row) {
    Json json = {{"name", row.name},
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
    if (row.device.empty()) return json;
    json["share_of_peak"] = nullptr;
    json["device"] = row.device;
    return json;
}

/// The load alone of a row of `stolen`.
struct LoadAlone {
    std::string gemm;
    double flop_per_second = 0;
    std::uint64_t unit_words = 0;
    std::uint64_t rounds = 0;
};

Json to_json(const std::string& codec,
             const LoadAlone& load,
             const std::string& work,
             const HostStolen& stolen) {
    return {{"gemm", load.gemm},
            {"work", work},
            {"codec", codec},
            {"unit_words", load.unit_words},
            {"rounds", load.rounds},
            {"flop_per_second", load.flop_per_second},
            {"flop_per_second_beside", stolen.flop_per_second_beside},
            {"codec_bytes_per_second", stolen.codec_bytes_per_second},
            {"codec_bytes_per_second_beside", stolen.codec_bytes_per_second_beside},
            {"stolen", stolen.stolen},
            {"stolen_range", {stolen.stolen_low, stolen.stolen_high}},
            {"on_core", stolen.on_core}};
}

Json to_json(const BusyAccount& busy) {
    const auto seconds = [](std::int64_t time) { return static_cast<double>(time) / 1e9; };
    return {{"window_seconds", seconds(busy.window())},
            {"load_seconds", seconds(busy.load)},
            {"stolen_seconds", seconds(busy.stolen)},
            {"beside_seconds", seconds(busy.beside)},
            {"idle_seconds", seconds(busy.idle)}};
}

Json stolen_rows(const ComputeBench& bench) {
    Json rows = Json::array();
    for (const HostCompute& compute : bench.stolen) {
        const LoadAlone load{compute.gemm, compute.flop_per_second, compute.unit_words,
                             compute.rounds};
        rows.push_back(to_json(bench.codec, load, "stage", compute.stage));
        rows.push_back(to_json(bench.codec, load, "encode", compute.encode));
    }
    const GpuCompute& gpu = bench.gpu;
    for (const GpuStolen& stolen : gpu.stolen) {
        Json row =
            to_json(bench.codec, {gpu.gemm, stolen.flop_per_second, gpu.unit_words, gpu.rounds},
                    stolen.work, stolen.rates);
        row["on_core"] = nullptr;
        row["device"] = gpu.device;
        row["busy"] = to_json(stolen.busy);
        rows.push_back(std::move(row));
    }
    return rows;
}

Json to_json(const GpuNvml& nvml) {
    const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
    return {{"name", nvml.reading.name},
            {"busy", or_null(nvml.reading.busy)},
            {"sm_megahertz", or_null(nvml.reading.sm_megahertz)},
            {"watts", or_null(nvml.reading.watts)},
            {"by_events", to_json(nvml.busy)}};
}

Json to_json(const GpuCompute& gpu) {
    if (!gpu.trouble.empty())
        return {{"state", "not measured"}, {"reason", gpu.trouble}, {"nvml", nullptr}};
    return {{"state", "measured"},
            {"device", gpu.device},
            {"nvml", gpu.nvml ? to_json(*gpu.nvml) : Json(nullptr)}};
}

}  // namespace

bool ComputeBench::exact() const {
    return products.exact() && std::ranges::all_of(gpu.rows, [](const ComputeRow& row) {
               return row.check.wrong == 0;
           });
}

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
    add_products(bench.products.rows, lines);
    add_products(bench.gpu.rows, lines);
    lines.emplace_back();
    lines.push_back(fmt::format("stolen by {} on another thread ({}): load and codec alone, beside",
                                bench.codec, bench.change));
    lines.push_back(
        fmt::format(kStolen, "", "", "GFLOP/s", "beside", "GB/s", "beside", "stolen of the load"));
    add_stolen(bench, lines);
    lines.emplace_back();
    lines.push_back(fmt::format("peak     {} GFLOP/s: FP32 multiply-adds in registers, one core",
                                giga(bench.products.peak_flop_per_second)));
    lines.emplace_back("GFLOP/s  of products and peak: per second of CPU time");
    lines.emplace_back("wrong    of 64 words a product, in FP64: off by more than its error bound");
    lines.emplace_back("stolen   1 - beside / alone, median and ends of rounds in turn");
    add_gpu(bench.gpu, lines);
    lines.push_back(fmt::format("machine  {}; {} cores; the speeds are this machine's", host.cpu,
                                host.threads));
    return lines;
}

nlohmann::ordered_json compute_document(const ComputeBench& bench, const BenchHost& host) {
    Json products = Json::array();
    for (const ComputeRow& row : bench.products.rows) products.push_back(to_json(row));
    for (const ComputeRow& row : bench.gpu.rows) products.push_back(to_json(row));
    return {{"schema", "refit.bench/1"},
            {"rows", Json::array()},
            {"compute",
             {{"model", bench.model},
              {"tokens", bench.tokens},
              {"peak_flop_per_second", bench.products.peak_flop_per_second},
              {"products", products},
              {"stolen", stolen_rows(bench)},
              {"gpu", to_json(bench.gpu)}}},
            {"host", host_json(host)}};
}

}  // namespace refit
