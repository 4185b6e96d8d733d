#include "viz/report/player_data.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "viz/chunk_counts.hpp"
#include "viz/report/html.hpp"
#include "viz/report/pictures.hpp"

namespace refit::report {

namespace {

using Json = nlohmann::ordered_json;

constexpr float kLanePixels = 8000;     // finer than anybody can point
constexpr std::uint32_t kHeldStep = 2;  // percent

/// Whole microseconds; -1 for never.
double millis(Nanoseconds at) {
    return at.count < 0 ? -1 : std::round(static_cast<double>(at.count) / 1e3) / 1e3;
}

/// What one node did: steps, each only where something changes.
struct NodeSteps {
    Json doing = Json::array();
    Json held = Json::array();
    Json edges = Json::array();  // paths from the parent; empty: it has none
    Json versions = Json::array();
    NodeState last;
    std::uint32_t percent = 0;
};

class StepFold {
public:
    StepFold(const SavedRun& run, const TreeView& places)
        : run_(run),
          places_(places),
          height_(tree_height(run)),
          chunks_(chunk_counts(run.recording.timeline)),
          snapshot_(begin_snapshot(run.recording.timeline.node_names().size())),
          nodes_(run.recording.cast.tree.nodes.size()) {}

    void fold_all() {
        Phase phase = snapshot_.phase;
        for (const Event& event : run_.recording.timeline.events()) {
            const std::uint64_t version = snapshot_.version;
            fold(event, snapshot_);
            if (snapshot_.version != version)  // all begin with nothing of it
                for (NodeId id = 0; id < nodes_.size(); ++id) take(id, event.at);
            if (event.node < nodes_.size()) take(event.node, event.at);
            if (snapshot_.phase == phase) continue;
            phase = snapshot_.phase;
            phases_.push_back({millis(event.at), phase_name(phase)});
        }
    }

    const Json& phases() const { return phases_; }
    const NodeSteps& node(NodeId id) const { return nodes_[id]; }

private:
    void take(NodeId id, Nanoseconds at) {
        NodeSteps& steps = nodes_[id];
        const NodeState& now = snapshot_.nodes[id];
        const double time = millis(at);
        if (now.activity != steps.last.activity)
            steps.doing.push_back({time, activity_name(now.activity)});
        if (now.parent != steps.last.parent) steps.edges.push_back({time, edge_to(id, now.parent)});
        if (now.activity == Activity::serving && steps.last.activity != Activity::serving)
            steps.versions.push_back({time, now.version});
        const auto of = chunks_.find(snapshot_.version);
        const std::uint32_t all = of == chunks_.end() ? 0 : of->second;
        const std::uint32_t percent = all == 0 ? 0 : 100 * std::min(now.chunks, all) / all;
        if (percent != steps.percent &&
            (percent == 0 || percent == 100 || percent >= steps.percent + kHeldStep)) {
            steps.held.push_back({time, percent});
            steps.percent = percent;
        }
        steps.last = now;
    }

    std::string edge_to(NodeId id, NodeId parent) const {
        return parent < nodes_.size() ? edge_path(places_, parent, id, height_) : "";
    }

    const SavedRun& run_;
    const TreeView& places_;
    double height_;
    std::map<std::uint64_t, std::uint32_t> chunks_;
    Snapshot snapshot_;
    std::vector<NodeSteps> nodes_;
    Json phases_ = Json::array();
};

Json lanes(const SavedRun& run, const std::vector<LaneRow>& rows) {
    const TimeScale fine = TimeScale::squeezed(run.recording.timeline, kLanePixels);
    Json all = Json::array();
    for (const LaneRow& row : rows) all.push_back({{"name", row.label}, {"spans", Json::array()}});

    for (const LaneBox& box : lane_boxes(run, rows, fine)) {
        const Span& span = run.spans[box.span];
        const bool one = box.spans == 1;
        all[box.row]["spans"].push_back({millis(one ? span.from : fine.at(box.x0)),
                                         millis(one ? span.to : fine.at(box.x1)),
                                         style_of(box.kind, box.cause)});
    }
    return all;
}

/// When all of a cell was encoded, staged by everybody, verified by everybody; -1 for never. A
/// replica that was not there does not count, unless none was.
Json cell_times(const MapCell& cell, const RefitProgress& refit) {
    Nanoseconds encoded{-1};
    for (const UnitRun& run : cell.units)
        for (std::uint32_t unit = run.first; unit < run.end; ++unit)
            encoded = std::max(encoded, refit.encoded[unit]);
    Nanoseconds staged{-1};
    for (std::size_t p = 0; p < refit.parts.size(); ++p) {
        const UnitRun& part = refit.parts[p];
        const bool carries = std::ranges::any_of(cell.units, [&](const UnitRun& run) {
            return run.first < part.end && part.first < run.end;
        });
        if (!carries) continue;
        for (const auto& of_replica : refit.staged)
            if (p < of_replica.size()) staged = std::max(staged, of_replica[p]);
    }
    Nanoseconds verified{-1};
    for (const Nanoseconds when : refit.verified) verified = std::max(verified, when);
    return {millis(encoded), millis(staged), millis(verified)};
}

}  // namespace

Json player_data(const SavedRun& run, const PlayerViews& views) {
    StepFold steps(run, views.places);
    steps.fold_all();
    Json nodes = Json::array();
    for (NodeId id = 0; id < run.recording.cast.tree.nodes.size(); ++id) {
        const NodeSteps& of = steps.node(id);
        nodes.push_back({{"doing", of.doing},
                         {"held", of.held},
                         {"edges", of.edges},
                         {"versions", of.versions}});
    }
    const std::vector<RefitProgress> progress = fold_progress(run.recording);
    const bool wrong = run.record.is_object() && run.record["verify"]["mismatches"] != 0;
    Json refits = Json::array();
    for (const RefitProgress& refit : progress)
        refits.push_back(
            {{"version", refit.version}, {"begun", millis(refit.begun)}, {"wrong", wrong}});
    Json cells = Json::array();
    for (const MapCell& cell : views.map.cells) {
        Json times = Json::array();
        for (const RefitProgress& refit : progress) times.push_back(cell_times(cell, refit));
        cells.push_back(std::move(times));
    }
    Json kinds = Json::array();
    for (const SpanStyle& style : span_styles()) kinds.push_back(style.name);
    const Json provenance =
        run.record.is_object() ? run.record["refit"]["seconds"]["provenance"] : Json("simulated");
    Json scale = Json::array();
    for (const TimeScale::Piece& piece : views.scale.pieces())
        scale.push_back({millis(piece.from), millis(piece.to), piece.x0, piece.x1});
    return {{"end", std::max(0.001, millis(run.end()))},
            {"left", kLeft},
            {"plot", kPlot},
            {"scale", scale},
            {"top", kTop},
            {"row", kRow},
            {"width", kNodeWidth},
            {"provenance", provenance},
            {"kinds", kinds},
            {"phases", steps.phases()},
            {"refits", refits},
            {"nodes", nodes},
            {"lanes", lanes(run, views.rows)},
            {"cells", cells}};
}

}  // namespace refit::report
