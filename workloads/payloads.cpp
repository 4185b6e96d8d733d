#include "workloads/payloads.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "engine/codec/codec.hpp"
#include "workloads/profile.hpp"
#include "workloads/text_file.hpp"

namespace refit {
namespace {

constexpr std::string_view kHeader = "profile,changed,codec,bits_per_parameter";
constexpr std::size_t kRowsMax = 10'000;
constexpr double kBitsMax = 64;

Error reason(std::string what) { return Error{ErrorCode::invalid_input, std::move(what)}; }

/// Cut short, so that an error stays one readable line; bytes nobody can read become '?'.
std::string cited(std::string_view text) {
    std::string short_text(text.substr(0, 40));
    for (char& c : short_text)
        if (c < ' ' || c > '~') c = '?';
    return short_text.size() < text.size() ? short_text + "..." : short_text;
}

std::vector<std::string_view> split(std::string_view line) {
    std::vector<std::string_view> fields;
    while (true) {
        const std::size_t comma = line.find(',');
        fields.push_back(line.substr(0, comma));
        if (comma == std::string_view::npos) return fields;
        line.remove_prefix(comma + 1);
    }
}

/// A plain decimal number above 0: digits first, so that no sign, "inf" or "nan" gets through.
Result<double> number(std::string_view name, std::string_view text, double most) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const bool digits = !text.empty() && text.front() >= '0' && text.front() <= '9';
    const auto parsed = std::from_chars(text.data(), end, value);
    if (!digits || parsed.ec != std::errc() || parsed.ptr != end)
        return reason(fmt::format("{}: \"{}\" is no number", name, cited(text)));
    if (!(value > 0 && value <= most))
        return reason(fmt::format("{}: {} must be over 0, at most {}", name, cited(text), most));
    return value;
}

Result<PayloadRow> parse_row(std::string_view line) {
    const auto fields = split(line);
    if (fields.size() != 4) return reason(fmt::format("has {} fields, not 4", fields.size()));
    PayloadRow row{std::string(fields[0]), 0, std::string(fields[2]), 0};
    if (find_profile(row.profile) == nullptr)
        return reason(fmt::format("\"{}\" is no profile", cited(row.profile)));
    if (!find_codec(row.codec).has_value())
        return reason(fmt::format("\"{}\" is no codec", cited(row.codec)));
    REFIT_TRY(changed, number("changed", fields[1], 1));
    REFIT_TRY(bits, number("bits_per_parameter", fields[3], kBitsMax));
    row.changed = changed;
    row.bits_per_parameter = bits;
    return row;
}

std::string percent(double fraction) { return fmt::format("{:.4g} %", 100 * fraction); }

/// A rate read from a flag and one read from a file are the same when only rounding differs.
bool same_rate(double a, double b) { return std::abs(a - b) <= 1e-9 * b; }

}  // namespace

PayloadTable::PayloadTable(const std::vector<PayloadRow>& rows) {
    for (const PayloadRow& row : rows) {
        Curve& curve = curves_[row.profile][row.codec];
        REFIT_ASSERT(curve.empty() || curve.back().first < row.changed);
        curve.emplace_back(row.changed, row.bits_per_parameter);
    }
}

std::vector<std::string> PayloadTable::profiles() const {
    std::vector<std::string> names;
    for (const auto& [name, codecs] : curves_) names.push_back(name);
    return names;
}

std::vector<std::string> PayloadTable::codecs(const std::string& profile) const {
    std::vector<std::string> names;
    if (const auto found = curves_.find(profile); found != curves_.end())
        for (const auto& [name, curve] : found->second) names.push_back(name);
    return names;
}

Result<PayloadBits> PayloadTable::find(const std::string& profile,
                                       const std::string& codec,
                                       double changed) const {
    const auto codecs = curves_.find(profile);
    if (codecs == curves_.end()) {
        return reason(fmt::format("nobody measured payloads of the profile {}, only of {}",
                                  cited(profile), fmt::join(profiles(), ", ")));
    }
    const auto found = codecs->second.find(codec);
    if (found == codecs->second.end())
        return reason(fmt::format("nobody measured {} on the profile {}", cited(codec), profile));
    const Curve& curve = found->second;
    const auto above = std::ranges::find_if(curve, [&](const auto& point) {
        return point.first > changed || same_rate(changed, point.first);
    });
    if (above != curve.end() && same_rate(changed, above->first))
        return PayloadBits{above->second, above->first, above->first};
    if (above == curve.end() || above == curve.begin()) {
        return reason(fmt::format(
            "{} is a rate the table does not reach: {} on {} was measured from {} to {}",
            percent(changed), codec, profile, percent(curve.front().first),
            percent(curve.back().first)));
    }
    const auto below = above - 1;
    const double share = std::log(changed / below->first) / std::log(above->first / below->first);
    return PayloadBits{below->second * std::pow(above->second / below->second, share), below->first,
                       above->first};
}

Result<PayloadTable> parse_payloads(std::string_view text, const std::string& name) {
    std::vector<PayloadRow> rows;
    std::map<std::pair<std::string, std::string>, double> last;
    for (std::size_t line = 1; !text.empty(); ++line) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view record = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const auto at_line = [&](Error error) {
            return in_file(std::move(error), fmt::format("{}:{}", name, line));
        };
        if (line == 1) {
            if (record != kHeader)
                return at_line(reason(fmt::format("the first line must be {}", kHeader)));
            continue;
        }
        if (rows.size() == kRowsMax)
            return at_line(reason(fmt::format("there are more than {} rows", kRowsMax)));
        auto row = parse_row(record);
        if (!row.has_value()) return at_line(row.error());
        double& before = last[{row.value().profile, row.value().codec}];
        if (row.value().changed <= before)
            return at_line(reason("changed: does not ascend from row to row"));
        before = row.value().changed;
        rows.push_back(std::move(row).value());
    }
    if (rows.empty()) return Error{ErrorCode::invalid_input, "has no rows", name};
    return PayloadTable(rows);
}

Result<PayloadTable> load_payloads(const std::filesystem::path& file) {
    auto text = load_text_file(file);
    if (!text.has_value()) return in_file(text.error(), file.string());
    return parse_payloads(text.value(), file.string());
}

std::string payloads_csv(const std::vector<PayloadRow>& rows) {
    std::string text = fmt::format("{}\n", kHeader);
    for (const PayloadRow& row : rows)
        text += fmt::format("{},{},{},{:.5g}\n", row.profile, row.changed, row.codec,
                            row.bits_per_parameter);
    return text;
}

}  // namespace refit
