#include "scenarios/nearest.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace refit {

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

std::string nearest_name(std::string_view name, std::span<const std::string> known) {
    std::string best;
    std::size_t best_distance = 0;
    for (const std::string& candidate : known) {
        const std::size_t limit =
            std::max<std::size_t>(1, std::max(name.size(), candidate.size()) / 3);
        const std::size_t distance = edit_distance(name, candidate);
        if (distance > limit || (!best.empty() && distance >= best_distance)) continue;
        best = candidate;
        best_distance = distance;
    }
    return best;
}

}  // namespace refit
