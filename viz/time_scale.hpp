// From time to pixels and back: one straight line, or several with the quiet of a run squeezed.
//
// Squeezed   between two refits a run may do nothing for a quarter of an hour. Where no event
//            happens for long, time takes a fixed few pixels, marked as a gap, and what is left
//            is spread over the rest.
// Exact      x() rises with time, at() undoes it inside the window; both clamp outside.
#pragma once

#include <vector>

#include "engine/observe/timeline.hpp"

namespace refit {

struct TimeWindow {
    Nanoseconds from{0};
    Nanoseconds to{0};  // > from
};

class TimeScale {
public:
    struct Piece {
        Nanoseconds from{0};
        Nanoseconds to{0};
        float x0 = 0;
        float x1 = 0;
        bool quiet = false;  // squeezed
    };

    /// One straight line.
    TimeScale(const TimeWindow& window, float width);
    /// Of a whole run, from its beginning to a moment after its last event.
    static TimeScale squeezed(const Timeline& timeline, float width);

    float x(Nanoseconds at) const;
    Nanoseconds at(float x) const;

    TimeWindow window() const { return {pieces_.front().from, pieces_.back().to}; }
    float width() const { return pieces_.back().x1; }
    const std::vector<Piece>& pieces() const { return pieces_; }

private:
    std::vector<Piece> pieces_;
};

}  // namespace refit
