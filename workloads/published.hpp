// What others have published about refits: the rows of published.csv, as plain data.
//
// File     CSV as RFC 4180 has it, printable ASCII; first line: the column names, in their order.
//          A number is plain ("5.608e9"), a range ("12-40") or absent; full_bytes and full_seconds
//          may be lists of them, "a/b/c", of one length. Units: bytes, seconds, bits per second,
//          bits per word; changed, saving: fractions. A range of changed that begins with 0 is a
//          limit: the rate itself was not published.
// Columns  style: our codec of the same encoding, "full" for whole checkpoints, empty if not
//          known. time_fit: the set of rows that share one fixed cost and one rate; rows of it with
//          payload and seconds are its points. rate_origin: a training step, a rate forced by
//          hand, unknown, or none. inferred: "name = value (from); ...": inputs of a comparison
//          that the source does not state. anchor_every: full checkpoints, one in so many.
// Limit    1 MiB, 1000 rows, 4096 bytes a line.
// Errors   load_published(): not_found; invalid_input, where = "FILE:LINE": another header, a wrong
//          number of fields, a number that is none or out of range, an unknown style, a duplicate
//          id, a row that claims nothing, a broken quote, a byte that is not printable.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.hpp"

namespace refit {

/// A published number; low == high unless a range was published.
struct Interval {
    double low = 0;
    double high = 0;
};

/// An input of a comparison that the source of a figure does not state.
struct Inferred {
    std::string name;
    std::string value;
    std::string from;
};

/// How the change rate of a row came about.
enum class RateOrigin : std::uint8_t { step, forced, unknown, none };

struct PublishedRow {
    std::string id;
    std::string system;
    std::string source;
    std::string model;
    std::optional<Interval> parameters;
    unsigned word_bits = 16;
    std::vector<Interval> full_bytes;  // empty: not published
    std::optional<Interval> changed;
    std::optional<Interval> payload_bytes;
    std::optional<Interval> seconds;
    std::vector<Interval> full_seconds;
    std::optional<Interval> speedup;     // of times
    std::optional<Interval> byte_ratio;  // of bytes, often published as a speed-up
    std::optional<Interval> saving;      // of bytes, anchors counted
    std::optional<Interval> anchor_every;
    std::string link;
    std::optional<Interval> link_bits_per_second;
    std::string style;
    std::string time_fit;
    RateOrigin rate_origin = RateOrigin::none;
    std::vector<Inferred> inferred;
    std::string note;
};

Result<std::vector<PublishedRow>> load_published(const std::filesystem::path& file);

/// The same of a text; `name` stands for the file in errors.
Result<std::vector<PublishedRow>> parse_published(std::string_view text, const std::string& name);

/// What a row claims, in a few words: "3 % changed: 5.608 GB, 24.1 s".
std::string claims(const PublishedRow& row);

/// "12-40", "under 60" for 0-60, or one number if both ends are the same; four digits.
std::string interval_text(const Interval& interval);

std::string bytes_text(const Interval& bytes);       // 5.608 GB, 20-35 MB
std::string words_text(const Interval& words);       // 30-1000 billion
std::string percent_text(const Interval& fraction);  // 3 %, 0.5593-0.9787 %

}  // namespace refit
