// The relay tree as places in a unit square: from the source on the left to the replicas on the
// right, leaves evenly from top to bottom, a parent in the middle of its children. The object
// store stands below the source. A pure function of the tree, so that nothing moves during a run:
// when a node finds another parent, only the edge does.
#pragma once

#include <string>
#include <vector>

#include "engine/observe/snapshot.hpp"

namespace refit {

struct Place {
    float x = 0;  // 0 left, 1 right
    float y = 0;  // 0 top, 1 bottom
};

struct TreeView {
    std::vector<Place> nodes;  // those of the tree
    Place store;
    float column = 0;  // from one level to the next
    float row = 0;     // from one leaf to the next
};

TreeView lay_out(const RelayTree& tree);

/// How boxes are drawn at these places, in the unit of whoever draws.
struct TreeBoxes {
    float width = 0;   // of a box
    float column = 0;  // as TreeView has them
    float row = 0;
    float bend = 0;  // how far an edge swings out that goes back
};

/// The edge between the middles of two boxes' sides, given by their upper or lower left corners or
/// anything between: where it begins, then of each cubic Bezier curve both controls and the end.
/// From the right side, or, to a node not further right, around on the left. One that skips a level
/// passes between the rows there: behind a box it would seem to come from it.
std::vector<Place> edge_curve(Place from, Place to, const TreeBoxes& boxes);

/// The node within `radius` of a point, the nearest; kNoNode where there is none.
NodeId hit_tree(const TreeView& view, Place at, float radius);

}  // namespace refit
