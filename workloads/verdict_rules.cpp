#include "workloads/verdict_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace refit {
namespace {

constexpr double kFullTolerance = 0.10;      // of a model's size: embeddings, scales, rounding
constexpr double kWidthTolerance = 0.05;     // of 48 bits per change: rounded rates and payloads
constexpr double kRoundingTolerance = 0.10;  // of a published quotient

bool overlap(const Interval& a, const Interval& b, double tolerance) {
    return a.low * (1 - tolerance) <= b.high && b.low <= a.high * (1 + tolerance);
}

Interval quotient(const Interval& above, const Interval& below) {
    return {above.low / below.high, above.high / std::max(below.low, 1e-300)};
}

using Found = std::vector<Contradiction>;

void check_full(const PublishedRow& row, Found& found) {
    if (!row.parameters || row.full_bytes.size() != 1) return;
    const double bytes_each = row.word_bits / 8.0;
    const Interval model{row.parameters->low * bytes_each, row.parameters->high * bytes_each};
    if (overlap(row.full_bytes[0], model, kFullTolerance)) return;
    found.push_back({{"full_bytes", "full_seconds", "byte_ratio", "speedup", "saving"},
                     fmt::format("{} parameters of {} bits are {}, the full transfer it is "
                                 "compared with is {}.",
                                 words_text(*row.parameters), row.word_bits, bytes_text(model),
                                 bytes_text(row.full_bytes[0]))});
}

void check_width(const PublishedRow& row, const Interval& words, Found& found) {
    const Interval changed{row.changed->low * words.low, row.changed->high * words.high};
    const Interval bits =
        quotient({row.payload_bytes->low * 8, row.payload_bytes->high * 8}, changed);
    if (overlap(bits, {kIndexValueBits, kIndexValueBits}, kWidthTolerance)) return;
    found.push_back(
        {{"payload_bytes", "byte_ratio", "saving"},
         fmt::format("{} of {} words changed make {} at an int32 index and a 16-bit value each; "
                     "published are {}, {} bits per change where 48 are needed.",
                     percent_text(*row.changed), words_text(words),
                     bytes_text({changed.low * 6, changed.high * 6}),
                     bytes_text(*row.payload_bytes), interval_text(bits))});
}

void check_bound(const PublishedRow& row, const Interval& words, Found& found) {
    const double rate = row.changed->low;
    if (rate <= 0) return;
    const double least = bound_bits_per_parameter(rate, 1) * words.low / 8;
    if (row.payload_bytes->high >= least) return;
    const double bits = row.payload_bytes->high * 8 / words.low;
    found.push_back(
        {{"payload_bytes", "byte_ratio", "saving"},
         fmt::format("Which {} of {} words changed takes H(p)/p = {:.4g} bits per change at random "
                     "places and its direction 1 more: {}. Published are {}, {:.3g} bits per "
                     "change; the places alone are {}.",
                     percent_text(*row.changed), words_text(words), position_bits(rate),
                     bytes_text({least, least}), bytes_text(*row.payload_bytes), bits / rate,
                     bytes_text({bound_bits_per_parameter(rate, 0) * words.low / 8,
                                 bound_bits_per_parameter(rate, 0) * words.high / 8}))});
}

void check_quotient(const std::optional<Interval>& claimed,
                    const Interval& implied,
                    std::string_view quantity,
                    Found& found) {
    if (!claimed || overlap(*claimed, implied, kRoundingTolerance)) return;
    found.push_back({{quantity},
                     fmt::format("The row's own numbers give {}, published are {}.",
                                 interval_text(implied), interval_text(*claimed))});
}

void check_saving(const PublishedRow& row, const Interval& full, Found& found) {
    if (!row.saving || !row.anchor_every) return;
    const Interval sent = quotient(*row.payload_bytes, full);
    const auto part = [](double one, double every) { return (1 + (every - 1) * one) / every; };
    const Interval left{part(sent.low, row.anchor_every->high),
                        part(sent.high, row.anchor_every->low)};
    if (overlap({1 - row.saving->high, 1 - row.saving->low}, left, kTolerance)) return;
    found.push_back(
        {{"saving"},
         fmt::format("Deltas of {} and a full checkpoint in {} leave {} of the bytes, "
                     "published are {}.",
                     percent_text(sent), interval_text(*row.anchor_every), percent_text(left),
                     percent_text({1 - row.saving->high, 1 - row.saving->low}))});
}

/// The end of two intervals for which `worse` says so.
template <class Worse>
Comparison pick(const Interval& published, const Interval& ours, bool more, Worse worse) {
    const auto at = [more](double theirs, double mine) {
        const double ratio = mine / theirs;
        return Comparison{ratio, theirs - mine, more ? 1 / ratio : ratio};
    };
    const Comparison high = at(published.high, ours.high);
    if (published.low <= 0) return high;
    const Comparison low = at(published.low, ours.low);
    return worse(low, high) ? low : high;
}

}  // namespace

double position_bits(double changed) { return bound_bits_per_parameter(changed, 0) / changed; }

double bound_bits_per_parameter(double changed, double bits_each) {
    const double kept = 1 - changed;
    const double places =
        -(changed > 0 ? changed * std::log2(changed) : 0) - (kept > 0 ? kept * std::log2(kept) : 0);
    return places + changed * bits_each;
}

std::optional<double> changed_at(double bits_per_parameter, double bits_each) {
    double low = 0;
    double high = 0.5;
    if (bits_each < 0 || bits_per_parameter <= 0 ||
        bits_per_parameter > bound_bits_per_parameter(high, bits_each))
        return std::nullopt;
    for (int i = 0; i < 100; ++i) {
        const double middle = (low + high) / 2;
        (bound_bits_per_parameter(middle, bits_each) < bits_per_parameter ? low : high) = middle;
    }
    return high;
}

bool is_fit_point(const PublishedRow& row) {
    return !row.time_fit.empty() && row.payload_bytes && row.seconds;
}

std::optional<TimeFit> fit_time(std::span<const PublishedRow> rows, std::string_view name) {
    std::vector<std::array<double, 2>> points;
    std::array<double, 2> mean{};
    for (const PublishedRow& row : rows) {
        if (row.time_fit != name || !is_fit_point(row)) continue;
        points.push_back({(row.payload_bytes->low + row.payload_bytes->high) / 2,
                          (row.seconds->low + row.seconds->high) / 2});
        mean[0] += points.back()[0];
        mean[1] += points.back()[1];
    }
    if (points.size() < 2) return std::nullopt;
    for (double& sum : mean) sum /= static_cast<double>(points.size());
    double spread = 0;
    double product = 0;
    for (const auto& [bytes, seconds] : points) {
        spread += (bytes - mean[0]) * (bytes - mean[0]);
        product += (bytes - mean[0]) * (seconds - mean[1]);
    }
    if (!(spread > 0) || !(product > 0)) return std::nullopt;
    const double slope = product / spread;
    return TimeFit{mean[1] - slope * mean[0], slope, points.size()};
}

std::optional<Interval> words_of(const PublishedRow& row) {
    if (row.parameters) return row.parameters;
    if (row.full_bytes.size() != 1) return std::nullopt;
    const double each = 8.0 / row.word_bits;
    return Interval{row.full_bytes[0].low * each, row.full_bytes[0].high * each};
}

std::optional<Interval> full_bytes_of(const PublishedRow& row) {
    if (row.full_bytes.size() == 1) return row.full_bytes[0];
    if (!row.parameters) return std::nullopt;
    const double each = row.word_bits / 8.0;
    return Interval{row.parameters->low * each, row.parameters->high * each};
}

bool is_limit(const PublishedRow& row) { return row.changed && row.changed->low == 0; }

std::vector<Contradiction> contradictions(const PublishedRow& row) {
    Found found;
    check_full(row, found);
    const auto words = words_of(row);
    if (words && row.changed && row.payload_bytes && row.style != "full") {
        if (row.style == "index-value") {
            check_width(row, *words, found);
        } else {
            check_bound(row, *words, found);
        }
    }
    const auto full = full_bytes_of(row);
    if (full && row.payload_bytes) {
        check_quotient(row.byte_ratio, quotient(*full, *row.payload_bytes), "byte_ratio", found);
        check_saving(row, *full, found);
    }
    if (row.full_seconds.size() == 1 && row.seconds)
        check_quotient(row.speedup, quotient(row.full_seconds[0], *row.seconds), "speedup", found);
    return found;
}

Comparison compare(const Interval& published, const Interval& ours, bool more_is_better) {
    return pick(published, ours, more_is_better, [](const Comparison& a, const Comparison& b) {
        return std::abs(std::log(a.ratio)) > std::abs(std::log(b.ratio));
    });
}

Comparison compare_worst(const Interval& published, const Interval& ours, bool more_is_better) {
    return pick(published, ours, more_is_better,
                [](const Comparison& a, const Comparison& b) { return a.cost > b.cost; });
}

}  // namespace refit
