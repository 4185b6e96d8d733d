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
};

TreeView lay_out(const RelayTree& tree);

/// The node within `radius` of a point, the nearest; kNoNode where there is none.
NodeId hit_tree(const TreeView& view, Place at, float radius);

}  // namespace refit
