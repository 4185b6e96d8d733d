// The panels of the view: each draws one aspect of a run at a moment into its box. The one list of
// them is panels(), page by page.
#pragma once

#include <span>

#include "viz/bar_view.hpp"
#include "viz/panels/pen.hpp"
#include "viz/scene.hpp"
#include "viz/time_ticks.hpp"

namespace refit {

struct PanelView {
    const Scene& scene;
    const Moment& now;
    Pen& pen;
    Rect box;  // below the title
};

struct Panel {
    PanelId id;
    const char* title;  // empty: none is drawn
    void (*draw)(const PanelView&);
};

std::span<const Panel> panels(Page page = Page::run);

/// Where time runs from left to right: at the same pixels in every panel as wide as this one.
Rect time_plot(const PanelView& view);

/// Lines at the decades of an axis through the plot, with their values above it where they have
/// room.
void draw_log_axis(const PanelView& view, const Rect& plot, const LogAxis& axis, const char* unit);

void draw_status(const PanelView& view);
void draw_lanes(const PanelView& view);
void draw_links(const PanelView& view);
void draw_tree(const PanelView& view);
void draw_map(const PanelView& view);
void draw_scale(const PanelView& view);
void draw_story(const PanelView& view);
void draw_rates(const PanelView& view);
void draw_codecs(const PanelView& view);
void draw_cuts(const PanelView& view);
void draw_words(const PanelView& view);

/// Entries of a legend from left to right: boxes for the caller to fill, with their names beside
/// them; a new line where the panel has no room.
class Legend {
public:
    Legend(const PanelView& view, float x0, float y0) : view_(view), left_(x0), x_(x0), y_(y0) {}

    /// Where the next entry's box is; its name is written beside.
    Rect next(std::string_view name);
    static constexpr float kLine = 18;
    /// How many lines these names take.
    static std::size_t lines(const PanelView& view, const std::vector<std::string>& names);

private:
    const PanelView& view_;
    float left_;
    float x_;
    float y_;
};

}  // namespace refit
