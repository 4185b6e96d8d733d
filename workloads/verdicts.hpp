// Verdicts on published figures: each row of published.csv against what our own codecs make of it.
//
// Kinds    reproduced           ours within 15 % of it (a speed-up by the time behind it), from
//                               inputs that are not the figure itself
//          beaten               our own codec, under the same inputs, needs less at every end
//          calibrated           it was an input of the comparison or follows from one
//          not_explained        the rest: with the remainder, published minus ours, in its unit
//          not_self_consistent  the row's own numbers exclude each other: verdict_rules.hpp
//          not_compared         nothing of ours stands beside it: the arithmetic says why
// Bytes    bits per parameter of our codec of the row's style, on a stated profile at its rate,
//          x parameters / 8. A training step is set against `adam`; a rate forced by hand against
//          `uniform` and `constant-density`; where it is unknown, `adam` and `uniform`. Words that
//          do not have 16 bits: only xor-zstd, which sees bytes, over as many bytes with as many
//          of them changed. A limit in place of a rate is solved from the bytes: calibrated.
// Seconds  t = a + bytes x 8 / rate. a: least squares through the points of the row's time_fit, a
//          declared constant for systems of that kind and for our codec alike. rate: the row's full
//          transfer, else that of a row of the same system.
// Shape    between points of one time_fit also how bytes rise with the rate; tolerance 2 %.
// Units    bytes, seconds ("s"), "x" for ratios, fractions ("1").
// Total    every row has at least one verdict, in the order of the rows.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/published.hpp"

namespace refit {

enum class VerdictKind : std::uint8_t {
    reproduced,
    beaten,
    calibrated,
    not_explained,
    not_self_consistent,
    not_compared
};

/// "not self-consistent" and so on, for people and documents.
std::string_view verdict_name(VerdictKind kind);

struct Verdict {
    std::string id;  // of the row
    std::string quantity;
    std::string unit;
    std::string codec;    // whose bits are ours; empty where none of our bits enter
    std::string profile;  // of the same
    Interval published;
    std::optional<Interval> ours;
    std::optional<double> ratio;      // ours / published, at the end where they differ most
    std::optional<double> remainder;  // published - ours, at that end, in `unit`
    VerdictKind kind = VerdictKind::not_compared;
    std::vector<Inferred> inferred;
    std::string arithmetic;  // sentences with the numbers
};

/// One measurement that verdicts rest on.
struct NeededFigure {
    std::string codec;
    std::string profile;
    double changed = 0;

    friend bool operator==(const NeededFigure&, const NeededFigure&) = default;
};

double plain_link_seconds(double bytes, double bits_per_second);

/// What our program measured. bits_per_parameter is asked for what needed() lists and nothing else,
/// and answers with a positive number. link_seconds: one payload over one link, no fixed cost.
struct OurFigures {
    std::function<double(const NeededFigure&)> bits_per_parameter;
    std::function<double(double bytes, double bits_per_second)> link_seconds = plain_link_seconds;
};

/// Every measurement that verdicts() will ask for, each once.
std::vector<NeededFigure> needed(std::span<const PublishedRow> rows);

std::vector<Verdict> verdicts(std::span<const PublishedRow> rows, const OurFigures& ours);

}  // namespace refit
