#include "app/profile_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/format.hpp"
#include "workloads/one_step.hpp"

namespace refit {
namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kKindsShown = 16;
constexpr std::size_t kLayersShown = 8;      // more are shown as ranges
constexpr std::uint64_t kRangesSampled = 4;  // groups of layers that a draw tells apart
constexpr double kExponentShown = 0.005;     // of all words or of all changes

double quotient(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Three digits, so that a rate of a few in a million is still one.
std::string percent(double part) {
    const double value = 100 * part;
    if (value == 0) return "0 %";
    if (value < 0.001) return fmt::format("{:.1e} %", value);
    return fmt::format("{:.{}f} %", value, value < 10 ? 3 : value < 99.95 ? 2 : 1);
}

std::string short_percent(double part) { return fmt::format("{:.1f} %", 100 * part); }

/// Without the quotes: in a table it needs none.
std::string plain_name(const std::string& name) {
    const std::string quoted = quoted_name(name);
    return quoted.substr(1, quoted.size() - 2);
}

/// One line of a table of counts. `one_step` is empty where nobody asked for it.
std::string count_row(const ChangeProfile& profile,
                      std::string name,
                      const KindChange& counts,
                      const std::string& one_step = "") {
    if (name.size() > 28) name = fmt::format("{:.25}...", name);
    std::string line =
        fmt::format("  {:<28} {:>15} {:>8} {:>11} {:>9}", name, format_count(counts.words),
                    short_percent(quotient(counts.words, profile.words)),
                    percent(quotient(counts.changed, counts.words)),
                    short_percent(quotient(counts.changed, profile.changed)));
    if (!one_step.empty()) line += fmt::format(" {:>11}", one_step);
    return line;
}

std::string count_header(const std::string& what, bool one_step) {
    return fmt::format("{:<30} {:>15} {:>8} {:>11} {:>9}{}", what, "words", "share", "changed",
                       "of all", one_step ? fmt::format(" {:>11}", "one step") : "");
}

void add_kinds(const ChangeProfile& profile, Lines& lines) {
    std::vector<std::pair<std::string, KindChange>> kinds(profile.kinds.begin(),
                                                          profile.kinds.end());
    std::ranges::stable_sort(kinds, [](const auto& a, const auto& b) {
        return std::pair(a.second.changed, a.second.words) >
               std::pair(b.second.changed, b.second.words);
    });
    KindChange rest;
    lines.push_back(count_header("by kind", false));
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        if (i < kKindsShown) {
            lines.push_back(count_row(profile, plain_name(kinds[i].first), kinds[i].second));
        } else {
            rest.words += kinds[i].second.words;
            rest.changed += kinds[i].second.changed;
        }
    }
    if (rest.words > 0)
        lines.push_back(
            count_row(profile, fmt::format("{} others", kinds.size() - kKindsShown), rest));
}

/// Layers one by one, or in ranges of equal width.
void add_layers(const ChangeProfile& profile, Lines& lines) {
    if (profile.layers.empty()) return;
    const std::uint64_t layers = profile.layers.rbegin()->first + 1;
    std::uint64_t ranges = profile.words < profile.checkpoint_words ? kRangesSampled : kLayersShown;
    if (layers <= kLayersShown) ranges = layers;
    lines.push_back(count_header("by layer", false));
    auto at = profile.layers.begin();
    for (std::uint64_t range = 0; range < ranges; ++range) {
        const std::uint64_t first = (range * layers + ranges - 1) / ranges;
        const std::uint64_t end = ((range + 1) * layers + ranges - 1) / ranges;
        KindChange sum;
        for (; at != profile.layers.end() && at->first < end; ++at) {
            sum.words += at->second.words;
            sum.changed += at->second.changed;
        }
        if (sum.words == 0) continue;
        const bool one = first + 1 == end;
        lines.push_back(count_row(
            profile, one ? std::to_string(first) : fmt::format("{} .. {}", first, end - 1), sum));
    }
    if (profile.outside_layers.words > 0)
        lines.push_back(count_row(profile, "outside", profile.outside_layers));
}

std::string exponent_name(const ExponentChange& exponent) {
    const auto power = power_of_two(exponent);
    const char* const type = exponent.type == WordType::f16 ? " (F16)" : "";
    if (!power) return std::string("zero, subnormal") + type;
    return fmt::format("2^{}{}", *power, type);
}

void add_exponents(const ChangeProfile& profile, Lines& lines) {
    const bool several = profile.steps > 1;
    KindChange rest;
    double rest_one_step = 0;
    lines.push_back(count_header("by exponent, |w| from", several));
    for (const ExponentChange& exponent : profile.exponents) {
        const KindChange counts{exponent.words, exponent.changed};
        const double one_step = one_step_changed(exponent, profile.steps);
        if (quotient(counts.words, profile.words) >= kExponentShown ||
            quotient(counts.changed, profile.changed) >= kExponentShown) {
            lines.push_back(count_row(profile, exponent_name(exponent), counts,
                                      several ? percent(one_step) : ""));
            continue;
        }
        rest.words += counts.words;
        rest.changed += counts.changed;
        rest_one_step += one_step * static_cast<double>(counts.words);
    }
    if (rest.words > 0) {
        const double one_step = rest_one_step / static_cast<double>(rest.words);
        lines.push_back(count_row(profile, "all others", rest, several ? percent(one_step) : ""));
    }
}

std::string payload_row(const ProfileReport& report,
                        const std::string& name,
                        double bits,
                        std::uint64_t bytes) {
    const double bound = report.profile.bound_bits_per_parameter;
    return fmt::format("  {:<14} {:>9.4f} {:>9} {:>12} {:>12}", name, bits,
                       bound > 0 && bits > 0 ? fmt::format("{:.2f}x", bits / bound) : "-",
                       format_bytes(Bytes{bytes}),
                       link_time_text(to_seconds(transmit_time(Bytes{bytes}, report.link))));
}

void add_payloads(const ProfileReport& report, Lines& lines) {
    const ChangeProfile& profile = report.profile;
    lines.push_back(fmt::format("  {:<14} {:>9} {:>9} {:>12} {:>12}", "", "bits per", "of", "whole",
                                "seconds on"));
    lines.push_back(fmt::format("{:<16} {:>9} {:>9} {:>12} {:>12}", "by codec", "parameter",
                                "bound", "delta", format_bit_rate(report.link)));
    for (std::size_t i = 0; i < profile.codecs.size(); ++i) {
        const CodecPayload& codec = profile.codecs[i];
        std::string line = payload_row(report, codec.name, bits_per_parameter(profile, codec),
                                       delta_bytes(profile, codec));
        if (!report.proofs[i].exact) line += "  NOT EXACT: " + report.proofs[i].failure;
        lines.push_back(std::move(line));
    }
    const double bytes =
        profile.bound_bits_per_parameter / 8 * static_cast<double>(profile.checkpoint_words);
    const std::uint64_t rest = profile.other_payload_bytes + profile.header_bytes;
    lines.push_back(payload_row(report, "bound", profile.bound_bits_per_parameter,
                                static_cast<std::uint64_t>(bytes) + rest));
}

void add_head(const ProfileReport& report, Lines& lines) {
    const ChangeProfile& profile = report.profile;
    const bool all = profile.words == profile.checkpoint_words;
    lines.push_back(fmt::format("profile   {} -> {}{}", profile.base, profile.next,
                                profile.steps > 1 ? fmt::format(", {} steps", profile.steps) : ""));
    lines.push_back(fmt::format(
        "words     {}{}", format_count(profile.words),
        all ? ", all of them"
            : fmt::format(" of {} ({:.3g} %): whole tiles by kind and "
                          "layer, seed {}{}",
                          format_count(profile.checkpoint_words), 100 * profile.sampled_fraction(),
                          report.seed, report.limited ? "; 64 Mi at most" : "")));
    lines.push_back(
        fmt::format("changed   {} of words", percent(quotient(profile.changed, profile.words))));
    if (profile.steps > 1) {
        lines.push_back(fmt::format(
            "one step  {} of words: extrapolated, masters {:.1f} steps away "
            "after {} (notes below)",
            percent(one_step_changed(profile)), net_growth(profile.steps), profile.steps));
    }
    const auto of_changes = [&](std::uint64_t n) {
        return short_percent(quotient(n, profile.changed));
    };
    const Jumps& jumps = profile.jumps;
    lines.push_back(
        fmt::format("jumps     +-1 ULP {}, 2 {}, 3-8 {}, more {} of changes; sign flips {}",
                    of_changes(jumps.one), of_changes(jumps.two), of_changes(jumps.three_to_eight),
                    of_changes(jumps.more), percent(quotient(jumps.sign_flips, profile.changed))));
    if (report.other_tensors > 0) {
        lines.push_back(fmt::format(
            "as bytes  {} other tensor{}, {}, {} in a delta", format_count(report.other_tensors),
            report.other_tensors == 1 ? "" : "s", format_bytes(Bytes{profile.other_bytes}),
            format_bytes(Bytes{profile.other_payload_bytes})));
    }
}

void add_notes(const ProfileReport& report, Lines& lines) {
    const ChangeProfile& profile = report.profile;
    lines.push_back(
        fmt::format("link      {}: {}", format_bit_rate(report.link), report.link_source));
    lines.emplace_back("seconds   bytes x 8 / rate: link time only, extrapolated");
    lines.push_back(fmt::format("delta     containers with file headers{}: {}",
                                profile.other_bytes > 0 ? " and other tensors" : "",
                                profile.whole() ? "measured, each decoded again and compared"
                                                : "extrapolated from the measured words"));
    lines.emplace_back("bits      the container of the measured words without file headers");
    lines.emplace_back("bound     conditional entropy of the change, given the old exponents");
    if (profile.steps > 1) {
        lines.emplace_back(
            "one step  given the exponent, moves are half normal and directions turn slowly: the "
            "law of");
        lines.emplace_back(
            "          the weight field; on real traces 1 to 6 % low after 2 to 16 steps");
    }
}

}  // namespace

bool ProfileReport::exact() const { return std::ranges::all_of(proofs, &CodecProof::exact); }

std::string link_time_text(double seconds) {
    if (seconds >= 1) return format_seconds(seconds);
    const bool milliseconds = seconds >= 1e-3;
    const double value = seconds * (milliseconds ? 1e3 : 1e6);
    return fmt::format("{:.{}f} {}", value,
                       value < 9.995   ? 2
                       : value < 99.95 ? 1
                                       : 0,
                       milliseconds ? "ms" : "us");
}

std::vector<std::string> profile_lines(const ProfileReport& report) {
    Lines lines;
    add_head(report, lines);
    for (const auto& add : {add_kinds, add_layers, add_exponents}) {
        lines.emplace_back();
        add(report.profile, lines);
    }
    lines.emplace_back();
    add_payloads(report, lines);
    lines.emplace_back();
    add_notes(report, lines);
    return lines;
}

}  // namespace refit
