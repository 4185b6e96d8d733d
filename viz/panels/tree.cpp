#include <fmt/format.h>

#include <algorithm>

#include "viz/panels/panel.hpp"
#include "viz/report/html.hpp"

namespace refit {

namespace {

constexpr float kStoreRoom = 46;  // pixels below the tree
constexpr float kBoxMost = 34;
constexpr float kTwoLines = 30;
constexpr float kOneLine = 14;

/// Where the boxes of nodes are.
class Boxes {
public:
    explicit Boxes(const PanelView& view) : view_(view), places_(view.scene.places) {
        const float levels = 1 + 1 / places_.column;
        const float between = places_.row * tree_height();
        height_ = std::min(view.pen.px(kBoxMost), std::max(view.pen.px(3), between * 0.84F));
        width_ = std::min(view.pen.px(158), view.box.width() / (levels * 1.28F - 0.28F));
    }

    Rect of(const Place& place) const {
        const float x = view_.box.x0 + place.x * (view_.box.width() - width_);
        const float y = view_.box.y0 + place.y * tree_height();
        return {x, y - height_ / 2, x + width_, y + height_ / 2};
    }
    Rect node(NodeId id) const { return of(places_.nodes[id]); }
    Rect store() const {
        const float bottom = view_.box.y1 - view_.pen.px(2);
        return {view_.box.x0, bottom - view_.pen.px(kBoxMost), view_.box.x0 + width_, bottom};
    }
    TreeBoxes measures() const {
        return {width_, places_.column * (view_.box.width() - width_), places_.row * tree_height(),
                view_.pen.px(22)};
    }

private:
    float tree_height() const { return view_.box.height() - view_.pen.px(kStoreRoom); }

    const PanelView& view_;
    const TreeView& places_;
    float height_ = 0;
    float width_ = 0;
};

void draw_edge(const PanelView& view, const Boxes& boxes, NodeId parent, NodeId child, bool live) {
    const auto place = [&](NodeId id) {
        const Rect box = boxes.node(id);
        return Place{box.x0, box.middle_y()};
    };
    const ImU32 color = view.pen.theme().color(live ? "receive" : "soft", live ? 1.0F : 0.55F);
    const float width = view.pen.px(live ? 3 : 1.3F);
    const std::vector<Place> curve = edge_curve(place(parent), place(child), boxes.measures());
    for (std::size_t i = 0; i + 3 < curve.size(); i += 3) {
        const auto point = [&](std::size_t at) { return ImVec2(curve[at].x, curve[at].y); };
        view.pen.list()->AddBezierCubic(point(i), point(i + 1), point(i + 2), point(i + 3), color,
                                        width);
    }
}

/// Whether the WAN link between the sites of two nodes is cut.
bool is_cut(const PanelView& view, NodeId a, NodeId b) {
    const Cast& cast = view.scene.run.recording.cast;
    const std::string& from = cast.sites[cast.tree.nodes[a].site];
    const std::string& to = cast.sites[cast.tree.nodes[b].site];
    const std::vector<bool>& down = view.now.snapshot.links_down;
    for (std::size_t i = 0; i < std::min(down.size(), cast.links.size()); ++i) {
        const CastLink& link = cast.links[i];
        const bool between =
            (link.from == from && link.to == to) || (link.from == to && link.to == from);
        if (down[i] && between) return true;
    }
    return false;
}

/// A cross where the edge comes in.
void mark_cut(Pen& pen, const Rect& to) {
    const float half = pen.px(6);
    const float x = to.x0 - pen.px(14);
    pen.cross({x - half, to.middle_y() - half, x + half, to.middle_y() + half}, "down", 2.5F);
}

std::string state_text(const TreeNode& node, const NodeState& state, float held) {
    std::string text(activity_name(state.activity));
    if (node.role == NodeRole::replica && state.activity != Activity::absent)
        text += fmt::format(" v{}", state.version);
    if (held > 0 && held < 1) text += fmt::format(", {:.0f} %", 100 * double{held});
    return text;
}

/// "ap-northeast/relay-2", or "ap-n../relay-2": its last part tells it from its neighbours.
std::string fitted_name(const Pen& pen, const std::string& name, float room, TextStyle style) {
    const std::size_t slash = name.find('/');
    if (pen.width(name, style) <= room || slash == std::string::npos)
        return pen.fitted(name, room, style);
    const std::string last = name.substr(slash);
    for (std::size_t kept = slash - 1; kept > 0; --kept) {
        std::string cut = name.substr(0, kept) + ".." + last;
        if (pen.width(cut, style) <= room) return cut;
    }
    return pen.fitted(last.substr(1), room, style);
}

void draw_node(const PanelView& view, NodeId id, const Rect& box) {
    Pen& pen = view.pen;
    const TreeNode& node = view.scene.run.recording.cast.tree.nodes[id];
    const NodeState& state = view.now.snapshot.nodes[id];
    const float held = view.scene.held(state, view.now.snapshot.version);
    const bool down = state.activity == Activity::down;
    const bool gone = down || state.activity == Activity::absent;
    pen.fill(box, "page", 1, 5);
    if (!gone && held > 0)
        pen.fill({box.x0, box.y0, box.x0 + held * box.width(), box.y1}, "receive", 0.35F, 5);
    if (gone) {
        pen.dashed_frame(box, down ? "down" : "soft");
    } else {
        pen.frame(box, "soft", 1.3F, 5);
    }
    const float room = box.width() - pen.px(down ? 32 : 12);
    const float x = box.x0 + pen.px(7);
    const TextStyle name{.size = 12.5F};
    const TextStyle small{.color = down ? "down" : "soft", .size = 12};
    const std::string text = state_text(node, state, held);
    if (box.height() >= pen.px(kTwoLines)) {
        pen.text(x, box.middle_y() - pen.px(7.5F), fitted_name(pen, node.name, room, name), name);
        pen.text(x, box.middle_y() + pen.px(7.5F), pen.fitted(text, room, small), small);
    } else if (box.height() >= pen.px(kOneLine)) {
        const std::string both = node.name + "  " + text;
        const bool fits = pen.width(both, name) <= room;
        pen.text(x, box.middle_y(), fits ? both : fitted_name(pen, node.name, room, name), name);
    }
    // Boxes too thin for a name: those of whole sites have it above, where leaves leave them room.
    if (box.height() < pen.px(kOneLine) &&
        view.scene.places.nodes[id].x <= view.scene.places.column)
        pen.text(box.x0, box.y0 - pen.px(9), node.name, small);
    if (!down) return;
    const float half = std::min(pen.px(8), box.height() * 0.4F);
    const float at = box.x1 - pen.px(16);
    pen.cross({at - half, box.middle_y() - half, at + half, box.middle_y() + half}, "down", 2.5F);
}

void draw_store(const PanelView& view, const Rect& source, const Rect& box) {
    Pen& pen = view.pen;
    std::uint64_t read = 0;
    for (const NodeState& state : view.now.snapshot.nodes) read += state.store_bytes;
    const float x = box.x0 + pen.px(24);
    pen.dashed_line({x, source.y1, x, box.y0}, "soft");
    pen.fill(box, "page", 1, 16);
    pen.frame(box, "soft", 1.3F, 16);
    const TextStyle name{.size = 12.5F};
    const TextStyle small{.color = "soft", .size = 12};
    const float room = box.width() - pen.px(24);
    pen.text(box.x0 + pen.px(14), box.middle_y() - pen.px(7.5F),
             pen.fitted("object store", room, name), name);
    pen.text(box.x0 + pen.px(14), box.middle_y() + pen.px(7.5F),
             pen.fitted(report::bytes_text(static_cast<double>(read)) + " read", room, small),
             small);
}

}  // namespace

void draw_tree(const PanelView& view) {
    const Boxes boxes(view);
    const Snapshot& state = view.now.snapshot;
    const auto& nodes = view.scene.run.recording.cast.tree.nodes;
    for (NodeId id = 1; id < nodes.size(); ++id) {
        const NodeState& node = state.nodes[id];
        if (node.parent >= nodes.size() || node.activity == Activity::down) continue;
        const float held = view.scene.held(node, state.version);
        const bool cut = is_cut(view, node.parent, id);
        draw_edge(view, boxes, node.parent, id, !cut && held > 0 && held < 1);
        if (cut) mark_cut(view.pen, boxes.node(id));
    }
    draw_store(view, boxes.node(0), boxes.store());
    for (NodeId id = 0; id < nodes.size(); ++id) draw_node(view, id, boxes.node(id));
    const Rect store = boxes.store();
    const TextStyle note{.color = "soft", .size = 12, .align = Align::right};
    const float room = view.box.x1 - store.x1 - view.pen.px(12);
    view.pen.text(
        view.box.x1, store.middle_y(),
        view.pen.fitted(
            "A box fills with the chunks it holds; an edge is blue until its node has all.", room,
            note),
        note);
}

}  // namespace refit
