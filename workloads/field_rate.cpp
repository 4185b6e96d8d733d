#include "workloads/field_rate.hpp"

#include <array>
#include <map>
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

/// Tensors that have the same rate at the same activity.
using ClassKey = std::tuple<std::uint32_t, std::int32_t, std::uint32_t, std::uint32_t>;

ClassKey class_of(const FieldTensor& field) {
    return {field.sigma, field.sigma_exponent, field.row_spread, field.column_levels};
}

class RateClass {
public:
    explicit RateClass(const FieldTensor& field)
        : sigma_exponent_(field.sigma_exponent), shares_(exponent_shares(field.sigma)) {
        const auto spread = static_cast<std::int32_t>(field.row_spread);
        for (const std::int32_t step : kSteps)
            for (const std::int32_t normal : kFieldNormal)
                for (std::uint32_t c = 0; c < field.column_levels; ++c)
                    ++offsets_[step + ((normal * spread + 32) >> 6) + kColumns[c]];
        draws_ = std::size(kSteps) * std::size(kFieldNormal) * field.column_levels;
    }

    /// Changed share of the words.
    double rate(std::int32_t activity) const {
        std::uint64_t sum = 0;  // of 2^20 for each draw
        for (const auto& [offset, count] : offsets_) sum += count * (rate_at(activity + offset));
        return static_cast<double>(sum) / static_cast<double>(draws_ << 20);
    }

private:
    /// Of 2^20, for |u| = 2^(level / 64).
    std::uint64_t rate_at(std::int32_t level) const {
        std::uint64_t sum = 0;
        for (unsigned k = 0; k < kExponents; ++k) {
            const std::int32_t exponent = static_cast<std::int32_t>(k) + sigma_exponent_ - 27;
            sum += (shares_[k] >> 7) * cells(level - 64 * (exponent - 7));
        }
        return sum >> 36;
    }

    /// min(1, 2^(level / 64)) of 2^20.
    static std::uint64_t cells(std::int32_t level) {
        if (level >= 0) return std::uint64_t{1} << 20;
        const std::int32_t down = -(level >> 6);
        if (down > 40) return 0;
        const auto radius =
            static_cast<std::uint64_t>(kFieldRadius[static_cast<std::uint32_t>(level) % 64]);
        return (radius << 20) / static_cast<std::uint64_t>(kFieldRadius[0]) >> down;
    }

    std::int32_t sigma_exponent_;
    std::array<std::uint64_t, kExponents> shares_;
    std::map<std::int32_t, std::uint64_t> offsets_;
    std::uint64_t draws_ = 0;
};

}  // namespace

std::int32_t drift_activity(std::span<const FieldShare> tensors,
                            std::uint32_t changed_per_million) {
    std::map<ClassKey, RateClass> classes;
    std::map<ClassKey, double> words;
    double all_words = 0;
    for (const FieldShare& tensor : tensors) {
        all_words += static_cast<double>(tensor.words);
        if (tensor.field.law != FieldLaw::drift || tensor.field.around_one) continue;
        classes.try_emplace(class_of(tensor.field), tensor.field);
        words[class_of(tensor.field)] += static_cast<double>(tensor.words);
    }
    const auto changed = [&](std::int32_t activity) {
        double sum = 0;
        for (const auto& [key, rate_class] : classes) sum += words[key] * rate_class.rate(activity);
        return sum;
    };
    const double wanted = all_words * static_cast<double>(changed_per_million) / 1e6;
    std::int32_t low = -64 * 64;
    std::int32_t high = 20 * 64;
    REFIT_ASSERT(changed(high) >= wanted);
    while (high - low > 1) {
        const std::int32_t middle = low + (high - low) / 2;
        (changed(middle) < wanted ? low : high) = middle;
    }
    return wanted - changed(low) < changed(high) - wanted ? low : high;
}

}  // namespace refit
