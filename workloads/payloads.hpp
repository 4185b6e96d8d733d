// Bits per parameter of every codec on made-up changes: where a plan takes its payloads from.
//
// Measured   by sampled bit passes over one model, kPayloadModel; one seed. Other models have other
//            shares of each kind of tensor, so what follows for them is extrapolated.
// File       CSV, no quotes; first line "profile,changed,codec,bits_per_parameter". changed: the
//            fraction of words the profile was asked to change. Rates of one profile and codec
//            ascend. `refit plan --measure FILE` writes it.
// Between    two measured rates: a straight line of log(bits) over log(changed). With 3 % left out,
//            the line from 1 to 5 % meets it within 7 % (clustered, xor-zstd). No further.
// Limits     1 MiB, 10,000 rows; 0 < changed <= 1; 0 < bits <= 64.
// Errors     load_payloads(): not_found; invalid_input, where = "FILE:LINE": another header, a
//            wrong number of fields, an unknown profile or codec, a number that is none or out of
//            range, rates that do not ascend. find(): invalid_input, a profile nobody measured or
//            a rate outside the measured ones.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/result.hpp"

namespace refit {

inline constexpr std::string_view kPayloadModel = "qwen3-30b-a3b";

struct PayloadRow {
    std::string profile;
    double changed = 0;
    std::string codec;
    double bits_per_parameter = 0;
};

/// One codec at one rate; the measured rates it follows from, equal where it is one of them.
struct PayloadBits {
    double bits_per_parameter = 0;
    double below = 0;
    double above = 0;
};

class PayloadTable {
public:
    /// Rows with sound values, rates ascending.
    explicit PayloadTable(const std::vector<PayloadRow>& rows);

    std::vector<std::string> profiles() const;
    /// Of a profile, sorted; empty for one that nobody measured.
    std::vector<std::string> codecs(const std::string& profile) const;
    Result<PayloadBits> find(const std::string& profile,
                             const std::string& codec,
                             double changed) const;

private:
    using Curve = std::vector<std::pair<double, double>>;  // changed, bits
    std::map<std::string, std::map<std::string, Curve>> curves_;
};

/// `name` stands for the text's file in errors.
Result<PayloadTable> parse_payloads(std::string_view text, const std::string& name);
Result<PayloadTable> load_payloads(const std::filesystem::path& file);

/// The file these rows make, five digits a figure.
std::string payloads_csv(const std::vector<PayloadRow>& rows);

}  // namespace refit
