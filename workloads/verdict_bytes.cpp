// Verdicts on bytes: payloads, their ratio to the full checkpoint, and how they rise with the rate.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "workloads/verdict_maker.hpp"

namespace refit {
namespace {

std::vector<std::string_view> profiles_of(RateOrigin origin) {
    switch (origin) {
        case RateOrigin::step:
            return {"adam"};
        case RateOrigin::forced:
            return {"uniform", "constant-density"};
        case RateOrigin::unknown:
            return {"adam", "uniform"};
        case RateOrigin::none:
            break;
    }
    return {};
}

std::string decimals(double value) { return fmt::format("{:.4g}", value); }

}  // namespace

std::vector<VerdictMaker::Setting> VerdictMaker::settings(const PublishedRow& row,
                                                          const Interval& changed) const {
    std::vector<Setting> list;
    for (const std::string_view profile : profiles_of(row.rate_origin)) {
        list.push_back({row.style, std::string(profile), changed, {}});
        if (row.style != kOwnCodec)
            list.push_back({std::string(kOwnCodec), std::string(profile), changed, {}});
    }
    return list;
}

std::optional<Interval> VerdictMaker::our_bytes(const PublishedRow& row,
                                                const Interval& words,
                                                Setting& setting) const {
    if (row.word_bits == 16) {
        return Interval{bits(setting, setting.changed.low) * words.low / 8,
                        bits(setting, setting.changed.high) * words.high / 8};
    }
    if (setting.codec != "xor-zstd") return std::nullopt;
    // A dense XOR has one changed byte where a word changed, so the same bytes as 16-bit words hold
    // more changes each; two of them in one word stay rare at the rates of a step.
    const double scale = 16.0 / row.word_bits;
    const Interval changed{std::min(1.0, setting.changed.low * scale),
                           std::min(1.0, setting.changed.high * scale)};
    setting.inferred.push_back(
        {"words",
         fmt::format("{} of 16 bits, {} changed",
                     words_text({words.low / scale, words.high / scale}), percent_text(changed)),
         fmt::format("the published {}-bit words as bytes, which are all that zstd sees",
                     row.word_bits)});
    return Interval{bits(setting, changed.low) * words.low / scale / 8,
                    bits(setting, changed.high) * words.high / scale / 8};
}

void VerdictMaker::judge_bytes(const PublishedRow& row) {
    if (row.payload_bytes) {
        const auto words = words_of(row);
        if (!words || !row.changed) {
            add_not_compared(row, "payload_bytes", *row.payload_bytes,
                             "Without a model size and a rate no bytes of ours belong to it.");
        } else if (row.style.empty()) {
            judge_unknown_style(row, *words);
        } else if (profiles_of(row.rate_origin).empty()) {
            add_not_compared(row, "payload_bytes", *row.payload_bytes,
                             "Nothing says where its rate comes from, so no profile of ours "
                             "belongs to it.");
        } else if (is_limit(row)) {
            judge_limit(row, *words);
        } else {
            for (const Setting& setting : settings(row, *row.changed))
                judge_payload(row, *words, setting);
        }
        judge_shape(row);
    }
    if (row.byte_ratio && !row.payload_bytes)
        add_not_compared(row, "byte_ratio", *row.byte_ratio, "No payload is published with it.");
    judge_saving(row);
}

/// The rate follows from the bytes, so the bytes prove nothing; ours at that rate still stand
/// beside them.
void VerdictMaker::judge_limit(const PublishedRow& row, const Interval& words) {
    if (row.style != "index-value") {
        for (const Setting& setting : settings(row, {row.changed->high, row.changed->high}))
            judge_payload(row, words, setting);
        return;
    }
    const Interval changed{row.payload_bytes->low * 8 / kIndexValueBits / words.low,
                           row.payload_bytes->high * 8 / kIndexValueBits / words.high};
    for (Setting setting : settings(row, changed)) {
        setting.inferred.push_back(
            {"changed", percent_text(changed),
             fmt::format(
                 "solved from the payload at 48 bits per change; published is only under {}",
                 percent_text({row.changed->high, row.changed->high}))});
        judge_payload(row, words, setting);
    }
}

void VerdictMaker::judge_unknown_style(const PublishedRow& row, const Interval& words) {
    Verdict& verdict = add(verdict_of(row, "payload_bytes", *row.payload_bytes));
    const double rate = row.changed->high;
    const double bits_each = row.payload_bytes->high * 8 / words.high;
    const double least = bound_bits_per_parameter(rate, 1) * words.high / 8;
    verdict.kind = VerdictKind::not_explained;
    verdict.remainder = row.payload_bytes->high - least;
    verdict.arithmetic = fmt::format(
        "The encoding is not published. {} bits per parameter; at {} changed, random places and "
        "directions take at least {}, {}.",
        decimals(bits_each), percent_text({rate, rate}),
        decimals(bound_bits_per_parameter(rate, 1)), bytes_text({least, least}));
    if (const auto most = changed_at(bits_each, 1)) {
        verdict.arithmetic +=
            fmt::format(" Consistent only if at most {} changed.", percent_text({*most, *most}));
    }
}

void VerdictMaker::judge_payload(const PublishedRow& row,
                                 const Interval& words,
                                 const Setting& given) {
    Setting setting = given;
    const bool own = setting.codec == kOwnCodec;
    const auto bytes = our_bytes(row, words, setting);
    if (!bytes) {
        if (!own || row.style == kOwnCodec) {
            add_not_compared(row, "payload_bytes", *row.payload_bytes,
                             fmt::format("{} codes words of 16 bits, the model has {}.",
                                         setting.codec, row.word_bits));
        }
        return;
    }
    Verdict verdict = verdict_of(row, "payload_bytes", *row.payload_bytes);
    verdict.codec = setting.codec;
    verdict.profile = setting.profile;
    verdict.inferred.insert(verdict.inferred.end(), setting.inferred.begin(),
                            setting.inferred.end());
    compare_into(verdict, *bytes);
    const Interval each{bytes->low * 8 / words.low, bytes->high * 8 / words.high};
    const Interval theirs{row.payload_bytes->low * 8 / words.low,
                          row.payload_bytes->high * 8 / words.high};
    verdict.arithmetic = fmt::format(
        "{} bits per parameter of {} on {} at {} changed x {} / 8 = {}; published are {} or {}.",
        interval_text(each), setting.codec, setting.profile, percent_text(setting.changed),
        words_text(words), bytes_text(*bytes), interval_text(theirs),
        bytes_text(*row.payload_bytes));
    if (!own && is_limit(row) && row.style == "index-value") {
        verdict.kind = VerdictKind::calibrated;
        verdict.arithmetic += " The rate was solved from these bytes.";
    }
    if (verdict.kind == VerdictKind::not_explained && !own) {
        const double rate = setting.changed.high;
        const double value_bits = each.high / rate - position_bits(rate);
        if (const auto other = changed_at(theirs.high, value_bits)) {
            verdict.arithmetic += fmt::format(
                " With {} bits per change beside its place, as ours, it takes {} changed.",
                decimals(value_bits), percent_text({*other, *other}));
        }
    }
    judge_byte_ratio(row, add(std::move(verdict)));  // a copy: the list grows
}

void VerdictMaker::judge_byte_ratio(const PublishedRow& row, Verdict payload) {
    const auto full = full_bytes_of(row);
    if (!row.byte_ratio || !full) return;
    const bool calibrated = payload.kind == VerdictKind::calibrated;
    const Interval bytes = *payload.ours;
    Verdict verdict = std::move(payload);
    verdict.quantity = "byte_ratio";
    verdict.unit = "x";
    verdict.published = *row.byte_ratio;
    const Interval ours{full->low / bytes.high, full->high / bytes.low};
    compare_into(verdict, ours);
    if (calibrated) verdict.kind = VerdictKind::calibrated;
    verdict.arithmetic = fmt::format(
        "{} / {} of {} on {} = {}; published are {}.", bytes_text(*full), bytes_text(bytes),
        verdict.codec, verdict.profile, interval_text(ours), interval_text(*row.byte_ratio));
    if (calibrated) verdict.arithmetic += " The bytes were an input.";
    add(std::move(verdict));
}

void VerdictMaker::judge_saving(const PublishedRow& row) {
    if (!row.saving) return;
    const auto full = full_bytes_of(row);
    if (!full || !row.payload_bytes || !row.anchor_every) {
        add_not_compared(row, "saving", *row.saving,
                         "It takes the payload, the full size and how often anchors are sent.");
        return;
    }
    const double every = row.anchor_every->low;
    const double one = row.payload_bytes->high / full->low;
    const double saving = 1 - (1 + (every - 1) * one) / every;
    Verdict verdict = verdict_of(row, "saving", *row.saving);
    compare_into(verdict, {saving, saving});
    verdict.kind = VerdictKind::calibrated;
    verdict.arithmetic = fmt::format(
        "1 - ({0} + {1} x {2}) / ({3} x {0}) = {4}: it follows from the row's own payload.",
        bytes_text(*full), decimals(every - 1), bytes_text(*row.payload_bytes), decimals(every),
        percent_text({saving, saving}));
    add(std::move(verdict));
}

/// How bytes rise from the point of the same time_fit with the next lower rate.
void VerdictMaker::judge_shape(const PublishedRow& row) {
    if (!is_fit_point(row) || !row.changed || row.style.empty() || row.word_bits != 16) return;
    const PublishedRow* lower = nullptr;
    for (const PublishedRow& other : rows_) {
        if (other.time_fit == row.time_fit && is_fit_point(other) && other.changed &&
            other.style == row.style && other.model == row.model &&
            other.changed->high < row.changed->low &&
            (lower == nullptr || other.changed->high > lower->changed->high))
            lower = &other;
    }
    if (lower == nullptr) return;
    const double rise = row.payload_bytes->high / lower->payload_bytes->high;
    const double rates = row.changed->high / lower->changed->high;
    const double random = bound_bits_per_parameter(row.changed->high, 0) /
                          bound_bits_per_parameter(lower->changed->high, 0);
    for (const Setting& setting : settings(row, *row.changed)) {
        if (setting.codec != row.style) continue;
        Verdict verdict = verdict_of(row, "payload_rise", {rise, rise});
        verdict.codec = setting.codec;
        verdict.profile = setting.profile;
        const double ours = bits(setting, row.changed->high) / bits(setting, lower->changed->high);
        compare_into(verdict, {ours, ours});
        verdict.kind = std::abs(ours / rise - 1) <= kShapeTolerance ? VerdictKind::reproduced
                                                                    : VerdictKind::not_explained;
        verdict.arithmetic = fmt::format(
            "From {} to {} changed, published bytes rise {:.4f} times and the rate {:.4f} times: "
            "in "
            "proportion to {:.2g} %. Ours on {} rise {:.4g} times. Uniformly random places rise "
            "{:.4g} times and values {:.4f} times; "
            "words changed at one density in a growing part of the model would do it.",
            percent_text(*lower->changed), percent_text(*row.changed), rise, rates,
            std::abs(rise / rates - 1) * 100, setting.profile, ours, random, rates);
        add(std::move(verdict));
    }
}

}  // namespace refit
