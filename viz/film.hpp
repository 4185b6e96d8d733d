// A film of a run: which moments it shows, for how long each, and who takes the frames.
//
// Time      film time runs evenly over a time scale with the quiet squeezed (viz/time_scale.hpp),
//           so that nothing is boring. The last frame stands.
// Ticks     a frame is shown for whole ticks of 1 / frames_per_second seconds: all of them for one,
//           the last for kFilmStand seconds.
#pragma once

#include <cstdint>
#include <vector>

#include "viz/image.hpp"
#include "viz/time_scale.hpp"

namespace refit {

inline constexpr std::uint32_t kFilmStand = 2;  // seconds
inline constexpr std::size_t kFilmFramesMost = 1000;

struct FilmLength {
    double seconds = 12;  // the last frame's stand included; > kFilmStand
    std::uint32_t frames_per_second = 12;

    /// At least two.
    std::size_t frames() const;
};

/// From the first moment of the window to its last, both included, never back in time.
std::vector<Nanoseconds> film_moments(const TimeScale& scale,
                                      const TimeWindow& window,
                                      const FilmLength& length);

/// Takes the frames of one film in their order, all of one size.
class FilmWriter {
public:
    FilmWriter() = default;
    FilmWriter(const FilmWriter&) = delete;
    FilmWriter& operator=(const FilmWriter&) = delete;
    virtual ~FilmWriter() = default;

    virtual void add(const Image& frame, std::uint32_t ticks) = 0;
    /// After the last frame. Without it the film is not whole.
    virtual void finish() = 0;
};

}  // namespace refit
