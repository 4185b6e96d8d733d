#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "app/bench/svg.hpp"
#include "app/reproduce/report.hpp"

namespace refit {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kWidth = 1600;
constexpr double kTop = 104;
constexpr double kLine = 44;  // one codec
constexpr double kNames = 150;
constexpr double kLeft = 1020;   // right end of the panel of codecs
constexpr double kLinks = 1150;  // left end of the panel of link rates
constexpr double kRight = 1540;  // its right end
constexpr const char* kPaper = "#ffffff";
constexpr const char* kInk = "#1d2329";
constexpr const char* kQuiet = "#5a636b";
constexpr const char* kHair = "#d5d9dc";
constexpr const char* kOurs = "#0072b2";
constexpr const char* kOursBand = "#e3eff8";

struct PublishedMark {
    double seconds;
    const char* says;
};
constexpr PublishedMark kPublished[] = {{150, "published delta, 150 s"},
                                        {5250, "published full, 5250 s (sets the link)"}};

double value(const Json& json, const char* key) {
    const Json& at = json.at(key);
    return at.is_object() ? at.at("value").get<double>() : at.get<double>();
}

/// A logarithmic axis from one pixel to another.
struct Axis {
    double low, high;    // values at the ends
    double from, until;  // pixels

    double at(double x) const {
        return from + (until - from) * std::log(x / low) / std::log(high / low);
    }
};

std::vector<std::string> different(const Json& rows, const char* key) {
    std::vector<std::string> found;
    for (const Json& row : rows) {
        const std::string name = row.at(key).get<std::string>();
        if (std::ranges::find(found, name) == found.end()) found.push_back(name);
    }
    return found;
}

SvgShape shape_of(std::size_t profile) {
    constexpr SvgShape kShapes[] = {SvgShape::circle,   SvgShape::diamond, SvgShape::square,
                                    SvgShape::triangle, SvgShape::right,   SvgShape::left};
    return kShapes[profile % std::size(kShapes)];
}

void draw_codecs(const Json& document, Svg& svg) {
    const Json& rows = document.at("table_a");
    const std::vector<std::string> codecs = different(rows, "codec");
    const std::vector<std::string> profiles = different(rows, "profile");
    const double bottom = kTop + kLine * static_cast<double>(codecs.size());
    const Axis axis{15, 10'000, kNames, kLeft};
    for (std::size_t c = 0; c < codecs.size(); ++c) {
        const double y = kTop + kLine * static_cast<double>(c);
        if (codecs[c] == "xc") svg.rectangle({24, y}, kLeft - 24, kLine, kOursBand);
        svg.text({kNames - 16, y + kLine / 2 + 5}, codecs[c],
                 {codecs[c] == "xc" ? kOurs : kInk, 15, "end", codecs[c] == "xc"});
        svg.line({kNames, y + kLine / 2}, {kLeft, y + kLine / 2}, {kHair, 1});
    }
    for (const double tick : {20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0}) {
        svg.line({axis.at(tick), kTop}, {axis.at(tick), bottom}, {kHair, 1});
        svg.text({axis.at(tick), bottom + 20}, fmt::format("{:.0f} s", tick),
                 {kQuiet, 13, "middle"});
    }
    for (const PublishedMark& mark : kPublished) {
        svg.line({axis.at(mark.seconds), kTop - 8}, {axis.at(mark.seconds), bottom},
                 {kInk, 1.5, "3 4"});
        svg.mark({axis.at(mark.seconds), kTop - 12}, {SvgShape::circle, kInk, true}, mark.says);
        svg.text({axis.at(mark.seconds), kTop - 24}, mark.says,
                 {kQuiet, 13, mark.seconds > 1000 ? "end" : "middle"});
    }
    for (const Json& row : rows) {
        const std::string codec = row.at("codec").get<std::string>();
        const std::string profile = row.at("profile").get<std::string>();
        const auto c = std::ranges::find(codecs, codec) - codecs.begin();
        const auto p = std::ranges::find(profiles, profile) - profiles.begin();
        const double y = kTop + kLine * (static_cast<double>(c) + 0.5);
        svg.mark({axis.at(value(row, "seconds")), y},
                 {shape_of(static_cast<std::size_t>(p)), codec == "xc" ? kOurs : kInk, false},
                 fmt::format("{}, {}: {:.1f} s, {:.4f} bits per parameter", codec, profile,
                             value(row, "seconds"), value(row, "bits_per_parameter")));
    }
    double x = kNames;
    for (std::size_t p = 0; p < profiles.size(); ++p) {
        svg.mark({x, bottom + 46}, {shape_of(p), kInk, false}, profiles[p]);
        svg.text({x + 12, bottom + 51}, profiles[p], {kQuiet, 13});
        x += 40 + 8.5 * static_cast<double>(profiles[p].size());
    }
}

void draw_links(const Json& document, Svg& svg) {
    const Json& rows = document.at("links");
    const double bottom =
        kTop + kLine * static_cast<double>(different(document.at("table_a"), "codec").size());
    const Axis x{0.8, 500, kLinks, kRight};
    const Axis y{0.8, 30'000, bottom, kTop};
    for (const double tick : {1.0, 10.0, 100.0, 1000.0, 10'000.0}) {
        svg.line({kLinks, y.at(tick)}, {kRight, y.at(tick)}, {kHair, 1});
        svg.text({kLinks - 8, y.at(tick) + 4}, fmt::format("{:.0f} s", tick), {kQuiet, 13, "end"});
    }
    for (const Json& row : rows) {
        const double rate = value(row, "bits_per_second") / 1e9;
        svg.text({x.at(rate), bottom + 20}, fmt::format("{:.0f}", rate), {kQuiet, 13, "middle"});
        svg.text({x.at(rate), y.at(value(row, "our_seconds")) + 26},
                 fmt::format("{:.0f}x", value(row, "speedup")), {kOurs, 13, "middle", true});
    }
    svg.text({(kLinks + kRight) / 2, bottom + 51}, "Gbit/s per path", {kQuiet, 13, "middle"});
    const auto curve = [&](const char* key, const char* color, const char* name) {
        SvgPoint before;
        for (const Json& row : rows) {
            const SvgPoint at{x.at(value(row, "bits_per_second") / 1e9), y.at(value(row, key))};
            if (before.x > 0) svg.line(before, at, {color, 2});
            svg.mark(at, {SvgShape::circle, color, false},
                     fmt::format("{}: {:.2f} s", name, value(row, key)));
            before = at;
        }
        svg.text({kRight + 10, before.y + 5}, name, {color, 14, "start", true});
    };
    curve("full_seconds", kInk, "full");
    curve("our_seconds", kOurs, "xc");
}

}  // namespace

std::string reproduce_picture(const nlohmann::ordered_json& document) {
    const Json& first = document.at("table_a").at(0);
    const double height =
        kTop + kLine * static_cast<double>(different(document.at("table_a"), "codec").size()) + 84;
    const std::string title = fmt::format(
        "One refit of {}, {:.0f} % of its words changed, over one link of {:.3f} Gbit/s",
        first.at("model").get<std::string>(), 100 * document.at("asked").get<double>(),
        value(document.at("link"), "bits_per_second") / 1e9);
    Svg svg(kWidth, height, title, "Seconds by codec and change profile; seconds by link rate");
    svg.rectangle({0, 0}, kWidth, height, kPaper);
    svg.text({24, 34}, title, {kInk, 20, "start", true});
    svg.text({24, 58},
             "From final weights on the trainer to the last replica serving. Sizes from sampled "
             "bit passes, times from the protocol over declared rates: extrapolated.",
             {kQuiet, 14});
    svg.text({kLinks, 84}, "Seconds by link rate, and the speed-up", {kInk, 15, "start", true});
    draw_codecs(document, svg);
    draw_links(document, svg);
    return std::move(svg).finish();
}

}  // namespace refit
