#include <algorithm>

#include "viz/panels/cells.hpp"

namespace refit {

namespace {

bool mismatched(const SavedRun& run) {
    return run.record.is_object() && run.record["verify"]["mismatches"] != 0;
}

Rect part_of(const Rect& cell, float share) {
    return {cell.x0, cell.y0, cell.x0 + share * cell.width(), cell.y1};
}

constexpr Hatch kStaged{"receive", 0, 4};

/// From the left: verified full, staged in stripes, encoded as a bar along the bottom.
void draw_cell(Pen& pen, const Rect& cell, const CellState& state, bool wrong) {
    pen.fill(cell, "pending", 0.7F);
    if (wrong && state.verified > 0) {
        pen.fill(cell, "page");
        pen.cross(cell, "wrong", 2);
        return;
    }
    if (state.encoded > 0) {
        Rect bar = part_of(cell, state.encoded);
        bar.y0 = bar.y1 - std::max(pen.px(2), cell.height() * 0.22F);
        pen.fill(bar, "encode");
    }
    if (state.staged > 0 && state.verified < 1) pen.hatch(part_of(cell, state.staged), kStaged);
    if (state.verified > 0) pen.fill(part_of(cell, state.verified), "verified");
}

void draw_legend(const PanelView& view, float top, bool wrong) {
    Legend legend(view, view.box.x0, top);
    Pen& pen = view.pen;
    draw_cell(pen, legend.next("pending"), {}, false);
    draw_cell(pen, legend.next("encoded"), {1, 0, 0}, false);
    draw_cell(pen, legend.next("staged"), {1, 1, 0}, false);
    draw_cell(pen, legend.next("read back, exact"), {1, 1, 1}, false);
    if (wrong) draw_cell(pen, legend.next("mismatch"), {1, 1, 1}, true);
}

/// A replica that is not there yet does not count.
RefitMoment moment_here(const PanelView& view) {
    if (view.now.refit == nullptr) return {};
    RefitMoment moment = moment_of(*view.now.refit, view.now.at);
    const auto& nodes = view.scene.run.recording.cast.tree.nodes;
    std::size_t present = 0;
    for (NodeId id = 0; id < nodes.size(); ++id)
        if (nodes[id].role == NodeRole::replica &&
            view.now.snapshot.nodes[id].activity != Activity::absent)
            ++present;
    moment.replicas = std::max<std::size_t>(1, present);
    return moment;
}

}  // namespace

void draw_map(const PanelView& view) {
    Pen& pen = view.pen;
    const TensorMap& map = view.scene.map;
    if (map.cells.empty()) return;
    const float legend = pen.px(Legend::kLine + 6);
    const Cells cells = make_cells(view, {.below = legend});
    draw_cell_names(view, cells);
    const bool wrong = mismatched(view.scene.run);
    const RefitMoment moment = moment_here(view);
    for (const MapCell& cell : map.cells) {
        const CellState state = view.now.refit == nullptr ? CellState{} : cell_state(cell, moment);
        draw_cell(pen, cells.at(cell.row, cell.column), state, wrong);
    }
    draw_legend(view, view.box.y1 - legend + pen.px(6), wrong);
}

}  // namespace refit
