#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <span>

#include "viz/report/html.hpp"
#include "viz/report/pictures.hpp"

namespace refit::report {

namespace {

constexpr double kBox = 34;
constexpr double kStoreRoom = 56;  // below the tree

std::size_t leaves_of(const RelayTree& tree) {
    std::size_t leaves = 0;
    for (NodeId id = 0; id < tree.nodes.size(); ++id)
        if (tree.children(id).empty()) ++leaves;
    return leaves;
}

const char* role_text(NodeRole role) {
    switch (role) {
        case NodeRole::source:
            return "trainer";
        case NodeRole::relay:
            return "relay";
        default:
            return "replica";
    }
}

std::string node_box(const TreeNode& node, NodeId id, const Place& at, const std::string& state) {
    const double top = double{at.y} - kBox / 2;
    return fmt::format(
        "<g class=\"node\" id=\"n{0}\"><rect x=\"{1:.1f}\" y=\"{2:.1f}\" width=\"{3}\" "
        "height=\"{4}\" rx=\"6\"/><rect class=\"fill\" id=\"f{0}\" x=\"{1:.1f}\" y=\"{2:.1f}\" "
        "width=\"{3}\" height=\"{4}\" rx=\"6\"/><path class=\"x\" d=\"M{5:.1f} {6:.1f}l16 16m0 "
        "-16l-16 16\"/><text x=\"{7:.1f}\" y=\"{8:.1f}\">{9}</text><text class=\"state\" "
        "id=\"s{0}\" x=\"{7:.1f}\" y=\"{10:.1f}\">{11}</text><title>{12}</title></g>",
        id, double{at.x}, top, kNodeWidth, kBox, double{at.x} + kNodeWidth - 24, top + 9,
        double{at.x} + 8, top + 14, escaped(node.name), top + 28, escaped(state),
        role_text(node.role));
}

}  // namespace

double tree_height(const SavedRun& run) {
    return std::max(150.0, static_cast<double>(leaves_of(run.recording.cast.tree)) * (kBox + 10)) +
           kStoreRoom;
}

Place node_corner(const TreeView& places, NodeId node, double height) {
    const Place& at = places.nodes[node];
    return {static_cast<float>(8 + double{at.x} * (kWidth - kNodeWidth - 16)),
            static_cast<float>(double{at.y} * (height - kStoreRoom))};
}

std::string edge_path(const TreeView& places, NodeId parent, NodeId child, double height) {
    const auto width = static_cast<float>(kNodeWidth);
    const TreeBoxes boxes{width, places.column * static_cast<float>(kWidth - kNodeWidth - 16),
                          places.row * static_cast<float>(height - kStoreRoom), 40};
    const std::vector<Place> curve =
        edge_curve(node_corner(places, parent, height), node_corner(places, child, height), boxes);
    std::string path = fmt::format("M{:.0f} {:.0f}C", curve.front().x, curve.front().y);
    for (const Place& place : std::span(curve).subspan(1))
        path += fmt::format("{:.0f} {:.0f} ", place.x, place.y);
    path.pop_back();
    return path;
}

void write_tree(const SavedRun& run, const TreeView& places, std::ostream& out) {
    const auto& nodes = run.recording.cast.tree.nodes;
    const double height = tree_height(run);
    const Snapshot last = SnapshotIndex(run.recording.timeline).at(run.end());
    out << fmt::format(
        "<figure><svg viewBox=\"0 0 {} {:.0f}\" role=\"img\" aria-label=\"Relay "
        "tree\">",
        kWidth, height);
    for (NodeId id = 1; id < nodes.size(); ++id) {
        const NodeId parent = last.nodes[id].parent;
        out << fmt::format("<path class=\"edge\" id=\"e{}\" d=\"{}\"{}/>", id,
                           parent < nodes.size() ? edge_path(places, parent, id, height) : "",
                           parent < nodes.size() ? "" : " style=\"display:none\"");
    }
    for (NodeId id = 0; id < nodes.size(); ++id) {
        const NodeState& state = last.nodes[id];
        std::string text(activity_name(state.activity));
        if (nodes[id].role == NodeRole::replica) text += fmt::format(" v{}", state.version);
        out << node_box(nodes[id], id, node_corner(places, id, height), text);
    }
    // The store holds every part before it is offered: parts go down to it, late joiners read it.
    std::uint64_t read = 0;
    for (const NodeState& state : last.nodes) read += state.store_bytes;
    const double y = height - kBox - 6;
    out << fmt::format(
        "<path class=\"edge store\" d=\"M{0} {1:.1f}V{2:.1f}\"/><g class=\"node\"><rect x=\"8\" "
        "y=\"{2:.1f}\" width=\"{3}\" height=\"{4}\" rx=\"16\"/><text x=\"18\" y=\"{5:.1f}\">object "
        "store</text><text class=\"state\" x=\"18\" y=\"{6:.1f}\">{7} read back</text></g>",
        8 + kNodeWidth / 2, double{node_corner(places, 0, height).y} + kBox / 2, y, kNodeWidth,
        kBox, y + 14, y + 28, bytes_text(static_cast<double>(read)));
    out << "</svg>"
        << caption(
               "A box fills with the chunks of the delta in flight that the node holds. An X "
               "and a dashed border: it is down. Edges follow the parent a node has found.")
        << "</figure>\n";
}

}  // namespace refit::report
