// What must hold for the picture of `refit bench codec`: well-formed, nothing outside, every codec
// and sample named, the same bytes for the same rows; and for the flag that writes it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "app/bench/plot.hpp"
#include "engine/codec/codec.hpp"
#include "tests/app/driver.hpp"

namespace refit {
namespace {

constexpr double kBitsOfFirst = 0.1;

struct Rows {
    std::vector<BenchSample> samples;
    std::vector<BenchRow> rows;
};

/// Every codec on every named sample; the i-th codec takes (i + 1) times the first one's bits.
Rows rows_for(const std::vector<std::pair<std::string, std::string>>& profiles_and_names) {
    Rows made;
    for (const auto& [profile, name] : profiles_and_names) {
        BenchSample sample;
        sample.profile = profile;
        sample.name = name;
        double bits = kBitsOfFirst * static_cast<double>(made.samples.size() % 3 + 1);
        for (const auto& codec : builtin_codecs()) {
            BenchRow row;
            row.codec = codec->name();
            row.name = row.codec + "/" + name;
            row.sample = made.samples.size();
            row.changed = 0.03;
            row.bits_per_parameter = bits;
            row.bound_bits_per_parameter = kBitsOfFirst * 0.9;
            row.rates = {.encode = 1e9, .decode = 2e9, .compare = 8e9, .copy = 9e9};
            row.exact = true;
            made.rows.push_back(row);
            bits += kBitsOfFirst * static_cast<double>(made.samples.size() % 3 + 1);
        }
        made.samples.push_back(sample);
    }
    return made;
}

Rows usual_rows() {
    return rows_for({{"uniform", "uniform-1%"},
                     {"uniform", "uniform-3%"},
                     {"uniform", "uniform-5%"},
                     {"random-bits", "random-bits-3%"},
                     {"trace", "dense-1-step"},
                     {"trace", "dense-16-steps"},
                     {"files", "files"}});
}

std::string plot_of(const Rows& rows) {
    return bench_plot(rows.samples, rows.rows, {"a processor", "a device", 2, 1});
}

/// The elements of a document in order, as the text between < and >; fails where one is not closed,
/// a quote stays open, or & begins no entity.
std::vector<std::string> elements_of(const std::string& xml) {
    std::vector<std::string> found;
    std::vector<std::string> open;
    std::size_t at = 0;
    while ((at = xml.find('<', at)) != std::string::npos) {
        const std::size_t end = xml.find('>', at);
        if (end == std::string::npos) {
            ADD_FAILURE() << "an open tag at " << at;
            return found;
        }
        const std::string tag = xml.substr(at + 1, end - at - 1);
        const std::string name = tag.substr(0, tag.find_first_of(" /", 1));
        EXPECT_EQ(std::ranges::count(tag, '"') % 2, 0) << tag;
        EXPECT_EQ(tag.find('<'), std::string::npos) << tag;
        if (tag.front() == '/') {
            if (open.empty() || open.back() != tag.substr(1)) {
                ADD_FAILURE() << tag << " closes " << (open.empty() ? "nothing" : open.back());
                return found;
            }
            open.pop_back();
        } else {
            found.push_back(tag);
            if (!tag.ends_with('/')) open.push_back(name);
        }
        at = end + 1;
        if (open.empty()) {
            EXPECT_EQ(xml.substr(at), "\n");
        }
    }
    EXPECT_TRUE(open.empty());
    for (at = xml.find('&'); at != std::string::npos; at = xml.find('&', at + 1)) {
        const std::string entity = xml.substr(at, xml.find(';', at) - at + 1);
        EXPECT_TRUE(entity == "&amp;" || entity == "&lt;" || entity == "&gt;" || entity == "&quot;")
            << entity.substr(0, 20);
    }
    return found;
}

double number_at(std::string_view text, std::string_view before) {
    const std::size_t at = text.find(before);
    double value = -1e9;
    if (at == std::string_view::npos) return value;
    const char* const first = text.data() + at + before.size();
    std::from_chars(first, text.data() + text.size(), value);
    return value;
}

struct Mark {
    double x = 0;
    double y = 0;
    std::string says;
};

std::vector<Mark> marks_of(const std::string& svg) {
    std::vector<Mark> marks;
    for (std::size_t at = svg.find("<path"); at != std::string::npos;
         at = svg.find("<path", at + 1)) {
        Mark mark;
        const std::string_view element = std::string_view(svg).substr(at, 400);
        mark.x = number_at(element, "d=\"M");
        mark.y = number_at(element, fmt::format("d=\"M{:.1f} ", mark.x));
        const std::size_t says = svg.find("<title>", at) + 7;
        mark.says = svg.substr(says, svg.find('<', says) - says);
        marks.push_back(mark);
    }
    return marks;
}

TEST(BenchPlot, IsOneDocumentWithoutOutsideParts) {
    const std::string svg = plot_of(usual_rows());
    const auto elements = elements_of(svg);
    ASSERT_GT(elements.size(), 100u);
    EXPECT_TRUE(elements.front().starts_with("svg xmlns=\"http://www.w3.org/2000/svg\""));
    EXPECT_NE(svg.find("role=\"img\""), std::string::npos);
    for (const char* outside : {"href", "url(", "<style", "<script", "<image", "file:"})
        EXPECT_EQ(svg.find(outside), std::string::npos) << outside;
    EXPECT_EQ(svg.find("http", svg.find("http") + 1), std::string::npos);  // the name space alone
}

TEST(BenchPlot, NamesEveryCodecAndEverySample) {
    const Rows rows = usual_rows();
    const std::string svg = plot_of(rows);
    for (const auto& codec : builtin_codecs())
        EXPECT_NE(svg.find(fmt::format(">{}</text>", codec->name())), std::string::npos)
            << codec->name();
    for (const char* title : {"uniform", "random-bits", "trace: dense", "files", "speed"})
        EXPECT_NE(svg.find(fmt::format(">{}</text>", title)), std::string::npos) << title;
    for (const char* count : {"1", "3", "5 %", "16 steps", "at 3 %"})
        EXPECT_NE(svg.find(fmt::format(">{}</text>", count)), std::string::npos) << count;
    for (const BenchRow& row : rows.rows) {
        const std::string says = fmt::format("{}, {}: {:.4f} bits per parameter", row.codec,
                                             rows.samples[row.sample].name, row.bits_per_parameter);
        EXPECT_NE(svg.find(says), std::string::npos) << says;
    }
    EXPECT_NE(svg.find("a processor; a device."), std::string::npos);
}

TEST(BenchPlot, MarksAndTextStandInsideThePicture) {
    for (const std::size_t groups : {1u, 4u, 5u, 9u, 10u}) {
        std::vector<std::pair<std::string, std::string>> names;
        for (std::size_t i = 0; i < groups; ++i) {
            const std::string profile = fmt::format("p{}", static_cast<char>('a' + i));
            for (const char* count : {"-1%", "-3%", "-5%"})
                names.emplace_back(profile, profile + count);
        }
        const std::string svg = plot_of(rows_for(names));
        SCOPED_TRACE(groups);
        const auto elements = elements_of(svg);
        const double height = number_at(elements.front(), "height=\"");
        for (const std::string& element : elements) {
            if (!element.starts_with("text")) continue;
            EXPECT_GE(number_at(element, "x=\""), 20) << element;
            EXPECT_LE(number_at(element, "x=\""), 1580) << element;
            EXPECT_GE(number_at(element, "y=\""), 20) << element;
            EXPECT_LE(number_at(element, "y=\""), height - 10) << element;
        }
        for (const Mark& mark : marks_of(svg)) {
            EXPECT_GE(mark.x, 130) << mark.says;
            EXPECT_LE(mark.x, 1580) << mark.says;
            EXPECT_GE(mark.y, 88) << mark.says;
            EXPECT_LE(mark.y, height - 60) << mark.says;
        }
    }
    EXPECT_EQ(number_at(plot_of(usual_rows()), "height=\""), 510);  // one row of panels
}

/// Equal factors are equal distances, on one line per codec.
TEST(BenchPlot, AxisIsLogarithmic) {
    Rows rows = rows_for({{"a", "a-1%"}, {"a", "a-2%"}, {"a", "a-3%"}});
    for (BenchRow& row : rows.rows) {
        const double bits[] = {0.1, 1, 10};
        row.bits_per_parameter = bits[row.sample];
    }
    std::map<std::string, std::vector<Mark>> lines;
    for (const Mark& mark : marks_of(plot_of(rows)))
        if (mark.says.find("% changed") != std::string::npos)
            lines[mark.says.substr(0, mark.says.find(','))].push_back(mark);
    EXPECT_EQ(lines.size(), builtin_codecs().size());
    double before = 0;
    for (const auto& codec : builtin_codecs()) {
        const auto& marks = lines[std::string(codec->name())];
        ASSERT_EQ(marks.size(), 3u);
        EXPECT_GT(marks[1].x - marks[0].x, 100);
        EXPECT_NEAR(marks[1].x - marks[0].x, marks[2].x - marks[1].x, 0.21);
        EXPECT_EQ(marks[0].y, marks[2].y);
        EXPECT_GT(marks[0].y, before);  // in the order of the rows
        before = marks[0].y;
    }
}

TEST(BenchPlot, FirstCodecIsTheMeasureAndStandsOut) {
    const std::string svg = plot_of(rows_for({{"a", "a-3%"}}));
    const std::string first(builtin_codecs().front()->name());
    EXPECT_EQ(first, "xc");
    EXPECT_NE(svg.find("font-weight=\"700\">xc</text>"), std::string::npos);
    EXPECT_EQ(svg.find("font-weight=\"700\">full</text>"), std::string::npos);
    EXPECT_NE(svg.find(">size / xc</text>"), std::string::npos);
    for (std::size_t times = 2; times <= builtin_codecs().size(); ++times) {
        const std::string ratio =
            fmt::format(">{:.{}f}</text>", static_cast<double>(times), times < 10 ? 2 : 1);
        EXPECT_NE(svg.find(ratio), std::string::npos) << ratio;
    }
}

TEST(BenchPlot, SameRowsGiveTheSameBytesWhateverTheClockSaid) {
    const Rows rows = usual_rows();
    EXPECT_EQ(bench_plot(rows.samples, rows.rows, {"c", "d", 2, 1}),
              bench_plot(rows.samples, rows.rows, {"c", "d", 2, 99}));
    Rows other = rows;
    other.rows.front().bits_per_parameter *= 2;
    EXPECT_NE(plot_of(other), plot_of(rows));
}

TEST(BenchPlot, EscapesWhatAHostOrASampleIsCalled) {
    Rows rows = rows_for({{"a<b>&\"c\"", "a<b>&\"c\"-3%"}});
    rows.rows.front().codec = "x&<y>";
    const std::string svg =
        bench_plot(rows.samples, rows.rows, {"R&D \"<fast>\"", "tab\there", 2, 1});
    elements_of(svg);
    EXPECT_NE(svg.find("R&amp;D &quot;&lt;fast&gt;&quot;"), std::string::npos);
    EXPECT_NE(svg.find(">a&lt;b&gt;&amp;&quot;c&quot;</text>"), std::string::npos);
    EXPECT_NE(svg.find(">x&amp;&lt;y&gt;</text>"), std::string::npos);
    EXPECT_EQ(svg.find('\t'), std::string::npos);
}

TEST(BenchPlot, RowsThatCannotBeDrawnAreLeftOut) {
    const std::string empty = plot_of({});
    elements_of(empty);
    EXPECT_NE(empty.find(">no rows</text>"), std::string::npos);
    EXPECT_TRUE(marks_of(empty).empty());

    Rows rows = rows_for({{"a", "a-1%"}, {"b", "b-1%"}});
    for (BenchRow& row : rows.rows) {
        if (row.sample == 0) row.exact = false;
        if (row.codec == "full") row.bits_per_parameter = 0;
        row.bound_bits_per_parameter = 0;
        row.rates = {};
    }
    const std::string svg = plot_of(rows);
    elements_of(svg);
    for (const char* bad : {"nan", "inf", "a-1%", ">full<"})
        EXPECT_EQ(svg.find(bad), std::string::npos) << bad;
    EXPECT_NE(svg.find("b-1%"), std::string::npos);
    const auto speeds = std::ranges::count_if(marks_of(svg), [](const Mark& mark) {
        return mark.says.find("compare") != mark.says.npos;
    });
    EXPECT_EQ(speeds, 0);
}

Outcome bench_to(const std::filesystem::path& file, std::vector<std::string> library) {
    std::vector<std::string> arguments{"bench",
                                       "--words",
                                       "64Ki",
                                       "--codec",
                                       "xc",
                                       "--plot",
                                       file.string(),
                                       "--",
                                       "--benchmark_min_time=0.000001",
                                       "--benchmark_repetitions=1"};
    arguments.insert(arguments.end(), library.begin(), library.end());
    return run_refit(arguments);
}

TEST(BenchPlot, TheFlagWritesTheFileOrNothing) {
    const TestFolder folder;
    const auto plot = folder / "plot.svg";
    const Outcome good = bench_to(plot, {"--benchmark_filter=uniform-3"});
    ASSERT_EQ(good.code, 0) << good.err;
    const std::string svg = read_text_file(plot);
    elements_of(svg);
    EXPECT_NE(svg.find("xc, uniform-3%: "), std::string::npos);

    EXPECT_EQ(bench_to(folder / "wrong.svg", {"--benchmark_filter=nothing"}).code, 2);
    EXPECT_EQ(bench_to(folder / "none" / "plot.svg", {}).code, 3);
    EXPECT_EQ(bench_to(folder.path(), {}).code, 3);
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path()))
        ++files;
    EXPECT_EQ(files, 1u);
}

}  // namespace
}  // namespace refit
