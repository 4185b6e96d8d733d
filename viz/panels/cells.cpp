#include "viz/panels/cells.hpp"

namespace refit {

namespace {

constexpr float kHead = 20;  // pixels above the cells
constexpr TextStyle kSoft{.color = "soft", .size = 12};

}  // namespace

Cells make_cells(const PanelView& view, const CellRoom& room) {
    const Pen& pen = view.pen;
    const TensorMap& map = view.scene.map;
    float label = 0;
    for (const std::string& kind : map.columns) label = std::max(label, pen.width(kind, kSoft));
    label = std::min(label, view.box.width() * 0.34F) + pen.px(8);
    return {view.box.x0 + label, view.box.y0 + pen.px(kHead),
            (view.box.width() - label - room.right) / static_cast<float>(map.rows.size()),
            std::min(pen.px(room.most), (view.box.height() - room.below - pen.px(kHead)) /
                                            static_cast<float>(map.columns.size()))};
}

void draw_cell_names(const PanelView& view, const Cells& cells) {
    Pen& pen = view.pen;
    const TensorMap& map = view.scene.map;
    const auto every_kind = static_cast<std::size_t>(pen.px(12.5F) / cells.height) + 1;
    for (std::size_t kind = 0; kind < map.columns.size(); kind += every_kind) {
        const float y = cells.at(0, kind).middle_y();
        TextStyle style{.size = 12, .align = Align::right};
        const float room = cells.x - view.box.x0 - pen.px(8);
        pen.text(cells.x - pen.px(8), y, pen.fitted(map.columns[kind], room, style), style);
    }
    float free = 0;
    for (std::size_t row = 0; row < map.rows.size(); ++row) {
        const float x = cells.at(row, 0).middle_x();
        const std::string text = layer_text(map.rows[row]);
        if (x < free || text.empty()) continue;
        pen.text(x, cells.y - pen.px(9), text,
                 {.color = "soft", .size = 12, .align = Align::center});
        free = x + pen.width(text, kSoft) + pen.px(12);
    }
}

}  // namespace refit
