#include "app/run_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "app/bench/compute_report.hpp"
#include "app/format.hpp"

namespace refit {

namespace {

constexpr double kPublishedFullSeconds = 5250;  // arXiv:2610.08430, 2052.8 GB
constexpr std::uint64_t kPublishedParameters = 1'026'408'232'448;

std::string percent(double part) { return fmt::format("{:.3g} %", 100 * part); }

std::string refit_line(const RefitTimes& refit) {
    return fmt::format(
        "  version {}  {:>8}   encode {}  wire {}  stage {}  pause {}   {}", refit.version,
        format_seconds(to_seconds(refit.seconds())), format_seconds(to_seconds(refit.encode())),
        format_seconds(to_seconds(refit.wire())), format_seconds(to_seconds(refit.stage())),
        format_seconds(to_seconds(refit.pause())), format_bytes(Bytes{refit.payload_bytes}));
}

std::string changed_line(const RunRecord& record, const RunFigures& f) {
    std::map<std::string, KindChange> kinds;
    for (const ChangeStats& step : record.changes) {
        for (const auto& [name, kind] : step.kinds) {
            kinds[name].words += kind.words;
            kinds[name].changed += kind.changed;
        }
    }
    std::vector<std::pair<double, std::string>> rates;
    for (const auto& [name, kind] : kinds) {
        if (kind.words == 0) continue;
        rates.emplace_back(static_cast<double>(kind.changed) / static_cast<double>(kind.words),
                           name);
    }
    std::ranges::sort(rates, std::greater<>{});
    std::string by_kind;
    for (const auto& [rate, name] : rates)
        by_kind += fmt::format("{}{} {:.2f}", by_kind.empty() ? "" : ", ", name, 100 * rate);
    return fmt::format("changed  {} of words a step; by kind, %: {}", percent(f.changed), by_kind);
}

std::string exact_line(const RunRecord& record, const RunFigures& f) {
    const CheckFigures checks = check_figures(record);
    const std::string where =
        record.passes ? fmt::format("in a bit pass over {} of the model, {} layouts",
                                    percent(record.passes->sampled_fraction),
                                    record.passes->checked_layouts.size())
                      : fmt::format("in {} resident checks", record.run.totals.resident_checks);
    return fmt::format("exact    {}: {} words read back {}, {} mismatches", f.exact ? "yes" : "NO",
                       format_count(checks.words_checked), where, format_count(checks.mismatches));
}

std::string maps_line(const RunRecord& record) {
    std::uint64_t boxes = 0;
    std::map<std::string, int> layouts;
    for (const MapRecord& map : record.maps) {
        boxes += map.boxes;
        if (map.name != "trainer") ++layouts[map.layout];
    }
    std::string serving;
    for (const auto& [layout, count] : layouts)
        serving += fmt::format("{}{}{}", serving.empty() ? "" : ", ", layout,
                               count > 1 ? fmt::format(" x{}", count) : "");
    return fmt::format("maps     {} -> {}; {} boxes, each word's place proved",
                       record.maps.front().layout, serving, format_count(boxes));
}

std::string relay_line(const RunRecord& record) {
    std::uint64_t least = ~std::uint64_t{0};
    std::uint64_t most = 0;
    for (const EdgeTraffic& edge : record.run.edges) {
        least = std::min(least, edge.kept_bytes);
        most = std::max(most, edge.kept_bytes);
    }
    const TrafficTotals traffic = total(record.run.edges);
    return fmt::format(
        "relay    {} edge transfers of {} .. {}; sent {}, needed {}; from the store {}",
        record.run.edges.size(), format_bytes(Bytes{least}), format_bytes(Bytes{most}),
        format_bytes(Bytes{traffic.sent_bytes}), format_bytes(Bytes{traffic.needed_bytes}),
        format_bytes(Bytes{record.run.totals.store_bytes_read}));
}

std::string commit_line(const RunRecord& record, const RunFigures& f) {
    return fmt::format(
        "commit   versions 0 -> {}; longest pause {}; {} resumed transfers, re-encodes {}; "
        "idle {} ({}); 99 % busy from a step of {} on",
        record.run.decided.version, format_seconds(f.longest_pause_seconds),
        count_resumes(record.run.timeline), record.run.totals.reencodes, percent(f.idle_fraction),
        [&] {
            std::string causes;
            for (const auto& [cause, time] : record.run.idle.idle)
                causes += fmt::format("{}{} {}", causes.empty() ? "" : ", ", cause_name(cause),
                                      format_seconds(to_seconds(time)));
            return causes.empty() ? std::string("none") : causes;
        }(),
        format_seconds(f.shortest_step_seconds));
}

/// What a run of a model is sure of.
std::string passes_line(const ModelPasses& passes, const RunFigures& f) {
    const auto bytes = [](double value) {
        return format_bytes(Bytes{static_cast<std::uint64_t>(std::max(0.0, value))});
    };
    const std::string drawn =
        fmt::format("{} tiles of {} strata", passes.sampled_tiles, passes.strata);
    if (passes.full()) {
        const bool inside =
            passes.payload.low <= f.payload_bytes && f.payload_bytes <= passes.payload.high;
        return fmt::format("sample   {} alone would have said {} .. {}: the payload lies {}", drawn,
                           bytes(passes.payload.low), bytes(passes.payload.high),
                           inside ? "inside" : "OUTSIDE");
    }
    return fmt::format("sample   {}; 95 %: {} .. {}, refit {:.2f} .. {:.2f} s", drawn,
                       bytes(passes.payload.low), bytes(passes.payload.high), passes.seconds.low,
                       passes.seconds.high);
}

/// Which loop, and how short its step may be beside the others'.
std::string loop_line(const RunRecord& record, const RunFigures& f) {
    const auto shortest = [&f](LoopShape shape) {
        return format_seconds(f.shortest_steps.at(shape));
    };
    return fmt::format(
        "loop     {}; 99 % busy from a step of: synchronous {}, one_step_off {}, asynchronous by "
        "{} {}; stolen by staging at most {}",
        shape_name(record.loop.shape), shortest(LoopShape::synchronous),
        shortest(LoopShape::one_step_off), record.loop.staleness, shortest(LoopShape::asynchronous),
        percent(f.stolen_fraction));
}

/// The arithmetic behind a time that nobody declared.
std::string derived_line(const DerivedTime& derived) {
    return fmt::format(
        "{}: {} FLOP a token x {} tokens / {:g} PFLOP/s = {}, extrapolated ({}); without attention "
        "over earlier tokens",
        derived.name, format_count(derived.flop_per_token), format_count(derived.tokens),
        static_cast<double>(derived.rate.value.count) / 1e15,
        format_seconds(to_seconds(derived.time)), derived.rate.source);
}

std::string compute_line(const HostCompute& compute) {
    return fmt::format(
        "compute  emulated on this CPU: {:.1f} GFLOP/s at the model's shapes ({}, 1 thread of {}); "
        "stolen beside stage {}, beside encode {}",
        compute.flop_per_second / 1e9, compute.gemm, compute.cores, stolen_text(compute.stage),
        stolen_text(compute.encode));
}

std::string model_line(const RunRecord& record) {
    return fmt::format("{}: {} words, {} of them through the bit pass", record.model_name,
                       format_count(record.model_parameters),
                       percent(record.passes->sampled_fraction));
}

}  // namespace

std::vector<std::string> run_text(const RunRecord& record) {
    const RunFigures f = figures(record);
    std::vector<std::string> lines;
    lines.push_back(record.title);
    if (record.passes) lines.push_back(model_line(record));
    lines.push_back("backend " + record.backend_reason);
    lines.push_back(fmt::format("codec {}: {:.4f} bits per parameter, {:.2f} x the entropy bound",
                                record.codec, f.bits_per_parameter,
                                f.bits_per_parameter / f.bound_bits_per_parameter));
    for (const RefitTimes& refit : record.run.refits) lines.push_back(refit_line(refit));
    for (const BaselineRecord& baseline : record.baselines) {
        lines.push_back(fmt::format(
            "  {:<9}  {:>8}   {} at {} achieved", baseline.codec, format_seconds(baseline.seconds),
            format_bytes(Bytes{baseline.payload_bytes}),
            format_bit_rate(BitsPerSecond{static_cast<std::uint64_t>(baseline.bits_per_second)})));
    }
    if (f.fastest != nullptr) {
        lines.push_back(fmt::format("{:.1f}x faster than {}: {} against {}; times are {}",
                                    f.speedup, f.fastest->codec, format_seconds(f.refit_seconds),
                                    format_seconds(f.fastest->seconds),
                                    provenance_name(record.time_provenance)));
    }
    if (record.stands_for_parameters == kPublishedParameters)
        lines.push_back(fmt::format("published basis: {} for the full checkpoint",
                                    format_seconds(kPublishedFullSeconds)));
    for (const DerivedTime& derived : record.derived_times) lines.push_back(derived_line(derived));
    for (const std::string& fault : record.faults) lines.push_back("fault    " + fault);
    lines.push_back("");
    if (record.passes) lines.push_back(passes_line(*record.passes, f));
    lines.push_back(loop_line(record, f));
    lines.push_back(changed_line(record, f));
    lines.push_back(exact_line(record, f));
    lines.push_back(maps_line(record));
    lines.push_back(relay_line(record));
    lines.push_back(commit_line(record, f));
    if (record.host.compute) lines.push_back(compute_line(*record.host.compute));
    return lines;
}

}  // namespace refit
