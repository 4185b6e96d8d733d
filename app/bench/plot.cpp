#include "app/bench/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "app/bench/svg.hpp"

namespace refit {
namespace {

constexpr double kWidth = 1600;
constexpr double kMargin = 24;
constexpr double kHeader = 88;
constexpr double kFooter = 32;
constexpr double kNames = 112;   // codec names, left of each row of panels
constexpr double kTitle = 26;    // of a panel
constexpr double kBounds = 40;   // hollow marks and their labels, above the lines
constexpr double kLine = 28;     // one codec
constexpr double kAxis = 44;     // tick labels, unit, room below
constexpr double kGap = 24;      // between panels
constexpr double kRatios = 62;   // figures at the right of a panel
constexpr double kSpeeds = 110;  // the same in the panel of speeds
constexpr std::size_t kColumnsMax = 5;

constexpr const char* kPaper = "#ffffff";
constexpr const char* kInk = "#1d2329";
constexpr const char* kQuiet = "#5a636b";
constexpr const char* kHair = "#d5d9dc";
constexpr const char* kBand = "#f5f6f7";
constexpr const char* kFirstBand = "#e3eff8";
// Light to dark, as marks follow each other; all with a contrast above 3 on the paper.
constexpr const char* kInks[] = {"#8b9197", "#666d74", "#3c4248", "#1d2329"};
constexpr const char* kFirstInks[] = {"#3f95cf", "#0072b2", "#004c7a", "#00304f"};

const char* ink(std::size_t codec, std::size_t step) {
    step %= std::size(kInks);
    return codec == 0 ? kFirstInks[step] : kInks[step];
}

/// Of the samples of a group, in turn.
SvgShape shape_of(std::size_t place) {
    constexpr SvgShape kShapes[] = {SvgShape::circle, SvgShape::diamond, SvgShape::square,
                                    SvgShape::triangle};
    return kShapes[place % std::size(kShapes)];
}

/// A wide guess; fonts differ.
double width_of(std::string_view text, int size) {
    return 0.58 * static_cast<double>(text.size()) * size;
}

/// About three significant digits, without a power of ten.
std::string figure(double value) {
    const int digits = value < 0.9995 ? 3 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f}", value, digits);
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// A logarithmic axis with ticks at 1, 2 and 5 times a power of ten.
class Scale {
public:
    /// Holds `least` to `most`, both positive, and some room.
    Scale(double least, double most)
        : low_(std::log10(least) - 0.1), high_(std::log10(most) + 0.1) {}

    /// Share of the way from left to right.
    double at(double value) const { return (std::log10(value) - low_) / (high_ - low_); }

    /// Those whose labels have room on a width.
    std::vector<double> ticks(double width) const {
        const bool all = width >= 100 * (high_ - low_);
        std::vector<double> found;
        for (int power = -9; power <= 9; ++power) {
            for (const int times : {1, 2, 5}) {
                const double tick = std::pow(10.0, power) * times;
                if ((all || times == 1) && at(tick) >= 0 && at(tick) <= 1) found.push_back(tick);
            }
        }
        return found;
    }

private:
    double low_;
    double high_;
};

struct Group {
    std::string title;
    std::vector<std::size_t> samples;
};

/// Where "uniform-3%" or "dense-16-steps" begins to count; the whole length if it does not.
std::size_t count_begins(std::string_view name) {
    for (std::size_t i = name.size(); i-- > 1;)
        if (name[i] >= '0' && name[i] <= '9' && name[i - 1] == '-') return i;
    return name.size();
}

/// "3 %", "16 steps"; empty for a sample that does not count.
std::string count_of(const BenchSample& sample) {
    std::string count = sample.name.substr(count_begins(sample.name));
    std::ranges::replace(count, '-', ' ');
    if (count.ends_with('%')) count.insert(count.size() - 1, " ");
    return count;
}

std::string group_title(const BenchSample& sample) {
    const std::size_t begins = count_begins(sample.name);
    const std::string stem = sample.name.substr(0, begins - (begins < sample.name.size() ? 1 : 0));
    return stem == sample.profile ? stem : sample.profile + ": " + stem;
}

/// Rows by codec and sample, as the picture shows them.
class Content {
public:
    Content(const std::vector<BenchSample>& all, const std::vector<BenchRow>& rows) : samples(all) {
        std::vector<bool> seen(all.size());
        for (const BenchRow& row : rows) {
            if (row.kind != BenchRowKind::codec || !row.exact || row.bits_per_parameter <= 0)
                continue;
            if (std::ranges::find(codecs, row.codec) == codecs.end()) codecs.push_back(row.codec);
            rows_[{row.codec, row.sample}] = &row;
            seen[row.sample] = true;
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (!seen[i]) continue;
            const std::string title = group_title(all[i]);
            if (groups.empty() || groups.back().title != title) groups.push_back({title, {}});
            groups.back().samples.push_back(i);
        }
    }

    /// Null: no such row.
    const BenchRow* row(std::size_t codec, std::size_t sample) const {
        const auto found = rows_.find({codecs[codec], sample});
        return found == rows_.end() ? nullptr : found->second;
    }

    /// Any row of the sample; all have its bound and its changed fraction.
    const BenchRow& any_row(std::size_t sample) const {
        std::size_t codec = 0;
        while (row(codec, sample) == nullptr) ++codec;
        return *row(codec, sample);
    }

    Scale bits() const {
        double least = 10;
        double most = 16;
        for (const auto& [key, row] : rows_) {
            most = std::max(most, row->bits_per_parameter);
            for (const double bits : {row->bits_per_parameter, row->bound_bits_per_parameter})
                if (bits > 0) least = std::min(least, bits);
        }
        return {least, most};
    }

    /// Over compare, of every sample that was timed.
    std::vector<double> speeds(std::size_t codec, double BytesPerSecondRates::*rate) const {
        std::vector<double> found;
        for (std::size_t sample = 0; sample < samples.size(); ++sample) {
            const BenchRow* const one = row(codec, sample);
            if (one != nullptr && one->rates.*rate > 0 && one->rates.compare > 0)
                found.push_back(one->rates.*rate / one->rates.compare);
        }
        return found;
    }

    const std::vector<BenchSample>& samples;
    std::vector<std::string> codecs;
    std::vector<Group> groups;

private:
    std::map<std::pair<std::string, std::size_t>, const BenchRow*> rows_;
};

/// A panel: `left` to `right` hold the lines, up to `end` stand figures.
struct Panel {
    double left = 0;
    double right = 0;
    double end = 0;
    double top = 0;
    double bottom = 0;

    double line(std::size_t i) const { return top + (static_cast<double>(i) + 0.5) * kLine; }
    double x(const Scale& scale, double value) const {
        return left + scale.at(value) * (right - left);
    }
};

void draw_frame(Svg& svg, const Panel& panel, const Scale& scale, std::size_t codecs) {
    for (std::size_t i = 0; i < codecs; i += 2) {
        svg.rectangle({panel.left, panel.line(i) - kLine / 2}, panel.end - panel.left, kLine,
                      i == 0 ? kFirstBand : kBand);
    }
    for (const double tick : scale.ticks(panel.right - panel.left)) {
        const double x = panel.x(scale, tick);
        svg.line({x, panel.top}, {x, panel.bottom + 4}, {.color = kHair});
        svg.text({x, panel.bottom + 17}, fmt::format("{:g}", tick),
                 {.fill = kQuiet, .size = 12, .anchor = "middle"});
    }
    svg.line({panel.left, panel.bottom}, {panel.right, panel.bottom}, {.color = kQuiet});
}

void draw_title(Svg& svg, const Panel& panel, std::string_view title, std::string_view remark) {
    const double y = panel.top - kBounds - 8;
    svg.text({panel.left, y}, title, {.fill = kInk, .size = 16, .bold = true});
    if (width_of(title, 17) + width_of(remark, 12) < panel.end - panel.left)
        svg.text({panel.end, y}, remark, {.fill = kQuiet, .size = 12, .anchor = "end"});
}

/// A dotted line per sample, with a hollow mark and the sample's count on top. Labels that would
/// touch stand apart; the marks do not move.
void draw_bounds(
    Svg& svg, const Panel& panel, const Scale& scale, const Content& content, const Group& group) {
    double free = panel.left - 20;
    for (std::size_t i = 0; i < group.samples.size(); ++i) {
        const std::size_t sample = group.samples[i];
        const BenchSample& drawn = content.samples[sample];
        const double bound = content.any_row(sample).bound_bits_per_parameter;
        if (bound <= 0) continue;
        const double x = panel.x(scale, bound);
        svg.line({x, panel.top - 6}, {x, panel.bottom},
                 {.color = ink(1, i), .width = 1.2, .dashes = "2 3"});
        svg.mark({x, panel.top - 10}, {.shape = shape_of(i), .color = ink(1, i), .hollow = true},
                 fmt::format("bound, {}: {:.4f} bits per parameter", drawn.name, bound));
        std::string label = count_of(drawn);
        const bool last = i + 1 == group.samples.size();
        if (!last) label = label.substr(0, label.find(' '));
        const double half = width_of(label, 12) / 2;
        const double middle = last ? std::max(x - 4, free + 6) : std::max(x - half, free + 6);
        svg.text({middle, panel.top - 22}, label, {.fill = kInk, .size = 12});
        free = middle + 2 * half;
        if (last) svg.text({x + 11, panel.top - 6}, "bound", {.fill = kQuiet, .size = 12});
    }
}

void draw_size_line(Svg& svg,
                    const Panel& panel,
                    const Scale& scale,
                    const Content& content,
                    const std::pair<const Group&, std::size_t>& what) {
    const auto& [group, codec] = what;
    const double y = panel.line(codec);
    double least = panel.right;
    double most = panel.left;
    std::string values;
    for (const std::size_t sample : group.samples) {
        const BenchRow* const row = content.row(codec, sample);
        if (row == nullptr) continue;
        least = std::min(least, panel.x(scale, row->bits_per_parameter));
        most = std::max(most, panel.x(scale, row->bits_per_parameter));
        values += (values.empty() ? "" : ", ") + figure(row->bits_per_parameter);
    }
    if (most > least)
        svg.line({least, y}, {most, y}, {.color = ink(codec, 0), .width = codec == 0 ? 2.5 : 1.5});
    for (std::size_t i = 0; i < group.samples.size(); ++i) {
        const std::size_t sample = group.samples[i];
        const BenchRow* const row = content.row(codec, sample);
        if (row == nullptr) continue;
        svg.mark(
            {panel.x(scale, row->bits_per_parameter), y},
            {.shape = shape_of(i), .color = ink(codec, i)},
            fmt::format("{}, {}: {:.4f} bits per parameter, {:.3f} % changed", row->codec,
                        content.samples[sample].name, row->bits_per_parameter, row->changed * 100));
    }
    if (codec > 0 || values.empty()) return;
    for (const char* unit : {" bits", ""}) {
        const std::string said = values + unit;
        if (most + 12 + width_of(said, 12) >= panel.end - 20) continue;
        svg.text({most + 12, y + 4.5}, said, {.fill = kFirstInks[2], .size = 12, .bold = true});
        return;
    }
}

/// How many times the first codec's bytes each codec takes, on the sample in the middle.
void draw_ratios(Svg& svg, const Panel& panel, const Content& content, const Group& group) {
    const std::size_t sample = group.samples[group.samples.size() / 2];
    const std::string count = count_of(content.samples[sample]);
    const BenchRow* const first = content.row(0, sample);
    if (first == nullptr) return;
    svg.text({panel.end - 6, panel.top - 22}, "size / " + content.codecs[0],
             {.fill = kQuiet, .size = 12, .anchor = "end"});
    if (!count.empty()) {
        svg.text({panel.end - 6, panel.top - 6}, "at " + count,
                 {.fill = kQuiet, .size = 12, .anchor = "end"});
    }
    for (std::size_t codec = 0; codec < content.codecs.size(); ++codec) {
        const BenchRow* const row = content.row(codec, sample);
        if (row == nullptr) continue;
        const double ratio = row->bits_per_parameter / first->bits_per_parameter;
        const std::string said = ratio < 9.995 ? fmt::format("{:.2f}", ratio) : figure(ratio);
        svg.text({panel.end - 6, panel.line(codec) + 4.5}, codec == 0 ? "1" : said,
                 {.fill = codec == 0 ? kFirstInks[2] : kInk, .anchor = "end", .bold = codec == 0});
    }
}

void draw_sizes(Svg& svg, const Panel& panel, const Content& content, const Group& group) {
    const Scale scale = content.bits();
    std::string changed;
    for (const std::size_t sample : group.samples) {
        changed += fmt::format("{}{:.2f}", changed.empty() ? "" : ", ",
                               content.any_row(sample).changed * 100);
    }
    draw_frame(svg, panel, scale, content.codecs.size());
    draw_title(svg, panel, group.title, changed + " % changed");
    draw_bounds(svg, panel, scale, content, group);
    for (std::size_t codec = 0; codec < content.codecs.size(); ++codec)
        draw_size_line(svg, panel, scale, content, {group, codec});
    draw_ratios(svg, panel, content, group);
    svg.text({(panel.left + panel.right) / 2, panel.bottom + 32}, "bits per parameter",
             {.fill = kQuiet, .size = 12, .anchor = "middle"});
}

struct Way {
    const char* name;
    double BytesPerSecondRates::*rate;
    SvgShape shape;
    double down;      // from the middle of a codec's line
    double from_end;  // where its figures end
};

constexpr Way kWays[] = {{"encode", &BytesPerSecondRates::encode, SvgShape::right, -5.5, 60},
                         {"decode", &BytesPerSecondRates::decode, SvgShape::left, 5.5, 6}};

Scale speed_scale(const Content& content) {
    double least = 0.5;
    double most = 1;
    for (std::size_t codec = 0; codec < content.codecs.size(); ++codec) {
        for (const Way& way : kWays) {
            for (const double fraction : content.speeds(codec, way.rate)) {
                least = std::min(least, fraction);
                most = std::max(most, fraction);
            }
        }
    }
    return {least, most};
}

/// A line from the slowest to the fastest sample, a mark on the median, the median as a figure.
void draw_speed(Svg& svg,
                const Panel& panel,
                const Scale& scale,
                const Content& content,
                const std::pair<std::size_t, const Way&>& what) {
    const auto& [codec, way] = what;
    std::vector<double> fractions = content.speeds(codec, way.rate);
    if (fractions.empty()) return;
    const auto [slow, fast] = std::ranges::minmax(fractions);
    const double middle = median(std::move(fractions));
    const double y = panel.line(codec) + way.down;
    svg.line({panel.x(scale, slow), y}, {panel.x(scale, fast), y},
             {.color = ink(codec, 0), .width = 1.5});
    svg.mark({panel.x(scale, middle), y}, {.shape = way.shape, .color = ink(codec, 1)},
             fmt::format("{}, {}: {:.3f} of compare, {:.3f} to {:.3f}", content.codecs[codec],
                         way.name, middle, slow, fast));
    svg.text({panel.end - way.from_end, panel.line(codec) + 4.5}, fmt::format("{:.2f}", middle),
             {.fill = codec == 0 ? kFirstInks[2] : kInk, .anchor = "end", .bold = codec == 0});
}

void draw_speeds(Svg& svg, const Panel& panel, const Content& content) {
    const Scale scale = speed_scale(content);
    draw_frame(svg, panel, scale, content.codecs.size());
    draw_title(svg, panel, "speed", "median, range of samples");
    const double compare = panel.x(scale, 1);
    svg.line({compare, panel.top - 20}, {compare, panel.bottom}, {.color = kQuiet, .width = 1.5});
    svg.text({compare, panel.top - 25}, "compare",
             {.fill = kQuiet, .size = 12, .anchor = "middle"});
    double legend = panel.left + 6;
    for (const Way& way : kWays) {
        svg.mark({legend, panel.top - 14}, {.shape = way.shape, .color = kInks[1]}, way.name);
        svg.text({legend + 11, panel.top - 10}, way.name, {.fill = kInk, .size = 12});
        legend += 26 + width_of(way.name, 12);
        svg.text({panel.end - way.from_end, panel.top - 10}, way.name,
                 {.fill = kQuiet, .size = 12, .anchor = "end"});
        for (std::size_t codec = 0; codec < content.codecs.size(); ++codec)
            draw_speed(svg, panel, scale, content, {codec, way});
    }
    svg.text({(panel.left + panel.right) / 2, panel.bottom + 32}, "fraction of compare bandwidth",
             {.fill = kQuiet, .size = 12, .anchor = "middle"});
}

void draw_names(Svg& svg, const Panel& panel, const Content& content) {
    for (std::size_t codec = 0; codec < content.codecs.size(); ++codec) {
        svg.text({panel.left - 12, panel.line(codec) + 4.5}, content.codecs[codec],
                 {.fill = codec == 0 ? kFirstInks[2] : kInk,
                  .size = codec == 0 ? 15 : 13,
                  .anchor = "end",
                  .bold = codec == 0});
    }
}

void draw_header(Svg& svg) {
    svg.text({kMargin, 42}, "Size of a delta, in bits per parameter",
             {.fill = kInk, .size = 26, .bold = true});
    svg.text({kMargin, 67},
             "The whole container but copied file headers; logarithmic, less is better. Filled "
             "marks: a codec on each sample. Hollow marks and dotted lines: the bound of that "
             "sample.",
             {.fill = kQuiet, .size = 14});
}

void draw_footer(Svg& svg, double height, const BenchHost& host) {
    svg.text({kMargin, height - 14},
             "bound: conditional entropy of the change, given the old exponents. compare: memcmp "
             "of two equal versions, as many threads, in turn with each pass. Speeds are this "
             "machine's: " +
                 host.cpu + "; " + host.device + ".",
             {.fill = kQuiet, .size = 12});
}

}  // namespace

std::string bench_plot(const std::vector<BenchSample>& samples,
                       const std::vector<BenchRow>& rows,
                       const BenchHost& host) {
    const Content content(samples, rows);
    const std::size_t panels = content.groups.empty() ? 0 : content.groups.size() + 1;
    const std::size_t panel_rows = (panels + kColumnsMax - 1) / kColumnsMax;
    const std::size_t columns = panels == 0 ? 1 : (panels + panel_rows - 1) / panel_rows;
    const double lines = static_cast<double>(content.codecs.size()) * kLine;
    const double panel_height = kTitle + kBounds + lines + kAxis;
    const double height = kHeader + static_cast<double>(panel_rows) * panel_height + kFooter;
    const double step = (kWidth - 2 * kMargin - kNames + kGap) / static_cast<double>(columns);

    Svg svg(kWidth, height, "Size of a delta, in bits per parameter",
            "One panel per group of samples, one line per codec, and the speed of every codec.");
    svg.rectangle({0, 0}, kWidth, height, kPaper);
    draw_header(svg);
    for (std::size_t i = 0; i < panels; ++i) {
        const bool sizes = i < content.groups.size();
        Panel panel;
        panel.left = kMargin + kNames + static_cast<double>(i % columns) * step;
        panel.end = panel.left + step - kGap;
        panel.right = panel.end - (sizes ? kRatios : kSpeeds);
        panel.top = kHeader + static_cast<double>(i / columns) * panel_height + kTitle + kBounds;
        panel.bottom = panel.top + lines;
        if (i % columns == 0) draw_names(svg, panel, content);
        if (sizes) {
            draw_sizes(svg, panel, content, content.groups[i]);
        } else {
            draw_speeds(svg, panel, content);
        }
    }
    if (panels == 0) svg.text({kMargin, height - kFooter}, "no rows", {.fill = kInk, .size = 14});
    draw_footer(svg, height, host);
    return std::move(svg).finish();
}

}  // namespace refit
