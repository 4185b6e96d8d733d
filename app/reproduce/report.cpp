#include "app/reproduce/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/format.hpp"

namespace refit {

namespace {

using Lines = std::vector<std::string>;

std::string seconds_text(const Estimate& seconds) {
    if (seconds.low == seconds.high) return fmt::format("{:.1f} s", seconds.value);
    return fmt::format("{:.1f} s ({:.1f} .. {:.1f})", seconds.value, seconds.low, seconds.high);
}

void add_headline(const ReproduceResult& result, Lines& lines) {
    const std::vector<CodecTime>& rows = result.tables.headline;
    const double full = rows.front().seconds.value;
    lines.push_back(
        fmt::format("Table A: {}, {:g} % asked to change, one link of {}; only the codec differs",
                    rows.front().model, 100 * rows.front().asked,
                    format_bit_rate(BitsPerSecond{result.link_bits_per_second})));
    lines.emplace_back(
        "  profile            codec         bits/param  x bound   bits/change   "
        "seconds (95 %)              wire   speed-up");
    for (const CodecTime& row : rows) {
        const bool whole = row.codec.starts_with("full");
        lines.push_back(fmt::format(
            "  {:<18} {:<13} {:>9.4f} {:>9} {:>12} {:>26} {:>7.1f} % {:>8.1f}x",
            whole && row.codec == "full" ? "any" : row.profile, row.codec, row.bits_per_parameter(),
            whole ? ""
                  : fmt::format("{:.2f}", row.bits_per_parameter() / row.bound_bits_per_parameter),
            whole ? "" : fmt::format("{:.2f}", row.bits_per_change()), seconds_text(row.seconds),
            100 * row.wire_seconds / row.seconds.value, full / row.seconds.value));
    }
    lines.push_back(fmt::format("  full achieves {}; speed-up is over full",
                                format_bit_rate(BitsPerSecond{
                                    static_cast<std::uint64_t>(rows.front().bits_per_second())})));
}

void add_grid(const ReproduceResult& result, Lines& lines) {
    if (result.tables.grid.empty()) return;
    lines.emplace_back("");
    lines.push_back(fmt::format("Table B: with a fixed cost of {:.2f} s for both ({})",
                                result.tables.grid.front().fixed.seconds,
                                result.tables.grid.front().fixed.source));
    lines.emplace_back(
        "  model              profile  changed      full  gap-xor-zstd  speed-up          xc  "
        "speed-up");
    for (const GridRow& row : result.tables.grid) {
        lines.push_back(fmt::format(
            "  {:<18} {:<8} {:>5.2f} % {:>7.0f} s {:>11.1f} s {:>8.1f}x {:>9.1f} s {:>8.1f}x",
            row.full.model, row.ours.profile, 100 * row.ours.changed, row.full.seconds.value,
            row.fixed.seconds + row.published_style.seconds.value, row.published_speedup(),
            row.fixed.seconds + row.ours.seconds.value, row.our_speedup()));
    }
}

void add_links(const ReproduceResult& result, Lines& lines) {
    lines.emplace_back("");
    lines.emplace_back(
        "Link rate per path; NICs and store four times as fast, windows twice the round trip");
    for (const LinkRow& row : result.tables.links) {
        lines.push_back(fmt::format("  {:>12}  full {:>9.1f} s  xc {:>8.2f} s  {:>6.1f}x",
                                    format_bit_rate(row.rate), row.full_seconds, row.our_seconds,
                                    row.full_seconds / row.our_seconds));
    }
    lines.push_back(result.tables.break_even_bits_per_second > 0
                        ? fmt::format("  break-even with a full transfer that needs no codec: {}",
                                      format_bit_rate(BitsPerSecond{static_cast<std::uint64_t>(
                                          result.tables.break_even_bits_per_second)}))
                        : "  no break-even up to 200 Tbit/s");
}

void add_attribution(const ReproduceResult& result, Lines& lines) {
    lines.emplace_back("");
    lines.push_back(
        fmt::format("Where the speed-up comes from, over {}; each switch with those above it on",
                    result.tables.attribution_topology));
    double before = 0;
    for (const AttributionRow& row : result.tables.attribution) {
        lines.push_back(fmt::format("  {:<12} {:>10.1f} s {:>9}   {}", row.switched, row.seconds,
                                    before > 0 ? fmt::format("{:.2f}x", before / row.seconds) : "",
                                    row.how));
        before = row.seconds;
    }
    lines.push_back(fmt::format(
        "  together {:.1f}x",
        result.tables.attribution.front().seconds / result.tables.attribution.back().seconds));
}

std::string value_text(const Interval& interval, const std::string& unit) {
    if (unit == "bytes") {
        const auto bytes = [](double value) { return fmt::format("{:.4g} GB", value / 1e9); };
        if (interval.low == interval.high) return bytes(interval.low);
        return fmt::format("{} .. {}", bytes(interval.low), bytes(interval.high));
    }
    return fmt::format("{}{}{}", interval_text(interval), unit == "1" ? "" : " ",
                       unit == "1" ? "" : unit);
}

void add_verdicts(const ReproduceResult& result, Lines& lines) {
    lines.emplace_back("");
    lines.emplace_back("Published figures");
    for (const Verdict& verdict : result.verdicts) {
        std::string line =
            fmt::format("  {:<19} {:<20} {} {}", verdict_name(verdict.kind), verdict.id,
                        verdict.quantity, value_text(verdict.published, verdict.unit));
        if (verdict.ours) {
            line += fmt::format("; ours {}", value_text(*verdict.ours, verdict.unit));
            if (!verdict.codec.empty())
                line += fmt::format(
                    " ({}{})", verdict.codec,
                    verdict.profile.empty() ? "" : fmt::format(", {}", verdict.profile));
        }
        lines.push_back(line);
        for (const Inferred& input : verdict.inferred) {
            lines.push_back(
                fmt::format("      inferred: {} = {} ({})", input.name, input.value, input.from));
        }
        if (!verdict.arithmetic.empty())
            lines.push_back(fmt::format("      {}", verdict.arithmetic));
    }
}

}  // namespace

std::vector<std::string> reproduce_text(const ReproduceResult& result) {
    Lines lines;
    add_headline(result, lines);
    add_links(result, lines);
    add_attribution(result, lines);
    add_grid(result, lines);
    add_verdicts(result, lines);
    lines.emplace_back("");
    lines.push_back(
        fmt::format("{} words sampled, each encoded, decoded and compared; times are "
                    "extrapolated: sizes are estimates, and nobody has measured the "
                    "rates of the fleet ({})",
                    format_count(result.words_sampled.count), result.declared_rates));
    return lines;
}

}  // namespace refit
