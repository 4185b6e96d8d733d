// A table of the scene's map: kinds of tensor from top to bottom, layers from left to right, with
// their names around it.
#pragma once

#include <algorithm>

#include "viz/panels/panel.hpp"

namespace refit {

/// Where the cells are.
struct Cells {
    float x = 0;
    float y = 0;
    float width = 0;
    float height = 0;

    Rect at(std::size_t layer, std::size_t kind) const {
        const float left = x + width * static_cast<float>(layer);
        const float top = y + height * static_cast<float>(kind);
        const float gap = std::min(1.5F, width * 0.15F);
        return {left, top, left + width - gap, top + height - std::min(2.0F, height * 0.15F)};
    }
};

/// What stands around the cells, and how high one is at most.
struct CellRoom {
    float right = 0;
    float below = 0;
    float most = 26;  // at 1600 x 900
};

/// As large as the panel allows beside its names. The map has cells.
Cells make_cells(const PanelView& view, const CellRoom& room);

void draw_cell_names(const PanelView& view, const Cells& cells);

}  // namespace refit
