#include "workloads/field_rate.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

#include "engine/base/assert.hpp"

namespace refit {
namespace {

/// |u| of one step in 1/64 octave: the means of 32 equally likely parts of its distribution over
/// words, rows and versions, for the mean activity 0 of a row and 16 of a column.
constexpr std::int32_t kSteps[] = {-331, -230, -183, -151, -128, -109, -94, -80, -68, -57, -48,
                                   -39,  -30,  -23,  -15,  -8,   -2,   5,   11,  17,  23,  29,
                                   35,   41,   47,   53,   59,   66,   74,  82,  93,  112};

/// 64 * log2(c / 16) of the columns' activities c = 16, 15, .. 9.
constexpr std::int32_t kColumns[] = {0, -6, -12, -19, -27, -35, -43, -53};

/// What |u| of 1, 2, .. 32 steps is to that of one, in 1/64 octave: the two orbits' chords, in
/// quadrature.
constexpr std::int32_t kStepGrowth[kRateStepsMax] = {
    0,   64,  100, 126, 145, 161, 174, 185, 194, 203, 210, 217, 224, 230, 235, 240,
    244, 248, 252, 255, 258, 260, 262, 264, 266, 267, 269, 270, 271, 271, 272, 272};

constexpr unsigned kCoarseValues = 384;  // on either side of zero
constexpr unsigned kFineBits = 20;
constexpr unsigned kExponents = 36;

/// How many of 2^24 draws of three bytes sum to 383 + c.
std::vector<std::uint64_t> coarse_counts() {
    std::vector<std::uint64_t> counts{1};
    for (int byte = 0; byte < 3; ++byte) {
        std::vector<std::uint64_t> wider(counts.size() + 255);
        for (std::size_t i = 0; i < counts.size(); ++i)
            for (std::size_t b = 0; b < 256; ++b) wider[i + b] += counts[i];
        counts = std::move(wider);
    }
    return {counts.begin() + (kCoarseValues - 1), counts.end()};
}

/// Shares of the exponents k of |w| in units of the finest, of 2^43 = half of all draws.
std::array<std::uint64_t, kExponents> exponent_shares(std::uint32_t sigma) {
    const std::vector<std::uint64_t> counts = coarse_counts();
    // Draws with |w| < limit / sigma, in units of 1 / sigma of a fine step.
    const auto below = [&](std::uint64_t limit) {
        const std::uint64_t fine = limit / sigma;
        std::uint64_t total = 0;
        for (std::uint64_t c = 0; c < counts.size(); ++c) {
            if (fine >> kFineBits <= c) return total + counts[c] * (fine - (c << kFineBits));
            total += counts[c] << kFineBits;
        }
        return total;
    };
    std::array<std::uint64_t, kExponents> shares{};
    for (unsigned k = 0; k < kExponents; ++k)
        shares[k] = below(std::uint64_t{2} << k) - below(std::uint64_t{1} << k);
    shares[0] += below(1);
    return shares;
}

/// min(1, 2^(level / 64)) of 2^20.
std::uint64_t cells(std::int32_t level) {
    if (level >= 0) return std::uint64_t{1} << 20;
    const std::int32_t down = -(level >> 6);
    if (down > 40) return 0;
    const auto radius =
        static_cast<std::uint64_t>(kFieldRadius[static_cast<std::uint32_t>(level) % 64]);
    return (radius << 20) / static_cast<std::uint64_t>(kFieldRadius[0]) >> down;
}

/// The chance of a fresh word whose row and column have the activity `level`, in cells.
class FreshChances {
public:
    explicit FreshChances(std::uint32_t steps) : steps_(steps) {
        for (std::int32_t level = kFirst; level < kEnd; ++level)
            chances_.push_back(chance(level < kEven ? places(level) : even_places(), level));
    }

    /// Of 2^20.
    std::uint64_t operator()(std::int32_t level) const {
        if (level < kFirst) return 0;
        if (level >= kEnd) return std::uint64_t{1} << 20;
        return chances_[static_cast<std::size_t>(level - kFirst)];
    }

private:
    /// How many of 2^27 words lie within 0, 1, .. 512 parts of a half cell from its edge.
    using Places = std::array<std::uint64_t, 513>;

    static constexpr std::int32_t kFirst = -64 * 9;  // below, no word reaches an edge
    static constexpr std::int32_t kEven = -64 * 3;   // words are spread over eight cells and more
    static constexpr std::int32_t kEnd = 64 * 6;     // each step is a cell at least
    static constexpr std::uint64_t kCell = std::uint64_t{1} << 28;

    Places places(std::int32_t level) const {
        // A radius is 16 (of the column) * 2^-15 times the number in the table.
        const std::int64_t radius =
            std::int64_t{kFieldRadius[static_cast<std::uint32_t>(level) % 64]}
            << (28 - 11 + (level >> 6));
        // Half-way through its steps a word is nearer to the centre than the orbit.
        const std::int64_t chord = kFieldCosine[steps_ / 2];
        Places result{};
        for (std::size_t c = 0; c < counts_.size(); ++c) {
            const std::int64_t offset =
                radius * (2 * static_cast<std::int64_t>(c) + 1) * kFieldOffset / 256;
            for (const std::int32_t normal : kFieldNormal) {
                // The deviation of a place on the orbit is 9.2 radii, that of the table is 92.
                const std::int64_t place = offset + radius * normal / 10 * chord / kFieldCosine[0];
                const std::uint64_t in_cell = static_cast<std::uint64_t>(place) % kCell;
                const std::uint64_t from_middle = std::min(in_cell, kCell - in_cell);
                result[512 - std::min<std::uint64_t>(from_middle >> 18, 511)] += counts_[c];
            }
        }
        std::partial_sum(result.begin(), result.end(), result.begin());
        return result;
    }

    /// A step crosses an edge when its middle is within |u| / 2 of it.
    std::uint64_t chance(const Places& words, std::int32_t level) const {
        std::uint64_t near = 0;
        for (const std::int32_t step : kSteps) {
            const std::uint64_t reach = cells(level + step + kStepGrowth[steps_ - 1]);
            const std::uint64_t whole = words[reach >> 11];
            const std::uint64_t more = words[std::min<std::uint64_t>((reach >> 11) + 1, 512)];
            near += whole + ((more - whole) * (reach % 2048) >> 11);
        }
        return (near / std::size(kSteps)) >> 7;
    }

    static Places even_places() {
        Places result{};
        for (std::uint64_t i = 0; i < result.size(); ++i) result[i] = i << 18;
        return result;
    }

    std::uint32_t steps_;
    std::vector<std::uint64_t> counts_ = coarse_counts();
    std::vector<std::uint64_t> chances_;
};

/// Tensors that have the same rate at the same activity.
using ClassKey = std::tuple<FieldLaw, std::uint32_t, std::int32_t, std::uint32_t, std::uint32_t>;

ClassKey class_of(const FieldTensor& field) {
    return {field.law, field.sigma, field.sigma_exponent, field.row_spread, field.column_levels};
}

bool drifts(const FieldTensor& field) {
    return field.law == FieldLaw::drift || field.law == FieldLaw::fresh;
}

class RateClass {
public:
    RateClass(const FieldTensor& field, std::uint32_t steps, const FreshChances* fresh)
        : sigma_exponent_(field.sigma_exponent),
          shares_(exponent_shares(field.sigma)),
          fresh_(field.law == FieldLaw::fresh ? fresh : nullptr) {
        const auto spread = static_cast<std::int32_t>(field.row_spread);
        const auto add = [&](std::int32_t step) {
            for (const std::int32_t normal : kFieldNormal)
                for (std::uint32_t c = 0; c < field.column_levels; ++c)
                    ++offsets_[step + ((normal * spread + 32) >> 6) + kColumns[c]];
        };
        if (fresh_ != nullptr) {
            add(0);
        } else {
            for (const std::int32_t step : kSteps) add(step + kStepGrowth[steps - 1]);
        }
        for (const auto& [offset, count] : offsets_) draws_ += count;
    }

    /// Changed share of the words.
    double rate(std::int32_t activity) const {
        std::uint64_t sum = 0;  // of 2^20 for each draw
        for (const auto& [offset, count] : offsets_) sum += count * (rate_at(activity + offset));
        return static_cast<double>(sum) / static_cast<double>(draws_ << 20);
    }

private:
    /// Of 2^20, for an activity, or |u|, of 2^(level / 64).
    std::uint64_t rate_at(std::int32_t level) const {
        std::uint64_t sum = 0;
        for (unsigned k = 0; k < kExponents; ++k) {
            const std::int32_t exponent = static_cast<std::int32_t>(k) + sigma_exponent_ - 27;
            const std::int32_t in_cells = level - 64 * (exponent - 7);
            sum += (shares_[k] >> 7) * (fresh_ != nullptr ? (*fresh_)(in_cells) : cells(in_cells));
        }
        return sum >> 36;
    }

    std::int32_t sigma_exponent_;
    std::array<std::uint64_t, kExponents> shares_;
    const FreshChances* fresh_;  // null: steady
    std::map<std::int32_t, std::uint64_t> offsets_;
    std::uint64_t draws_ = 0;
};

}  // namespace

std::optional<std::int32_t> drift_activity(std::span<const FieldShare> tensors,
                                           std::uint32_t changed_per_million,
                                           std::uint32_t steps) {
    REFIT_ASSERT(steps >= 1 && steps <= kRateStepsMax);
    std::optional<FreshChances> fresh;
    std::map<ClassKey, RateClass> classes;
    std::map<ClassKey, double> words;
    double all_words = 0;
    for (const FieldShare& tensor : tensors) {
        all_words += static_cast<double>(tensor.words);
        if (!drifts(tensor.field) || tensor.field.around_one) continue;
        if (tensor.field.law == FieldLaw::fresh && !fresh) fresh.emplace(steps);
        classes.try_emplace(class_of(tensor.field), tensor.field, steps, fresh ? &*fresh : nullptr);
        words[class_of(tensor.field)] += static_cast<double>(tensor.words);
    }
    const auto changed = [&](std::int32_t activity) {
        double sum = 0;
        for (const auto& [key, rate_class] : classes)
            sum += words.at(key) * rate_class.rate(activity);
        return sum;
    };
    const double wanted = all_words * static_cast<double>(changed_per_million) / 1e6;
    std::int32_t low = -64 * 64;
    std::int32_t high = 20 * 64;
    if (changed(high) < wanted) return std::nullopt;
    while (high - low > 1) {
        const std::int32_t middle = low + (high - low) / 2;
        (changed(middle) < wanted ? low : high) = middle;
    }
    return wanted - changed(low) < changed(high) - wanted ? low : high;
}

}  // namespace refit
