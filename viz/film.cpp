#include "viz/film.hpp"

#include <algorithm>
#include <cmath>

namespace refit {

std::size_t FilmLength::frames() const {
    const double ticks = (seconds - kFilmStand) * frames_per_second;
    return 1 + static_cast<std::size_t>(std::max(1.0, std::round(ticks)));
}

std::vector<Nanoseconds> film_moments(const TimeScale& scale,
                                      const TimeWindow& window,
                                      const FilmLength& length) {
    REFIT_ASSERT(window.from <= window.to && length.seconds > kFilmStand);
    const std::size_t last = length.frames() - 1;
    const double x0 = scale.x(window.from);
    const double x1 = scale.x(window.to);
    std::vector<Nanoseconds> moments{window.from};
    for (std::size_t i = 1; i < last; ++i) {
        const double share = static_cast<double>(i) / static_cast<double>(last);
        const Nanoseconds at = scale.at(static_cast<float>(x0 + share * (x1 - x0)));
        // A pixel of squeezed time is long: rounding may leave the window, or step back.
        moments.push_back(std::clamp(at, moments.back(), window.to));
    }
    moments.push_back(window.to);
    return moments;
}

}  // namespace refit
