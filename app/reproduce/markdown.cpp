#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "app/reproduce/report.hpp"

namespace refit {

namespace {

using Json = nlohmann::ordered_json;

double value(const Json& json, const char* key) {
    const Json& at = json.at(key);
    return at.is_object() ? at.at("value").get<double>() : at.get<double>();
}

std::string text(const Json& json, const char* key) { return json.at(key).get<std::string>(); }

std::string seconds_of(const Json& row) {
    const Json& seconds = row.at("seconds");
    if (!seconds.contains("ci95")) return fmt::format("{:.1f}", value(row, "seconds"));
    return fmt::format("{:.1f} ({:.1f}–{:.1f})", value(row, "seconds"),
                       seconds.at("ci95")[0].get<double>(), seconds.at("ci95")[1].get<double>());
}

std::string table_a(const Json& document) {
    std::string out =
        "| profile | codec | bits per parameter | bits per change | seconds (95 %) | speed-up |\n"
        "|---|---|---|---|---|---|\n";
    for (const Json& row : document.at("table_a")) {
        const bool whole = text(row, "codec").starts_with("full");
        out += fmt::format("| {} | {} | {:.4f} | {} | {} | {:.1f}x |\n",
                           whole ? "any" : text(row, "profile"), text(row, "codec"),
                           value(row, "bits_per_parameter"),
                           whole ? "" : fmt::format("{:.2f}", value(row, "bits_per_change")),
                           seconds_of(row), value(row, "speedup_over_full"));
    }
    return out;
}

std::string table_b(const Json& document) {
    std::string out =
        "| model | profile | changed | full | published style | speed-up | xc | speed-up |\n"
        "|---|---|---|---|---|---|---|---|\n";
    for (const Json& row : document.at("table_b")) {
        const double fixed = value(row, "fixed_seconds");
        out += fmt::format(
            "| {} | {} | {:.2f} % | {:.0f} s | {:.1f} s | {:.1f}x | {:.1f} s | {:.1f}x |\n",
            text(row.at("full"), "model"), text(row.at("ours"), "profile"),
            100 * value(row.at("ours"), "changed"), value(row.at("full"), "seconds"),
            fixed + value(row.at("published_style"), "seconds"),
            value(row, "published_style_speedup"), fixed + value(row.at("ours"), "seconds"),
            value(row, "our_speedup"));
    }
    return out;
}

std::string attribution(const Json& document) {
    std::string out = "| switched on | seconds | factor | |\n|---|---|---|---|\n";
    for (const Json& row : document.at("attribution")) {
        out += fmt::format("| {} | {:.1f} | {:.2f}x | {} |\n", text(row, "switched"),
                           value(row, "seconds"), value(row, "factor"), text(row, "how"));
    }
    return out;
}

std::string links(const Json& document) {
    std::string out = "| Gbit/s per path | full | xc | speed-up |\n|---|---|---|---|\n";
    for (const Json& row : document.at("links")) {
        out += fmt::format("| {:.0f} | {:.1f} s | {:.2f} s | {:.1f}x |\n",
                           value(row, "bits_per_second") / 1e9, value(row, "full_seconds"),
                           value(row, "our_seconds"), value(row, "speedup"));
    }
    return out;
}

/// One number or both ends, short.
std::string span_text(const Json& span, const std::string& unit) {
    const double scale = unit == "bytes" ? 1e9 : 1;
    const char* const name = unit == "bytes" ? " GB" : unit == "s" ? " s" : unit == "x" ? "x" : "";
    if (span.is_null()) return "";
    if (span.is_number()) return fmt::format("{:.4g}{}", span.get<double>() / scale, name);
    return fmt::format("{:.4g}–{:.4g}{}", span[0].get<double>() / scale,
                       span[1].get<double>() / scale, name);
}

std::string verdicts(const Json& document) {
    std::string out = "| figure | published | ours | verdict |\n|---|---|---|---|\n";
    for (const Json& row : document.at("rows")) {
        std::string ours = span_text(row.at("ours"), text(row, "unit"));
        if (!text(row, "codec").empty())
            ours += fmt::format(" ({}, {})", text(row, "codec"), text(row, "profile"));
        out += fmt::format("| {} {} | {} | {} | {} |\n", text(row, "name"), text(row, "quantity"),
                           span_text(row.at("published"), text(row, "unit")), ours,
                           text(row, "verdict"));
    }
    return out;
}

/// One codec, seconds by profile.
std::string codec_line(const Json& document, const std::string& codec) {
    const char* const bold = codec == "xc" ? "**" : "";
    std::string out = fmt::format("| {0}`{1}`{0} |", bold, codec);
    double speedup = 0;
    for (const char* profile : {"adam", "real", "uniform", "constant-density"}) {
        std::string cell = "";
        for (const Json& row : document.at("table_a")) {
            const bool whole = codec.starts_with("full");
            if (text(row, "codec") != codec || (!whole && text(row, "profile") != profile))
                continue;
            cell = fmt::format("{:.1f}", value(row, "seconds"));
            if (speedup == 0) speedup = value(row, "speedup_over_full");
            break;
        }
        out += fmt::format(" {} |", cell);
    }
    return fmt::format("{} {:.1f}x |\n", out, speedup);
}

/// The least and the most speed-up of table B at 3 and 5 %, by whose codec it is.
std::pair<double, double> grid_range(const Json& document, const char* key) {
    double least = 1e300;
    double most = 0;
    for (const Json& row : document.at("table_b")) {
        if (text(row.at("ours"), "profile") != "adam") continue;
        if (value(row.at("ours"), "changed") < 0.02) continue;
        least = std::min(least, value(row, key));
        most = std::max(most, value(row, key));
    }
    return {least, most};
}

}  // namespace

std::string reproduce_summary(const nlohmann::ordered_json& document) {
    std::string out =
        "| seconds | adam | real | uniform | constant-density | speed-up, adam |\n"
        "|---|---|---|---|---|---|\n";
    for (const char* codec :
         {"full", "full-zstd", "index-value", "coo-zstd", "xor-zstd", "gap-xor-zstd", "xc"})
        out += codec_line(document, codec);
    std::string factors;
    for (const Json& row : document.at("attribution")) {
        if (text(row, "switched") == "nothing") continue;
        factors += fmt::format("{}{} {:.2f}x", factors.empty() ? "" : ", ", text(row, "switched"),
                               value(row, "factor"));
    }
    std::map<std::string, int> counts;
    for (const Json& row : document.at("rows")) ++counts[text(row, "verdict")];
    std::string verdict_counts;
    for (const auto& [verdict, count] : counts)
        verdict_counts +=
            fmt::format("{}{} {}", verdict_counts.empty() ? "" : ", ", count, verdict);
    const auto [least, most] = grid_range(document, "published_style_speedup");
    const auto [our_least, our_most] = grid_range(document, "our_speedup");
    return fmt::format(
        "{}\n"
        "With a fixed cost of {:.2f} s for both, 30B to 1T at 3 and 5 % on `adam`: {:.1f}x to "
        "{:.1f}x with the published encoding (published: 12x to 40x), {:.1f}x to {:.1f}x with "
        "`xc`. Over {}: {}. Of {} claims in the published rows: {}.\n",
        out, value(document.at("table_b")[0], "fixed_seconds"), least, most, our_least, our_most,
        text(document, "attribution_topology"), factors, document.at("rows").size(),
        verdict_counts);
}

std::string reproduce_page(const nlohmann::ordered_json& document) {
    const Json& host = document.at("host");
    const double even = value(document, "break_even_bits_per_second");
    return fmt::format(
        "# Published refit figures beside ours\n\nMade by `refit reproduce --out`; "
        "`reproduce.json` has every figure with its provenance.\n\n"
        "![seconds by codec, profile and link rate](reproduce.svg)\n\n"
        "**Table A.** {} at {:.0f} % asked, one link of {:.3f} Gbit/s, only the codec differs. "
        "Sizes and times are extrapolated from {:.1f} million sampled words, each encoded, decoded "
        "and compared; speed-up over the full checkpoint, which achieves {:.3f} Gbit/s.\n\n{}\n"
        "**Table B.** The same with a fixed cost of {:.2f} s for both ({}).\n\n{}\n"
        "**Attribution** over {}, each switch with those above it on.\n\n{}\n"
        "**Link rate.** {}\n\n{}\n"
        "**Published figures.** `refit reproduce` prints what was inferred and the arithmetic.\n\n"
        "{}\nMade with version {} on {} ({}), commit {}.\n",
        text(document.at("table_a")[0], "model"), 100 * document.at("asked").get<double>(),
        value(document.at("link"), "bits_per_second") / 1e9,
        document.at("sampled_words").get<double>() / 1e6,
        value(document.at("table_a")[0], "bits_per_second") / 1e9, table_a(document),
        value(document.at("table_b")[0], "fixed_seconds"), text(document, "fixed_cost_source"),
        table_b(document), text(document, "attribution_topology"), attribution(document),
        even > 0 ? fmt::format("A full transfer that needs no codec is as fast from {:.0f} Gbit/s "
                               "per path on.",
                               even / 1e9)
                 : std::string("No break-even up to 200 Tbit/s per path."),
        links(document), verdicts(document), text(host, "version"), text(host, "cpu"),
        text(host, "device"), text(host, "commit"));
}

}  // namespace refit
