#include "workloads/published.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>
#include <set>

#include "engine/codec/codec.hpp"
#include "workloads/text_file.hpp"

namespace refit {
namespace {

constexpr std::size_t kRowsMax = 1000;
constexpr std::size_t kLineMax = 4096;  // so that an error that cites a field stays readable
constexpr double kNumberMax = 1e18;

Error at_line(const std::string& name, std::size_t line, const std::string& what) {
    return Error{ErrorCode::invalid_input, what, fmt::format("{}:{}", name, line)};
}

Error reason(const std::string& what) { return Error{ErrorCode::invalid_input, what}; }

/// The fields of one line; a line break inside quotes is refused, so that a record is a line.
Result<std::vector<std::string>> split_record(std::string_view line) {
    std::vector<std::string> fields;
    std::size_t at = 0;
    while (true) {
        std::string field;
        if (at < line.size() && line[at] == '"') {
            ++at;
            while (true) {
                if (at == line.size()) return reason("a quote is not closed on this line");
                const char c = line[at++];
                if (c != '"') {
                    field += c;
                } else if (at < line.size() && line[at] == '"') {
                    field += '"';
                    ++at;
                } else {
                    break;
                }
            }
            if (at < line.size() && line[at] != ',') return reason("text behind a closing quote");
        } else {
            const std::size_t end = std::min(line.find(',', at), line.size());
            field = line.substr(at, end - at);
            if (field.find('"') != std::string::npos) return reason("a quote inside a plain field");
            at = end;
        }
        fields.push_back(std::move(field));
        if (at == line.size()) return fields;
        ++at;
    }
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const std::size_t end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + separator.size());
    }
}

/// A plain decimal number: digits first, so that no sign, "inf" or "nan" gets through.
std::optional<double> parse_number(std::string_view text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
    const auto parsed = std::from_chars(text.data(), end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end || !(value <= kNumberMax))
        return std::nullopt;
    return value;
}

Result<Interval> parse_interval(std::string_view text) {
    std::size_t dash = text.find('-');
    if (dash != std::string_view::npos && dash > 0 && (text[dash - 1] | 0x20) == 'e')
        dash = text.find('-', dash + 1);  // that one belonged to an exponent
    const auto low = parse_number(text.substr(0, dash));
    const auto high = dash == std::string_view::npos ? low : parse_number(text.substr(dash + 1));
    if (!low || !high) return reason(fmt::format("\"{}\" is no number and no range", text));
    if (*low > *high) return reason(fmt::format("the range {} runs backwards", text));
    if (*high == 0) return reason("0 is nothing to publish");
    return Interval{*low, *high};
}

Result<std::vector<Inferred>> parse_inferred(std::string_view text) {
    std::vector<Inferred> list;
    if (text.empty()) return list;
    for (const std::string_view entry : split(text, "; ")) {
        const std::size_t equals = entry.find(" = ");
        const std::size_t open = entry.find(" (", equals);
        if (equals == std::string_view::npos || equals == 0 || open == std::string_view::npos ||
            open <= equals + 3 || entry.back() != ')')
            return reason(fmt::format("inferred: \"{}\" is not NAME = VALUE (FROM)", entry));
        list.push_back({std::string(entry.substr(0, equals)),
                        std::string(entry.substr(equals + 3, open - equals - 3)),
                        std::string(entry.substr(open + 2, entry.size() - open - 3))});
    }
    return list;
}

// --- columns ---------------------------------------------------------------------------------

using Read = std::function<Status(PublishedRow&, std::string_view)>;

struct Column {
    std::string_view name;
    Read read;
};

Read text_into(std::string PublishedRow::*member, bool required) {
    return [member, required](PublishedRow& row, std::string_view text) -> Status {
        if (required && text.empty()) return reason("is missing");
        row.*member = text;
        return Done{};
    };
}

Read interval_into(std::optional<Interval> PublishedRow::*member, double most) {
    return [member, most](PublishedRow& row, std::string_view text) -> Status {
        if (text.empty()) return Done{};
        REFIT_TRY(interval, parse_interval(text));
        if (interval.high > most) return reason(fmt::format("{} is more than {}", text, most));
        row.*member = interval;
        return Done{};
    };
}

Read list_into(std::vector<Interval> PublishedRow::*member) {
    return [member](PublishedRow& row, std::string_view text) -> Status {
        if (text.empty()) return Done{};
        for (const std::string_view part : split(text, "/")) {
            REFIT_TRY(interval, parse_interval(part));
            (row.*member).push_back(interval);
        }
        return Done{};
    };
}

Status read_word_bits(PublishedRow& row, std::string_view text) {
    for (const unsigned bits : {4u, 8u, 16u, 32u}) {
        if (text == std::to_string(bits)) {
            row.word_bits = bits;
            return Done{};
        }
    }
    return reason(fmt::format("\"{}\" is not 4, 8, 16 or 32", text));
}

Status read_style(PublishedRow& row, std::string_view text) {
    if (!text.empty() && !find_codec(text).has_value())
        return reason(fmt::format("there is no codec \"{}\"", text));
    row.style = text;
    return Done{};
}

Status read_origin(PublishedRow& row, std::string_view text) {
    constexpr std::string_view kNames[] = {"step", "forced", "unknown", "none"};
    const auto* const found = std::ranges::find(kNames, text);
    if (found == std::end(kNames))
        return reason(fmt::format("\"{}\" is not step, forced, unknown or none", text));
    row.rate_origin = static_cast<RateOrigin>(found - std::begin(kNames));
    return Done{};
}

std::vector<Column> columns() {
    using Row = PublishedRow;
    return {
        {"id", text_into(&Row::id, true)},
        {"system", text_into(&Row::system, true)},
        {"source", text_into(&Row::source, true)},
        {"model", text_into(&Row::model, true)},
        {"parameters", interval_into(&Row::parameters, kNumberMax)},
        {"word_bits", read_word_bits},
        {"full_bytes", list_into(&Row::full_bytes)},
        {"changed", interval_into(&Row::changed, 1)},
        {"payload_bytes", interval_into(&Row::payload_bytes, kNumberMax)},
        {"seconds", interval_into(&Row::seconds, kNumberMax)},
        {"full_seconds", list_into(&Row::full_seconds)},
        {"speedup", interval_into(&Row::speedup, kNumberMax)},
        {"byte_ratio", interval_into(&Row::byte_ratio, kNumberMax)},
        {"saving", interval_into(&Row::saving, 1)},
        {"anchor_every", interval_into(&Row::anchor_every, kNumberMax)},
        {"link", text_into(&Row::link, false)},
        {"link_bits_per_second", interval_into(&Row::link_bits_per_second, kNumberMax)},
        {"style", read_style},
        {"time_fit", text_into(&Row::time_fit, false)},
        {"rate_origin", read_origin},
        {"inferred",
         [](Row& row, std::string_view text) -> Status {
             REFIT_TRY(list, parse_inferred(text));
             row.inferred = std::move(list);
             return Done{};
         }},
        {"note", text_into(&Row::note, false)},
    };
}

/// What no single field shows.
Status check_row(const PublishedRow& row) {
    if (!row.payload_bytes && !row.seconds && row.full_seconds.empty() && !row.speedup &&
        !row.byte_ratio && !row.saving)
        return reason("the row claims nothing");
    if (row.full_bytes.size() > 1 && row.full_bytes.size() != row.full_seconds.size())
        return reason(fmt::format("{} full_bytes beside {} full_seconds", row.full_bytes.size(),
                                  row.full_seconds.size()));
    if (row.full_seconds.size() > 1 && row.full_bytes.size() != row.full_seconds.size())
        return reason(fmt::format("{} full_seconds beside {} full_bytes", row.full_seconds.size(),
                                  row.full_bytes.size()));
    return Done{};
}

Result<PublishedRow> parse_row(std::string_view line, const std::vector<Column>& columns) {
    REFIT_TRY(fields, split_record(line));
    if (fields.size() != columns.size())
        return reason(fmt::format("{} fields, the header has {}", fields.size(), columns.size()));
    PublishedRow row;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const Status read = columns[i].read(row, fields[i]);
        if (!read.has_value())
            return reason(fmt::format("{}: {}", columns[i].name, read.error().what));
    }
    REFIT_CHECK(check_row(row));
    return row;
}

Status check_header(std::string_view line, const std::vector<Column>& columns) {
    REFIT_TRY(names, split_record(line));
    for (std::size_t i = 0; i < std::max(names.size(), columns.size()); ++i) {
        if (i >= columns.size()) return reason(fmt::format("unknown column \"{}\"", names[i]));
        if (i >= names.size())
            return reason(fmt::format("the column {} is missing", columns[i].name));
        if (names[i] != columns[i].name)
            return reason(
                fmt::format("column {} is \"{}\", expected {}", i + 1, names[i], columns[i].name));
    }
    return Done{};
}

bool is_printable(std::string_view line) {
    return std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

Result<std::vector<PublishedRow>> parse_published(std::string_view text, const std::string& name) {
    const std::vector<Column> known = columns();
    std::vector<PublishedRow> rows;
    std::set<std::string> ids;
    if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    std::size_t number = 0;
    for (std::string_view line : split(text, "\n")) {
        ++number;
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        if (line.size() > kLineMax)
            return at_line(
                name, number,
                fmt::format("a line of {} bytes, the limit is {}", line.size(), kLineMax));
        if (!is_printable(line)) return at_line(name, number, "a byte that is not printable ASCII");
        if (number == 1) {
            const Status header = check_header(line, known);
            if (!header.has_value()) return at_line(name, number, header.error().what);
            continue;
        }
        auto row = parse_row(line, known);
        if (!row.has_value()) return at_line(name, number, row.error().what);
        if (!ids.insert(row.value().id).second)
            return at_line(name, number, fmt::format("the id {} is there twice", row.value().id));
        if (rows.size() == kRowsMax)
            return at_line(name, number, fmt::format("more than {} rows", kRowsMax));
        rows.push_back(std::move(row).value());
    }
    if (rows.empty()) return at_line(name, 1, "no rows behind the header");
    return rows;
}

Result<std::vector<PublishedRow>> load_published(const std::filesystem::path& file) {
    auto text = load_text_file(file);
    if (!text.has_value()) return in_file(text.error(), file.string());
    return parse_published(text.value(), file.string());
}

std::string interval_text(const Interval& interval) {
    const std::string low = fmt::format("{:.4g}", interval.low);
    const std::string high = fmt::format("{:.4g}", interval.high);
    if (low == high) return low;
    return interval.low == 0 ? "under " + high : low + "-" + high;
}

std::string words_text(const Interval& words) {
    if (words.low < 1e8) return interval_text(words);
    return interval_text({words.low / 1e9, words.high / 1e9}) + " billion";
}

std::string bytes_text(const Interval& bytes) {
    const double unit = bytes.high >= 1e9 ? 1e9 : bytes.high >= 1e6 ? 1e6 : 1e3;
    return interval_text({bytes.low / unit, bytes.high / unit}) + (bytes.high >= 1e9   ? " GB"
                                                                   : bytes.high >= 1e6 ? " MB"
                                                                                       : " kB");
}

std::string percent_text(const Interval& fraction) {
    return interval_text({fraction.low * 100, fraction.high * 100}) + " %";
}

std::string claims(const PublishedRow& row) {
    std::string text;
    const auto add = [&text](const std::string& claim) {
        text += (text.empty() ? "" : ", ") + claim;
    };
    if (row.style == "full") {
        add("full checkpoint");
    } else if (row.changed) {
        add(percent_text(*row.changed) + " changed");
    }
    if (row.payload_bytes) add(bytes_text(*row.payload_bytes));
    if (row.seconds) add(interval_text(*row.seconds) + " s");
    std::string full;
    for (const Interval& seconds : row.full_seconds)
        full += fmt::format("{}{}", full.empty() ? "" : "/", interval_text(seconds));
    if (!full.empty()) add(fmt::format("full in {} s", full));
    if (row.speedup) add(interval_text(*row.speedup) + " times faster");
    if (row.byte_ratio) add(interval_text(*row.byte_ratio) + " times fewer bytes");
    if (row.saving) add(percent_text(*row.saving) + " saved");
    return text;
}

}  // namespace refit
