// From measured tiles to the total of a model, with its 95 % interval.
//
// Model     separate ratio estimate: in each stratum (sum of y / sum of words) x its words. The
//           spread within a stratum is that of y around the ratio; a stratum that was taken whole
//           has none. Student's t with Satterthwaite's degrees of freedom.
// Source    Cochran, Sampling Techniques, 3rd ed., sections 5.4, 6.10.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace refit {

/// One stratum: how large it is, and what was measured of it.
struct StratumValues {
    std::uint64_t tiles = 0;
    double words = 0;
    std::vector<double> tile_words;  // of the tiles taken
    std::vector<double> tile_values;
};

struct Estimate {
    double value = 0;
    double low = 0;  // of the 95 % interval
    double high = 0;
};

Estimate estimate_total(std::span<const StratumValues> strata);

/// The 97.5 % point of Student's t; `freedom` >= 1 need not be whole. Within 0.1 %.
double student_t_975(double freedom);

}  // namespace refit
