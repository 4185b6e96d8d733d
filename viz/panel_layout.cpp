#include "viz/panel_layout.hpp"

#include <algorithm>

namespace refit {

namespace {

constexpr float kGap = 6;
constexpr float kTop = 93;  // the strip above both pages ends here

/// Where the panels of one page go.
struct Sheet {
    float width;
    float height;
    float gap;
    float top;
    PanelLayout& layout;

    void place(PanelId id, const Rect& rect) const {
        layout.panels[static_cast<std::size_t>(id)] = rect;
    }
    /// The right edge of the left column.
    float split(float share) const { return gap + (width - 3 * gap) * share; }
    /// Below the strip and a gap, this share of a column of two panels ends.
    float below(float share) const { return top + (height - top - 2 * gap) * share; }
};

void place_run(const Sheet& sheet) {
    const float gap = sheet.gap;
    const float split = sheet.split(0.6F);
    const float left_height = sheet.height - sheet.top - 3 * gap;
    const float lanes_end = sheet.top + left_height * 0.47F;
    const float links_end = lanes_end + gap + left_height * 0.24F;
    const float tree_end = sheet.below(0.5F);
    const float scale_end = gap + (split - 2 * gap) * 0.5F;
    const float right = sheet.width - gap;
    const float bottom = sheet.height - gap;
    sheet.place(PanelId::lanes, {gap, sheet.top, split, lanes_end});
    sheet.place(PanelId::links, {gap, lanes_end + gap, split, links_end});
    sheet.place(PanelId::scale, {gap, links_end + gap, scale_end, bottom});
    sheet.place(PanelId::story, {scale_end + gap, links_end + gap, split, bottom});
    sheet.place(PanelId::tree, {split + gap, sheet.top, right, tree_end});
    sheet.place(PanelId::map, {split + gap, tree_end + gap, right, bottom});
}

void place_weights(const Sheet& sheet) {
    const float gap = sheet.gap;
    const float split = sheet.split(0.5F);
    const float rates_end = sheet.below(0.64F);
    const float cuts_end = sheet.below(0.42F);
    const float right = sheet.width - gap;
    const float bottom = sheet.height - gap;
    sheet.place(PanelId::rates, {gap, sheet.top, split, rates_end});
    sheet.place(PanelId::codecs, {gap, rates_end + gap, split, bottom});
    sheet.place(PanelId::cuts, {split + gap, sheet.top, right, cuts_end});
    sheet.place(PanelId::words, {split + gap, cuts_end + gap, right, bottom});
}

}  // namespace

PanelLayout lay_out_panels(const PixelSize& size, Page page) {
    const auto width = static_cast<float>(size.width);
    const auto height = static_cast<float>(size.height);
    PanelLayout layout;
    // Text below 13 pixels is not read, so small pictures keep its size.
    layout.scale = std::max(1.0F, std::min(width / 1600, height / 900));
    const Sheet sheet{width, height, kGap * layout.scale, kTop * layout.scale, layout};
    sheet.place(PanelId::status, {sheet.gap, sheet.gap, width - sheet.gap, sheet.top - sheet.gap});
    if (page == Page::run) {
        place_run(sheet);
    } else {
        place_weights(sheet);
    }
    return layout;
}

}  // namespace refit
