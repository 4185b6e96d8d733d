// The pictures of the report: inline SVG of the whole run, which the player only moves through.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "viz/lane_view.hpp"
#include "viz/tensor_view.hpp"
#include "viz/tree_view.hpp"
#include "workloads/published.hpp"

namespace refit::report {

/// Of a lane's spans, in the order of the legend: class of the style sheet, and what it means.
struct SpanStyle {
    std::string name;  // "idle, payload"
    std::string css;   // class
    SpanKind kind;
    IdleCause cause;  // of idle
};
const std::vector<SpanStyle>& span_styles();
std::size_t style_of(SpanKind kind, IdleCause cause);

/// Hatches and crosses that other pictures fill with: no state is told by colour alone.
void write_patterns(std::ostream& out);

void write_tree(const SavedRun& run, const TreeView& places, std::ostream& out);
void write_lanes(const SavedRun& run,
                 const std::vector<LaneRow>& rows,
                 const TimeScale& scale,
                 std::ostream& out);
void write_rates(const SavedRun& run, const TimeScale& scale, std::ostream& out);
void write_map(const SavedRun& run, const TensorMap& map, std::ostream& out);
/// Changed words by layer and kind, over all refits; nothing where the record has none.
void write_shares(const SavedRun& run, const TensorMap& map, std::ostream& out);
/// Full transfers, this run, and what others published of the same size, on a log axis.
void write_scale(const SavedRun& run, const std::vector<PublishedRow>& marks, std::ostream& out);

/// Where the box of a node stands in the picture of the tree.
Place node_corner(const TreeView& places, NodeId node, double height);
/// As a path of SVG.
std::string edge_path(const TreeView& places, NodeId parent, NodeId child, double height);
double tree_height(const SavedRun& run);

}  // namespace refit::report
