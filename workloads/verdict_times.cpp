// Verdicts on seconds and speed-ups: t = a + bytes x 8 / rate, the same a for every codec.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "workloads/verdict_maker.hpp"

namespace refit {
namespace {

std::string decimals(double value) { return fmt::format("{:.4g}", value); }

std::string gigabits(double bits_per_second) {
    return fmt::format("{:.4g} Gbit/s", bits_per_second / 1e9);
}

/// What a full transfer published with its size came to, in bits per second.
std::optional<double> full_rate(const PublishedRow& row) {
    const auto full = full_bytes_of(row);
    if (!full || row.full_seconds.size() != 1) return std::nullopt;
    return full->high * 8 / row.full_seconds[0].high;
}

/// Does its full transfer set the rate of the link that the rest of the row is compared on?
bool sets_link(const PublishedRow& row) {
    return !row.time_fit.empty() && row.style != "full" && full_rate(row).has_value();
}

}  // namespace

/// The other reading of a fixed cost, which would grow with the model.
std::string VerdictMaker::if_scaled(const PublishedRow& row, const TimeFit& fit) const {
    const auto full = full_bytes_of(row);
    for (const PublishedRow& point : rows_) {
        const auto size = full_bytes_of(point);
        if (point.time_fit != row.time_fit || !is_fit_point(point) || !size || !full) continue;
        const double each = fit.fixed_seconds / size->high;
        return fmt::format("; in proportion to the model it would be {} s",
                           interval_text({each * full->low, each * full->high}));
    }
    return "";
}

std::optional<VerdictMaker::Transfer> VerdictMaker::transfer_of(const PublishedRow& row) const {
    const auto fit = fit_time(rows_, row.time_fit);
    if (row.time_fit.empty() || !fit) return std::nullopt;
    Transfer transfer{*fit, 0, {}};
    const PublishedRow* from = sets_link(row) ? &row : nullptr;
    for (const PublishedRow& other : rows_) {
        if (from == nullptr && other.system == row.system && sets_link(other)) from = &other;
    }
    if (from == nullptr) return std::nullopt;
    transfer.bits_per_second = *full_rate(*from);
    transfer.inferred = {
        {"link rate", gigabits(transfer.bits_per_second),
         fmt::format("the full transfer of {}, {} in {} s", from->id,
                     bytes_text(*full_bytes_of(*from)), interval_text(from->full_seconds[0]))},
        {"fixed cost", decimals(fit->fixed_seconds) + " s",
         fmt::format("least squares through the {} points of {}; a declared constant{}",
                     fit->points, row.time_fit, if_scaled(row, *fit))}};
    return transfer;
}

void VerdictMaker::judge_times(const PublishedRow& row) {
    if (!row.full_seconds.empty()) judge_full_seconds(row);
    if (is_fit_point(row)) {
        judge_fit_point(row);
        return;
    }
    if (!row.seconds && !row.speedup) return;
    const auto transfer = transfer_of(row);
    if (transfer && row.changed && words_of(row) && row.word_bits == 16 && !row.style.empty()) {
        for (const Setting& setting : settings(row, *row.changed))
            judge_transfer(row, *transfer, setting);
        return;
    }
    constexpr std::string_view kWhy =
        "Neither a link rate nor the fixed cost of such a system is published, so no time of ours "
        "belongs to it.";
    if (row.seconds) add_not_compared(row, "seconds", *row.seconds, std::string(kWhy));
    if (row.speedup) add_not_compared(row, "speedup", *row.speedup, std::string(kWhy));
}

void VerdictMaker::judge_full_seconds(const PublishedRow& row) {
    Verdict verdict = verdict_of(row, "full_seconds", span_of(row.full_seconds));
    if (sets_link(row)) {
        const double rate = *full_rate(row);
        const double seconds = ours_.link_seconds(full_bytes_of(row)->high, rate);
        compare_into(verdict, {seconds, seconds});
        verdict.kind = VerdictKind::calibrated;
        verdict.arithmetic = fmt::format("{} x 8 / {} s = {} is what our link was set to.",
                                         bytes_text(*full_bytes_of(row)),
                                         interval_text(row.full_seconds[0]), gigabits(rate));
        if (const auto fit = fit_time(rows_, row.time_fit)) {
            verdict.arithmetic += fmt::format(
                " Independent of it, the points of {} leave {} beside their fixed cost.",
                row.time_fit, gigabits(fit->bits_per_second()));
        }
        add(std::move(verdict));
        return;
    }
    std::string rates;
    for (std::size_t i = 0; i < row.full_seconds.size(); ++i) {
        if (row.full_bytes.size() != row.full_seconds.size()) break;
        const double fast = row.full_bytes[i].high * 8 / row.full_seconds[i].low;
        const double slow = row.full_bytes[i].low * 8 / row.full_seconds[i].high;
        rates += fmt::format("{}{} at {} Gbit/s", i == 0 ? "" : ", ", bytes_text(row.full_bytes[i]),
                             interval_text({slow / 1e9, fast / 1e9}));
        if (row.link_bits_per_second) {
            rates += fmt::format(" (at least {} ranks at once)",
                                 std::ceil(fast / row.link_bits_per_second->high));
        }
    }
    verdict.arithmetic = "A full transfer inside one cluster, whose fabric is not re-created here";
    verdict.arithmetic += rates.empty() ? "." : ": " + rates + ".";
    add(std::move(verdict));
}

void VerdictMaker::judge_fit_point(const PublishedRow& row) {
    Verdict verdict = verdict_of(row, "seconds", *row.seconds);
    const auto fit = fit_time(rows_, row.time_fit);
    if (!fit) {
        verdict.arithmetic =
            fmt::format("The points of {} do not make a line of rising time.", row.time_fit);
        add(std::move(verdict));
        return;
    }
    const auto at = [&](double bytes) {
        return fit->fixed_seconds + fit->seconds_per_byte * bytes;
    };
    compare_into(verdict, {at(row.payload_bytes->low), at(row.payload_bytes->high)});
    verdict.kind = VerdictKind::calibrated;
    verdict.arithmetic = fmt::format(
        "t = {} s + {} s/GB ({}), fitted to {} points of which this is one{}",
        decimals(fit->fixed_seconds), decimals(fit->seconds_per_byte * 1e9),
        gigabits(fit->bits_per_second()), fit->points,
        fit->points == 2 ? ": two numbers from two points, an exact fit that says nothing." : ".");
    add(std::move(verdict));
}

void VerdictMaker::judge_transfer(const PublishedRow& row,
                                  const Transfer& transfer,
                                  const Setting& setting) {
    Verdict verdict;
    verdict.id = row.id;
    verdict.codec = setting.codec;
    verdict.profile = setting.profile;
    verdict.inferred = row.inferred;
    verdict.inferred.insert(verdict.inferred.end(), transfer.inferred.begin(),
                            transfer.inferred.end());
    if (row.seconds) judge_refit_seconds(row, transfer, verdict);
    if (row.speedup) judge_speedup(row, transfer, std::move(verdict));
}

void VerdictMaker::judge_refit_seconds(const PublishedRow& row,
                                       const Transfer& transfer,
                                       Verdict verdict) {
    const Verdict blank = verdict_of(row, "seconds", *row.seconds);
    verdict.quantity = blank.quantity;
    verdict.unit = blank.unit;
    verdict.published = blank.published;
    const Setting setting{verdict.codec, verdict.profile, *row.changed, {}};
    const Interval words = *words_of(row);
    const Interval bytes{bits(setting, row.changed->low) * words.low / 8,
                         bits(setting, row.changed->high) * words.high / 8};
    const Interval wire{ours_.link_seconds(bytes.low, transfer.bits_per_second),
                        ours_.link_seconds(bytes.high, transfer.bits_per_second)};
    const double fixed = transfer.fit.fixed_seconds;
    compare_into(verdict, {fixed + wire.low, fixed + wire.high});
    verdict.arithmetic =
        fmt::format("{} s fixed + {} s for {} ({} on {}) at {} = {} s; published are {} s",
                    decimals(fixed), interval_text(wire), bytes_text(bytes), verdict.codec,
                    verdict.profile, gigabits(transfer.bits_per_second),
                    interval_text(*verdict.ours), interval_text(*row.seconds));
    verdict.arithmetic +=
        *verdict.remainder > 0 && verdict.kind != VerdictKind::beaten
            ? fmt::format(", of which {:.3g} s are not explained.", *verdict.remainder)
            : ".";
    add(std::move(verdict));
}

void VerdictMaker::judge_speedup(const PublishedRow& row,
                                 const Transfer& transfer,
                                 Verdict verdict) {
    const Verdict blank = verdict_of(row, "speedup", *row.speedup);
    verdict.quantity = blank.quantity;
    verdict.unit = blank.unit;
    verdict.published = blank.published;
    const Setting setting{verdict.codec, verdict.profile, *row.changed, {}};
    const auto seconds = [&](double bytes) {
        return ours_.link_seconds(bytes, transfer.bits_per_second);
    };
    // The smallest model at the highest rate gains least: the fixed cost weighs most there.
    const auto at = [&](double words, double changed) {
        const double full = seconds(words * row.word_bits / 8);
        const double refit =
            transfer.fit.fixed_seconds + seconds(bits(setting, changed) * words / 8);
        return std::pair{full, refit};
    };
    const Interval words = *words_of(row);
    const auto [least_full, least_refit] = at(words.low, row.changed->high);
    const auto [most_full, most_refit] = at(words.high, row.changed->low);
    const Interval ours{least_full / least_refit, most_full / most_refit};
    compare_into(verdict, ours);
    const auto quotient = [](double full, double refit, double times) {
        return fmt::format("{} s / {} s = {}", decimals(full), decimals(refit), decimals(times));
    };
    verdict.arithmetic = quotient(most_full, most_refit, ours.high);
    if (words.low != words.high || row.changed->low != row.changed->high) {
        verdict.arithmetic = fmt::format("{} at {} words and {} changed to {} at {} and {}",
                                         quotient(least_full, least_refit, ours.low),
                                         words_text({words.low, words.low}),
                                         percent_text({row.changed->high, row.changed->high}),
                                         verdict.arithmetic, words_text({words.high, words.high}),
                                         percent_text({row.changed->low, row.changed->low}));
    }
    verdict.arithmetic += fmt::format(
        " ({} on {}, {} s of each fixed); published are {}.", verdict.codec, verdict.profile,
        decimals(transfer.fit.fixed_seconds), interval_text(*row.speedup));
    add(std::move(verdict));
}

}  // namespace refit
