// How close profiles adam and real come to training: the field on the trace's own catalog, beside
// the words of the shipped trace (RL steps 30 to 46, lr 2e-6) and what was measured on three RL
// runs (../shared/traces/profile.json).
//
// Start     the traces began at BF16 words, so weights above 2^-7 have not yet drifted through
//           their rounding cell and change less. Profile adam has no such start: it is compared
//           with the steady phase of profile.json, and with the trace below 2^-7, where that is
//           forgotten. Over all exponents the trace's changes grow as k^0.69, those of adam as
//           k^0.8, for this reason alone. Profile real is compared with the trace as it is.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/codec/change_stats.hpp"
#include "tests/engine/codec_fixture.hpp"
#include "workloads/profile.hpp"
#include "workloads/trace.hpp"

#ifndef REFIT_SOURCE_DIR
#error "REFIT_SOURCE_DIR names the root of the repository"
#endif

namespace refit {
namespace {

using nlohmann::json;
using test::WordVector;

constexpr std::uint32_t kSteadyPerMillion = 10'180;  // of lr 2e-6 in the steady phase
constexpr std::uint32_t kTracePerMillion = 8'500;
constexpr std::uint64_t kSteps = 16;

int place_of(std::uint16_t word) {
    const int magnitude = word & 0x7FFF;
    return (word & 0x8000) != 0 ? -magnitude - 1 : magnitude;
}

int exponent_of(std::uint16_t word) { return (word >> 7 & 0xFF) - 127; }

/// The trace and the field on its catalog; sixteen steps of either.
class Realism : public testing::Test {
protected:
    static void SetUpTestSuite() {
        device_ = make_cpu_device();
        auto opened = open_trace(
            std::filesystem::path(REFIT_SOURCE_DIR) / "workloads/traces/dense/long.toml", *device_);
        ASSERT_TRUE(opened.has_value()) << opened.error().what;
        trace_ = std::move(opened).value();
        ASSERT_EQ(trace_->versions(), kSteps + 1);
        const auto measured =
            std::filesystem::path(REFIT_SOURCE_DIR) / ".." / "shared/traces/profile.json";
        if (std::ifstream file(measured); file) profile_ = json::parse(file);
    }

    static void TearDownTestSuite() {
        trace_.reset();
        device_.reset();
    }

    static const Catalog& catalog() { return trace_->catalog(); }

    static WordVector trace_words(std::uint64_t version) {
        WordVector words(catalog().words().count);
        for (std::uint32_t id = 0; id < catalog().tensors().size(); ++id) {
            const Tensor& tensor = catalog().tensor(id);
            trace_->version(version).read(
                id, 0, std::span(words).subspan(tensor.first_word, tensor.words));
        }
        return words;
    }

    static WordVector field_words(std::uint32_t per_million, std::uint64_t version) {
        WordVector base(catalog().words().count);
        WordVector next(base.size());
        const auto fields = make_field(catalog(), *find_profile("adam"), per_million, 11);
        for (std::uint32_t id = 0; id < fields.size(); ++id) {
            const Tensor& tensor = catalog().tensor(id);
            fill_words(field_levels().front().fill, fields[id], 0, {version, 1},
                       std::span(base).subspan(tensor.first_word, tensor.words),
                       std::span(next).subspan(tensor.first_word, tensor.words));
        }
        return base;
    }

    /// Versions 0 and 1 of profile real.
    static std::array<WordVector, 2> real_words(std::uint32_t per_million) {
        WordVector base(catalog().words().count);
        WordVector next(base.size());
        const auto fields = make_field(catalog(), *find_profile("real"), per_million, 11);
        for (std::uint32_t id = 0; id < fields.size(); ++id) {
            const Tensor& tensor = catalog().tensor(id);
            fill_words(field_levels().front().fill, fields[id], 0, {},
                       std::span(base).subspan(tensor.first_word, tensor.words),
                       std::span(next).subspan(tensor.first_word, tensor.words));
        }
        return {std::move(base), std::move(next)};
    }

    static ChangeStats stats_of(const WordVector& base, const WordVector& next) {
        const MemoryWeights old_words(catalog(), base);
        const MemoryWeights new_words(catalog(), next);
        return measure_change(*device_, catalog(), Grid(catalog()), old_words, new_words);
    }

    static inline std::unique_ptr<Device> device_;
    static inline std::unique_ptr<StepSource> trace_;
    static inline json profile_;
};

/// Changed share of the words of each exponent of `base`.
std::map<int, double> rates_by_exponent(const WordVector& base, const WordVector& next) {
    std::map<int, std::array<double, 2>> counts;
    for (std::size_t i = 0; i < base.size(); ++i) {
        auto& [words, changed] = counts[exponent_of(base[i])];
        words += 1;
        changed += base[i] != next[i] ? 1 : 0;
    }
    std::map<int, double> rates;
    for (const auto& [exponent, count] : counts) rates[exponent] = count[1] / count[0];
    return rates;
}

TEST_F(Realism, RateAndShareByExponentAreThoseOfTheSteadyPhase) {
    if (profile_.is_null()) GTEST_SKIP() << "../shared/traces/profile.json is not here";
    const WordVector base = field_words(kSteadyPerMillion, 0);
    const WordVector next = field_words(kSteadyPerMillion, 1);
    std::map<int, std::array<double, 2>> counts;
    for (std::size_t i = 0; i < base.size(); ++i) {
        auto& [words, changed] = counts[exponent_of(base[i])];
        words += 1;
        changed += base[i] != next[i] ? 1 : 0;
    }
    const json& rows = profile_["traces"][0]["steady_phase"]["50"]["by_exponent"];
    int compared = 0;
    for (const auto& [name, row] : rows.items()) {
        const int exponent = std::stoi(name);
        const auto [words, changed] = counts[exponent];
        if (exponent > -4 || row["share"].get<double>() < 0.0005) continue;
        const double p = row["p"].get<double>();
        const double rate = changed / words;
        // Two samples, each of four standard deviations, and 5 % for what |u| is at one step of
        // training and in one tensor: the traces' own fit of the law is as good.
        const double noise = 4 * std::sqrt(2 * p * (1 - p) / words);
        std::printf("2^%-3d share %.5f (%.5f)  p %.5f (%.5f)\n", exponent,
                    words / static_cast<double>(base.size()), row["share"].get<double>(), rate, p);
        EXPECT_NEAR(rate, p, 0.05 * p + noise) << exponent;
        // The field's scales are chosen for the small weights, where the changes are; its bell is
        // flatter at the top than the trace's.
        if (exponent <= -5) {
            EXPECT_NEAR(words / static_cast<double>(base.size()), row["share"].get<double>(),
                        0.1 * row["share"].get<double>())
                << exponent;
        }
        ++compared;
    }
    EXPECT_GE(compared, 11);
}

TEST_F(Realism, StepsAreAsLongAndAsFairAsInTheSteadyPhase) {
    if (profile_.is_null()) GTEST_SKIP() << "../shared/traces/profile.json is not here";
    const WordVector base = field_words(kSteadyPerMillion, 0);
    const WordVector next = field_words(kSteadyPerMillion, 1);
    double changed = 0;
    std::map<std::string, double> shares;
    for (std::size_t i = 0; i < base.size(); ++i) {
        if (base[i] == next[i]) continue;
        const int step = place_of(next[i]) - place_of(base[i]);
        const int length = std::abs(step);
        changed += 1;
        shares["up"] += step > 0 ? 1 : 0;
        shares["sign_flip"] += (base[i] ^ next[i]) >> 15;
        if (length == 1) shares[step > 0 ? "plus1" : "minus1"] += 1;
        if (length == 2) shares["abs2"] += 1;
        if (length >= 3 && length <= 8) shares["abs3_8"] += 1;
        if (length >= 9) shares["abs9_plus"] += 1;
    }
    const json& overall = profile_["traces"][0]["steady_phase"]["50"]["overall"];
    EXPECT_NEAR(changed / static_cast<double>(base.size()), overall["rate"].get<double>(),
                0.02 * overall["rate"].get<double>());
    // 46 thousand changes on either side: shares repeat to .004 at most; .006 for the model.
    for (const char* key : {"plus1", "minus1", "abs2", "abs3_8", "abs9_plus", "sign_flip"}) {
        std::printf("%s %.4f (%.4f)\n", key, shares[key] / changed, overall[key].get<double>());
        EXPECT_NEAR(shares[key] / changed, overall[key].get<double>(), 0.010) << key;
    }
    EXPECT_NEAR(shares["up"] / changed, 0.5, 0.01);
}

/// Coefficient of variation of the rates of rows beyond what draws of one rate would have.
double row_variation(const Catalog& catalog,
                     const WordVector& base,
                     const WordVector& next,
                     const std::string& kind) {
    double variance = 0;
    double square = 0;
    for (const Tensor& tensor : catalog.tensors()) {
        if (tensor_kind(tensor.name) != kind) continue;
        std::vector<double> rates;
        double mean = 0;
        for (std::uint64_t row = 0; row < tensor.rows; ++row) {
            double changed = 0;
            const std::uint64_t first = tensor.first_word + row * tensor.columns;
            for (std::uint64_t i = first; i < first + tensor.columns; ++i)
                changed += base[i] != next[i] ? 1 : 0;
            rates.push_back(changed / static_cast<double>(tensor.columns));
            mean += rates.back() / static_cast<double>(tensor.rows);
        }
        for (const double rate : rates) variance += (rate - mean) * (rate - mean);
        const auto rows = static_cast<double>(tensor.rows);
        variance -= rows * mean * (1 - mean) / static_cast<double>(tensor.columns);
        square += rows * mean * mean;
    }
    return std::sqrt(std::max(0.0, variance / square));
}

TEST_F(Realism, RowsDifferAsMuchAsInTheTraces) {
    if (profile_.is_null()) GTEST_SKIP() << "../shared/traces/profile.json is not here";
    std::map<std::string, std::array<double, 2>> ranges;
    for (const json& trace : profile_["traces"]) {
        for (const char* phase : {"fresh_start", "steady_phase"}) {
            if (!trace.contains(phase) || trace[phase].is_null()) continue;
            for (const auto& [step, block] : trace[phase].items()) {
                if (std::stoi(step) < 8) continue;
                for (const auto& [kind, row] : block["kinds"].items()) {
                    if (!row.contains("row_cv") || row["row_cv"].is_null()) continue;
                    auto& [least, most] =
                        ranges.try_emplace(kind, std::array{9.0, 0.0}).first->second;
                    least = std::min(least, row["row_cv"].get<double>());
                    most = std::max(most, row["row_cv"].get<double>());
                }
            }
        }
    }
    constexpr std::uint64_t kCounted = 4;
    std::map<std::string, double> variations;
    WordVector base = field_words(kSteadyPerMillion, 0);
    for (std::uint64_t step = 0; step < kCounted; ++step) {
        WordVector next = field_words(kSteadyPerMillion, step + 1);
        for (const char* kind :
             {"embed_tokens", "lm_head", "q_proj", "o_proj", "gate_proj", "up_proj", "down_proj"})
            variations[kind] += row_variation(catalog(), base, next, kind) / kCounted;
        base = std::move(next);
    }
    for (const auto& [kind, variation] : variations) {
        const auto [least, most] = ranges.at(kind);
        std::printf("%-12s %.3f (%.2f to %.2f)\n", kind.c_str(), variation, least, most);
        // Four steps of a few hundred to thousand rows: good to .03.
        EXPECT_GE(variation, least - 0.03) << kind;
        EXPECT_LE(variation, most + 0.03) << kind;
    }
}

/// Of the words below 2^-7 in `first`: which share differs in each later version.
std::vector<double> growth(const WordVector& first, const std::vector<WordVector>& later) {
    std::vector<double> changed(later.size());
    double words = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
        if (exponent_of(first[i]) > -8) continue;
        words += 1;
        for (std::size_t k = 0; k < later.size(); ++k)
            changed[k] += first[i] != later[k][i] ? 1 : 0;
    }
    for (double& share : changed) share /= words;
    return changed;
}

/// How often a word below 2^-7 that changed in one step changes in the next, and how often back.
std::array<double, 2> persistence(const WordVector& a, const WordVector& b, const WordVector& c) {
    double changed = 0;
    double again = 0;
    double back = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] == b[i] || exponent_of(a[i]) > -8) continue;
        changed += 1;
        again += b[i] != c[i] ? 1 : 0;
        back += a[i] == c[i] ? 1 : 0;
    }
    return {again / changed, back / changed};
}

TEST_F(Realism, ChangesGrowAndPersistOverStepsAsInTheTrace) {
    const std::uint64_t steps[] = {1, 2, 4, 8, 16};
    std::vector<WordVector> trace;
    std::vector<WordVector> field;
    for (const std::uint64_t k : steps) {
        trace.push_back(trace_words(k));
        field.push_back(field_words(kSteadyPerMillion, k));
    }
    const WordVector trace_first = trace_words(0);
    const WordVector field_first = field_words(kSteadyPerMillion, 0);
    const auto real = growth(trace_first, trace);
    const auto made = growth(field_first, field);
    for (std::size_t k = 0; k < std::size(steps); ++k) {
        std::printf("%2d steps: x%.3f (x%.3f), share %.4f (%.4f)\n", static_cast<int>(steps[k]),
                    made[k] / made[0], real[k] / real[0], made[k], real[k]);
        // The trace's own steps differ by 2 % in their rate.
        EXPECT_NEAR(made[k] / made[0], real[k] / real[0], 0.05 * real[k] / real[0]) << steps[k];
        EXPECT_NEAR(made[k], real[k], 0.06 * real[k]) << steps[k];
    }
    const auto [real_again, real_back] = persistence(trace_first, trace[0], trace[1]);
    const auto [made_again, made_back] = persistence(field_first, field[0], field[1]);
    std::printf("again %.3f (%.3f), back %.4f (%.4f)\n", made_again, real_again, made_back,
                real_back);
    EXPECT_NEAR(made_again, real_again, 0.03);
    EXPECT_NEAR(made_back, real_back, 0.02);  // the traces' updates also have noise of one step
}

TEST_F(Realism, CodecsThatSeeNoExponentsNeedAsManyBitsPerChange) {
    const auto bits_per_change = [&](const char* codec, WordVector base, WordVector next) {
        double changed = 0;
        for (std::size_t i = 0; i < base.size(); ++i) changed += base[i] != next[i] ? 1 : 0;
        const test::Sample sample{catalog(), std::move(base), std::move(next)};
        test::DeltaOptions options;
        options.codec = codec;
        options.unit_words = std::uint64_t{1} << 24;
        double bytes = 0;
        for (const EncodedUnit& unit : test::encode_units(*device_, sample, options))
            bytes += static_cast<double>(unit.bytes.size());
        return 8 * bytes / changed;
    };
    for (const char* codec : {"gap-xor-zstd", "xor-zstd", "planes-zstd"}) {
        const double real = bits_per_change(codec, trace_words(0), trace_words(1));
        const double made = bits_per_change(codec, field_words(kTracePerMillion, 0),
                                            field_words(kTracePerMillion, 1));
        std::printf("%s %.2f (%.2f) bits per change\n", codec, made, real);
        // 2 % of the changes more are one step long here, and the rate is good to 2 %.
        EXPECT_NEAR(made, real, 0.03 * real) << codec;
    }
}

/// Profile real and the trace, version 0 to k: the same rates where the changes are, and as many
/// bits for a coder that knows the old exponents.
TEST_F(Realism, RealIsTheTraceAtOneFourAndSixteenSteps) {
    // Two samples of these counts repeat to 0.5 % of the bound. At 16 steps the trace's masters
    // have moved further by half; the field's are as far from their start at every version.
    const std::map<std::uint64_t, double> tolerances{{1, 0.03}, {4, 0.03}, {16, 0.05}};
    const WordVector first = trace_words(0);
    for (const auto& [steps, tolerance] : tolerances) {
        const WordVector last = trace_words(steps);
        const ChangeStats real = stats_of(first, last);
        const auto per_million = static_cast<std::uint32_t>(
            1e6 * static_cast<double>(real.changed) / static_cast<double>(real.words) + 0.5);
        ASSERT_EQ(own_steps(*find_profile("real"), per_million), steps);
        const auto [base, next] = real_words(per_million);
        const ChangeStats made = stats_of(base, next);
        const double ratio = made.bound_bits / real.bound_bits;
        std::printf("%d steps: %.4f (%.4f) changed, %.4f (%.4f) bits per parameter\n",
                    static_cast<int>(steps),
                    static_cast<double>(made.changed) / static_cast<double>(made.words),
                    per_million * 1e-6, made.bound_bits / static_cast<double>(made.words),
                    real.bound_bits / static_cast<double>(real.words));
        EXPECT_NEAR(static_cast<double>(made.changed), static_cast<double>(real.changed),
                    0.02 * static_cast<double>(real.changed));
        EXPECT_NEAR(ratio, 1, tolerance) << steps;
        const auto real_rates = rates_by_exponent(first, last);
        const auto made_rates = rates_by_exponent(base, next);
        for (int exponent = -14; exponent <= -4; ++exponent) {
            const double r = real_rates.at(exponent);
            const double m = made_rates.at(exponent);
            std::printf("  2^%-3d %.5f (%.5f)\n", exponent, m, r);
            // From 2^-8 on it matters which words have moved half a cell since the start. Here an
            // active row has moved further; in training, the first steps moved all rows alike.
            if (exponent >= -6) {
                EXPECT_LT(m, 0.003) << exponent;
            } else {
                EXPECT_NEAR(m, r,
                            (exponent <= -9   ? 0.07
                             : exponent == -8 ? 0.17
                                              : 0.32) *
                                r)
                    << exponent;
            }
        }
    }
}

}  // namespace
}  // namespace refit
