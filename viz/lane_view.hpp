// Lanes as boxes in pixels: a pure function of (spans, rows, scale).
//
// Merged    what is thinner than a pixel shares one box of that pixel: the kind that fills most of
//           it, and how many spans it stands for. So a box list is at most two boxes a pixel a row,
//           whatever the run.
// Cost      O(spans in the window) a row, found by binary search.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "viz/saved_run.hpp"
#include "viz/time_scale.hpp"

namespace refit {

/// A row shows the spans [first, first + count) of SavedRun::spans: one track of one node.
struct LaneRow {
    NodeId node = kNoNode;
    Track track{};
    std::string label;  // "eu-west/replica-1", "eu-west/replica-1 codec"
    std::size_t first = 0;
    std::size_t count = 0;
};

/// The trainer's codec, every relay's receiving, every replica's rollouts and codec; in tree order.
/// Tracks on which nothing happened have no row.
std::vector<LaneRow> lane_rows(const SavedRun& run);

struct LaneBox {
    std::size_t row = 0;
    float x0 = 0;  // pixels from the left end of the scale
    float x1 = 0;
    std::size_t span = 0;   // in SavedRun::spans; of several, the first
    std::size_t spans = 1;  // that it stands for
    SpanKind kind{};        // of several, that which fills most
    IdleCause cause{};
};

std::vector<LaneBox> lane_boxes(const SavedRun& run,
                                std::span<const LaneRow> rows,
                                const TimeScale& scale);

/// `boxes` as lane_boxes() made them; likewise below.
std::span<const LaneBox> boxes_of_row(std::span<const LaneBox> boxes, std::size_t row);

/// The box of a row at a pixel; null where there is none.
const LaneBox* hit_lane(std::span<const LaneBox> boxes, std::size_t row, float x);

}  // namespace refit
