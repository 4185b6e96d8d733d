#include "viz/time_scale.hpp"

#include <algorithm>

namespace refit {

namespace {

constexpr double kQuietShare = 0.06;   // of the run: so long a silence is squeezed
constexpr double kQuietPixels = 0.02;  // of the width: to this
constexpr double kMargin = 0.1;  // of the silence's own length that stays at both ends, at most
constexpr Nanoseconds kMarginMost = 1_s;

float share_of(const TimeScale::Piece& piece, Nanoseconds at) {
    return static_cast<float>(static_cast<double>((at - piece.from).count) /
                              static_cast<double>((piece.to - piece.from).count));
}

/// Silences long enough to squeeze, in order.
std::vector<TimeWindow> silences(const Timeline& timeline, Nanoseconds end) {
    std::vector<TimeWindow> found;
    const double least = kQuietShare * static_cast<double>(end.count);
    Nanoseconds before{0};
    for (const Event& event : timeline.events()) {
        const auto quiet = static_cast<double>((event.at - before).count);
        if (quiet > least) {
            const Nanoseconds margin{
                std::min(static_cast<std::int64_t>(quiet * kMargin), kMarginMost.count)};
            found.push_back({before + margin, event.at - margin});
        }
        before = event.at;
    }
    return found;
}

}  // namespace

TimeScale::TimeScale(const TimeWindow& window, float width)
    : pieces_{{window.from, window.to, 0, width, false}} {
    REFIT_ASSERT(window.from < window.to && width > 0);
}

TimeScale TimeScale::squeezed(const Timeline& timeline, float width) {
    const Nanoseconds end{timeline.events().empty() ? 1 : timeline.events().back().at.count + 1};
    TimeScale scale({Nanoseconds{0}, end}, width);
    const std::vector<TimeWindow> quiet = silences(timeline, end);
    if (quiet.empty()) return scale;
    Nanoseconds loud = end;
    for (const TimeWindow& silence : quiet) loud = loud - (silence.to - silence.from);
    const double gap = kQuietPixels * double{width};
    const double per_nanosecond =
        (double{width} - gap * static_cast<double>(quiet.size())) / static_cast<double>(loud.count);
    scale.pieces_.clear();
    double x = 0;
    Nanoseconds from{0};
    const auto add = [&](Nanoseconds to, double wide, bool squeezed) {
        scale.pieces_.push_back(
            {from, to, static_cast<float>(x), static_cast<float>(x + wide), squeezed});
        x += wide;
        from = to;
    };
    const auto add_loud = [&](Nanoseconds to) {
        if (from < to) add(to, per_nanosecond * static_cast<double>((to - from).count), false);
    };
    for (const TimeWindow& silence : quiet) {
        add_loud(silence.from);
        add(silence.to, gap, true);
    }
    add_loud(end);
    scale.pieces_.back().x1 = width;
    return scale;
}

float TimeScale::x(Nanoseconds at) const {
    const auto after = std::ranges::upper_bound(pieces_, at, {}, &Piece::from);
    const Piece& piece = after == pieces_.begin() ? pieces_.front() : *std::prev(after);
    const float share = std::clamp(share_of(piece, at), 0.0F, 1.0F);
    return piece.x0 + share * (piece.x1 - piece.x0);
}

Nanoseconds TimeScale::at(float x) const {
    const auto after = std::ranges::upper_bound(pieces_, x, {}, &Piece::x0);
    const Piece& piece = after == pieces_.begin() ? pieces_.front() : *std::prev(after);
    const float share = std::clamp((x - piece.x0) / (piece.x1 - piece.x0), 0.0F, 1.0F);
    return Nanoseconds{piece.from.count +
                       static_cast<std::int64_t>(
                           double{share} * static_cast<double>((piece.to - piece.from).count))};
}

}  // namespace refit
