#include "workloads/verdicts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "workloads/verdict_maker.hpp"

namespace refit {
namespace {

bool more_is_better(std::string_view quantity) {
    return quantity == "speedup" || quantity == "byte_ratio" || quantity == "saving";
}

std::string_view unit_of(std::string_view quantity) {
    if (quantity == "payload_bytes" || quantity == "full_bytes") return "bytes";
    if (quantity == "seconds" || quantity == "full_seconds") return "s";
    if (quantity == "saving") return "1";
    return "x";
}

struct Claim {
    std::string_view quantity;
    Interval published;
};

std::vector<Claim> claims_of(const PublishedRow& row) {
    std::vector<Claim> claims;
    if (!row.full_bytes.empty()) claims.push_back({"full_bytes", span_of(row.full_bytes)});
    if (row.payload_bytes) claims.push_back({"payload_bytes", *row.payload_bytes});
    if (row.byte_ratio) claims.push_back({"byte_ratio", *row.byte_ratio});
    if (row.saving) claims.push_back({"saving", *row.saving});
    if (!row.full_seconds.empty()) claims.push_back({"full_seconds", span_of(row.full_seconds)});
    if (row.seconds) claims.push_back({"seconds", *row.seconds});
    if (row.speedup) claims.push_back({"speedup", *row.speedup});
    return claims;
}

}  // namespace

std::string_view verdict_name(VerdictKind kind) {
    constexpr std::string_view kNames[] = {"reproduced",          "beaten",
                                           "calibrated",          "not explained",
                                           "not self-consistent", "not compared"};
    return kNames[static_cast<std::size_t>(kind)];
}

double plain_link_seconds(double bytes, double bits_per_second) {
    return bytes * 8 / bits_per_second;
}

Interval span_of(const std::vector<Interval>& values) {
    REFIT_ASSERT(!values.empty());
    Interval span = values.front();
    for (const Interval& value : values)
        span = {std::min(span.low, value.low), std::max(span.high, value.high)};
    return span;
}

Verdict verdict_of(const PublishedRow& row, std::string_view quantity, const Interval& published) {
    Verdict verdict;
    verdict.id = row.id;
    verdict.quantity = quantity;
    verdict.unit = unit_of(quantity);
    verdict.published = published;
    verdict.inferred = row.inferred;
    return verdict;
}

void compare_into(Verdict& verdict, const Interval& ours) {
    const bool own = verdict.codec == kOwnCodec;
    const bool more = more_is_better(verdict.quantity);
    const Comparison compared =
        own ? compare_worst(verdict.published, ours, more) : compare(verdict.published, ours, more);
    verdict.ours = ours;
    verdict.ratio = compared.ratio;
    verdict.remainder = compared.remainder;
    if (own) {
        verdict.kind = compared.cost < 1 ? VerdictKind::beaten : VerdictKind::not_explained;
    } else {
        verdict.kind = std::abs(compared.cost - 1) <= kTolerance ? VerdictKind::reproduced
                                                                 : VerdictKind::not_explained;
    }
}

Verdict& VerdictMaker::add(Verdict verdict) {
    verdicts_.push_back(std::move(verdict));
    return verdicts_.back();
}

void VerdictMaker::add_not_compared(const PublishedRow& row,
                                    std::string_view quantity,
                                    const Interval& published,
                                    std::string arithmetic) {
    add(verdict_of(row, quantity, published)).arithmetic = std::move(arithmetic);
}

void VerdictMaker::judge_contradictory(const PublishedRow& row,
                                       const std::vector<Contradiction>& found) {
    for (const auto& [quantity, published] : claims_of(row)) {
        std::string arithmetic;
        for (const Contradiction& contradiction : found) {
            if (std::ranges::find(contradiction.quantities, quantity) !=
                contradiction.quantities.end())
                arithmetic += (arithmetic.empty() ? "" : " ") + contradiction.arithmetic;
        }
        if (!arithmetic.empty()) {
            Verdict& verdict = add(verdict_of(row, quantity, published));
            verdict.kind = VerdictKind::not_self_consistent;
            verdict.arithmetic = arithmetic;
        } else if (quantity != "full_bytes") {
            add_not_compared(row, quantity, published,
                             "Other numbers of the row exclude each other, so there is no input to "
                             "compare it with.");
        }
    }
}

void VerdictMaker::judge(const PublishedRow& row) {
    const std::vector<Contradiction> found = contradictions(row);
    if (!found.empty()) {
        judge_contradictory(row, found);
        return;
    }
    judge_bytes(row);
    judge_times(row);
}

std::vector<Verdict> verdicts(std::span<const PublishedRow> rows, const OurFigures& ours) {
    VerdictMaker maker(rows, ours);
    for (const PublishedRow& row : rows) maker.judge(row);
    return maker.take();
}

std::vector<NeededFigure> needed(std::span<const PublishedRow> rows) {
    // Which figures are asked for follows from the rows alone, so any answer will do.
    std::vector<NeededFigure> asked;
    OurFigures recorder;
    recorder.bits_per_parameter = [&asked](const NeededFigure& figure) {
        if (std::ranges::find(asked, figure) == asked.end()) asked.push_back(figure);
        return bound_bits_per_parameter(figure.changed, 1);
    };
    (void)verdicts(rows, recorder);
    return asked;
}

}  // namespace refit
