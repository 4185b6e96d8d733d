#include "viz/tree_view.hpp"

#include <algorithm>

namespace refit {

TreeView lay_out(const RelayTree& tree) {
    TreeView view;
    view.nodes.resize(tree.nodes.size());
    std::vector<std::vector<NodeId>> children(tree.nodes.size());
    std::vector<std::size_t> depth(tree.nodes.size());
    std::size_t deepest = 1;
    for (NodeId id = 1; id < tree.nodes.size(); ++id) {
        children[tree.nodes[id].parent].push_back(id);
        depth[id] = depth[tree.nodes[id].parent] + 1;
        deepest = std::max(deepest, depth[id]);
    }
    // Leaves in the order a walk from the source meets them, so that no edges cross.
    std::vector<NodeId> leaves;
    std::vector<NodeId> open = {0};
    while (!open.empty() && !tree.nodes.empty()) {
        const NodeId id = open.back();
        open.pop_back();
        if (children[id].empty()) leaves.push_back(id);
        open.insert(open.end(), children[id].rbegin(), children[id].rend());
    }
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        view.nodes[leaves[i]].y =
            (static_cast<float>(i) + 0.5F) / static_cast<float>(leaves.size());
    }
    for (NodeId id = static_cast<NodeId>(tree.nodes.size()); id-- > 0;) {
        Place& place = view.nodes[id];
        place.x = static_cast<float>(depth[id]) / static_cast<float>(deepest);
        if (children[id].empty()) continue;
        const auto y = [&](NodeId child) { return view.nodes[child].y; };
        place.y = (y(children[id].front()) + y(children[id].back())) / 2;
    }
    view.store = {0, 1};
    view.column = 1 / static_cast<float>(deepest);
    view.row = 1 / static_cast<float>(std::max<std::size_t>(1, leaves.size()));
    return view;
}

std::vector<Place> edge_curve(Place from, Place to, const TreeBoxes& boxes) {
    const float right = from.x + boxes.width;
    if (right >= to.x) return {from, {from.x - boxes.bend, from.y}, {to.x - boxes.bend, to.y}, to};
    std::vector<Place> curve = {{right, from.y}};
    const auto ahead = [&curve](Place end) {
        const Place begin = curve.back();
        const float middle = (begin.x + end.x) / 2;
        curve.insert(curve.end(), {{middle, begin.y}, {middle, end.y}, end});
    };
    if (to.x - from.x > 1.5F * boxes.column) {
        const float lane = to.y + (from.y > to.y ? 0.5F : -0.5F) * boxes.row;
        ahead({from.x + boxes.column, lane});
        ahead({to.x - boxes.column + boxes.width, lane});
    }
    ahead(to);
    return curve;
}

NodeId hit_tree(const TreeView& view, Place at, float radius) {
    NodeId nearest = kNoNode;
    float least = radius * radius;
    for (NodeId id = 0; id < view.nodes.size(); ++id) {
        const float dx = view.nodes[id].x - at.x;
        const float dy = view.nodes[id].y - at.y;
        if (dx * dx + dy * dy > least) continue;
        least = dx * dx + dy * dy;
        nearest = id;
    }
    return nearest;
}

}  // namespace refit
