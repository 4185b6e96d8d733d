#include "viz/lane_view.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace refit {

namespace {

bool shown(NodeRole role, Track track) {
    switch (role) {
        case NodeRole::source:
            return track == Track::codec;
        case NodeRole::relay:
            return track == Track::receiving || track == Track::rollouts;  // rollouts: it is down
        default:
            return track == Track::rollouts || track == Track::codec;
    }
}

/// Boxes of one row, from left to right.
class RowBoxes {
public:
    RowBoxes(std::size_t row, const TimeScale& scale, std::vector<LaneBox>& out)
        : row_(row), scale_(scale), out_(out) {}

    void add(const Span& span, std::size_t index) {
        const float x0 = scale_.x(span.from);
        const float x1 = scale_.x(span.to);
        if (x1 - x0 >= 1) {
            flush(x0);
            out_.push_back({row_, x0, x1, index, 1, span.kind, span.cause});
            return;
        }
        const float column = std::min(std::floor(x0), scale_.width() - 1);
        if (count_ > 0 && column > column_) flush(column);
        if (count_ == 0) {
            column_ = column;
            first_ = index;
        }
        ++count_;
        time_[{span.kind, span.cause}] += std::max(x1 - x0, 1e-6F);  // an instant counts as well
    }

    /// What is thin fills its pixel as far as wide boxes on both sides leave room.
    void flush(float until) {
        if (count_ == 0) return;
        const auto most =
            std::ranges::max_element(time_, {}, [](const auto& entry) { return entry.second; });
        const auto [kind, cause] = most->first;
        const bool first = out_.empty() || out_.back().row != row_;
        const float left = first ? column_ : std::max(column_, out_.back().x1);
        const float right = std::min(column_ + 1, until);
        if (left < right) out_.push_back({row_, left, right, first_, count_, kind, cause});
        count_ = 0;
        time_.clear();
    }
    void finish() { flush(scale_.width()); }

private:
    std::size_t row_;
    const TimeScale& scale_;
    std::vector<LaneBox>& out_;
    float column_ = 0;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
    std::map<std::pair<SpanKind, IdleCause>, float> time_;
};

}  // namespace

std::vector<LaneRow> lane_rows(const SavedRun& run) {
    std::vector<LaneRow> rows;
    const auto& nodes = run.recording.cast.tree.nodes;
    for (std::size_t i = 0; i < run.spans.size(); ++i) {
        const Span& span = run.spans[i];
        if (span.node >= nodes.size() || !shown(nodes[span.node].role, span.track)) continue;
        if (rows.empty() || rows.back().node != span.node || rows.back().track != span.track) {
            const std::string track =
                span.track == Track::rollouts ? "" : " " + std::string(track_name(span.track));
            rows.push_back({span.node, span.track, nodes[span.node].name + track, i, 0});
        }
        ++rows.back().count;
    }
    return rows;
}

std::vector<LaneBox> lane_boxes(const SavedRun& run,
                                std::span<const LaneRow> rows,
                                const TimeScale& scale) {
    std::vector<LaneBox> boxes;
    const TimeWindow window = scale.window();
    for (std::size_t row = 0; row < rows.size(); ++row) {
        const auto spans = std::span(run.spans).subspan(rows[row].first, rows[row].count);
        const auto first = std::ranges::lower_bound(spans, window.from, {}, &Span::to);
        RowBoxes to(row, scale, boxes);
        for (auto span = first; span != spans.end() && span->from < window.to; ++span)
            to.add(*span, rows[row].first + static_cast<std::size_t>(span - spans.begin()));
        to.finish();
    }
    return boxes;
}

std::span<const LaneBox> boxes_of_row(std::span<const LaneBox> boxes, std::size_t row) {
    const auto first = std::ranges::lower_bound(boxes, row, {}, &LaneBox::row);
    const auto end = std::ranges::upper_bound(boxes, row, {}, &LaneBox::row);
    return {first, end};
}

const LaneBox* hit_lane(std::span<const LaneBox> boxes, std::size_t row, float x) {
    for (const LaneBox& box : boxes_of_row(boxes, row))
        if (box.x0 <= x && x < box.x1) return &box;
    return nullptr;
}

}  // namespace refit
