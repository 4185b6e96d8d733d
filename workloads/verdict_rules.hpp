// The arithmetic behind verdicts, without any figure of ours.
//
// Bound    which words changed, at random places, costs H(p) bits per parameter, H the binary
//          entropy; each change at least one bit more for its direction. An encoding that does not
//          look at the base cannot lie below H(p) + p. (One that does may: `xc` on real weights.)
// Fixed    index-value spends 48 bits per change, whatever the data: int32 index, 16-bit value.
// Errors   none: rows come from the reader, and what is missing is skipped.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/published.hpp"

namespace refit {

inline constexpr double kTolerance = 0.15;       // of a reproduced figure
inline constexpr double kShapeTolerance = 0.02;  // of how bytes rise with the rate
inline constexpr double kIndexValueBits = 48;

/// H(p) / p: bits per changed word for its place, 0 < p <= 1.
double position_bits(double changed);

/// H(p) + p x bits_each.
double bound_bits_per_parameter(double changed, double bits_each);

/// The rate in (0, 1/2] at which that bound is `bits_per_parameter`; nothing if none is, or if
/// bits_each < 0.
std::optional<double> changed_at(double bits_per_parameter, double bits_each);

/// t = fixed_seconds + seconds_per_byte x bytes.
struct TimeFit {
    double fixed_seconds = 0;
    double seconds_per_byte = 0;
    std::size_t points = 0;

    double bits_per_second() const { return 8 / seconds_per_byte; }
};

/// Is the row a point of the line its time_fit names?
bool is_fit_point(const PublishedRow& row);

/// Least squares through the points of `name`; nothing without two different payloads, or if bytes
/// would cost no time.
std::optional<TimeFit> fit_time(std::span<const PublishedRow> rows, std::string_view name);

/// Words of the model; from full_bytes where parameters are not published.
std::optional<Interval> words_of(const PublishedRow& row);

/// Bytes of the full checkpoint; from parameters where they are not published.
std::optional<Interval> full_bytes_of(const PublishedRow& row);

/// Was the rate published as a limit only?
bool is_limit(const PublishedRow& row);

/// Numbers of one row that exclude each other.
struct Contradiction {
    std::vector<std::string_view> quantities;  // what cannot be believed therefore
    std::string arithmetic;
};

/// All there are; what is rounded or published as a range gets the benefit of the doubt.
std::vector<Contradiction> contradictions(const PublishedRow& row);

/// How two figures compare, at the end where they differ most.
struct Comparison {
    double ratio = 0;      // ours / published
    double remainder = 0;  // published - ours
    double cost = 0;       // ours / published of what is paid: 1 / ratio of a speed-up
};

Comparison compare(const Interval& published, const Interval& ours, bool more_is_better);

/// The same at the end that is worst for us.
Comparison compare_worst(const Interval& published, const Interval& ours, bool more_is_better);

}  // namespace refit
