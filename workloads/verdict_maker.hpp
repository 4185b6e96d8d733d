// The rules of verdicts.hpp at work: one row at a time, bytes in verdict_bytes.cpp, times in
// verdict_times.cpp. A row that contradicts itself gets nothing of ours beside it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/verdict_rules.hpp"
#include "workloads/verdicts.hpp"

namespace refit {

class VerdictMaker {
public:
    VerdictMaker(std::span<const PublishedRow> rows, const OurFigures& ours)
        : rows_(rows), ours_(ours) {}

    void judge(const PublishedRow& row);

    std::vector<Verdict> take() { return std::move(verdicts_); }

private:
    /// Whose bits, on which words: the inputs of a figure of ours.
    struct Setting {
        std::string codec;
        std::string profile;
        Interval changed;
        std::vector<Inferred> inferred;
    };
    /// What a transfer over the link of a row costs beside its bytes.
    struct Transfer {
        TimeFit fit;
        double bits_per_second = 0;
        std::vector<Inferred> inferred;
    };

    void judge_contradictory(const PublishedRow& row, const std::vector<Contradiction>& found);
    void judge_bytes(const PublishedRow& row);
    void judge_limit(const PublishedRow& row, const Interval& words);
    void judge_unknown_style(const PublishedRow& row, const Interval& words);
    void judge_payload(const PublishedRow& row, const Interval& words, const Setting& setting);
    void judge_byte_ratio(const PublishedRow& row, Verdict payload);
    void judge_saving(const PublishedRow& row);
    void judge_shape(const PublishedRow& row);
    void judge_times(const PublishedRow& row);
    void judge_full_seconds(const PublishedRow& row);
    void judge_fit_point(const PublishedRow& row);
    void judge_transfer(const PublishedRow& row, const Transfer& transfer, const Setting& setting);
    void judge_refit_seconds(const PublishedRow& row, const Transfer& transfer, Verdict verdict);
    void judge_speedup(const PublishedRow& row, const Transfer& transfer, Verdict verdict);

    /// The row's style, then our own codec, on each profile its rate asks for.
    std::vector<Setting> settings(const PublishedRow& row, const Interval& changed) const;

    double bits(const Setting& setting, double changed) const {
        return ours_.bits_per_parameter({setting.codec, setting.profile, changed});
    }
    /// Our bytes at both ends: fewest words at the lowest rate, most at the highest. Nothing where
    /// a codec of 16-bit words has no say; what had to be assumed goes to setting.inferred.
    std::optional<Interval> our_bytes(const PublishedRow& row,
                                      const Interval& words,
                                      Setting& setting) const;
    std::string if_scaled(const PublishedRow& row, const TimeFit& fit) const;
    std::optional<Transfer> transfer_of(const PublishedRow& row) const;

    Verdict& add(Verdict verdict);
    void add_not_compared(const PublishedRow& row,
                          std::string_view quantity,
                          const Interval& published,
                          std::string arithmetic);

    std::span<const PublishedRow> rows_;
    const OurFigures& ours_;
    std::vector<Verdict> verdicts_;
};

/// A verdict of `row` with its inferred inputs; the unit follows from the quantity.
Verdict verdict_of(const PublishedRow& row, std::string_view quantity, const Interval& published);

/// Fills ours, ratio, remainder and kind: reproduced, beaten or not_explained.
void compare_into(Verdict& verdict, const Interval& ours);

/// First and last of the published values.
Interval span_of(const std::vector<Interval>& values);

inline constexpr std::string_view kOwnCodec = "xc";

}  // namespace refit
