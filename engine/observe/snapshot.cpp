#include "engine/observe/snapshot.hpp"

#include <algorithm>
#include <array>

namespace refit {

namespace {

constexpr std::size_t kKeyframeEvents = 4096;

/// A delta of another version is in flight from now on.
void begin_delta(std::uint64_t version, Snapshot& snapshot) {
    if (version == snapshot.version) return;  // a restarted source goes on
    snapshot.version = version;
    snapshot.units = snapshot.parts = 0;
    snapshot.unit_bytes = 0;
    snapshot.sealed = false;
    for (NodeState& node : snapshot.nodes) {
        node.chunks = node.parts = 0;
        node.staged = false;
    }
}

void fold_source(const Event& event, Snapshot& snapshot) {
    switch (event.kind) {
        case EventKind::encode_begin:
            return begin_delta(event.version, snapshot);
        case EventKind::unit_encoded:
            snapshot.units = std::max(snapshot.units, event.index + 1);
            snapshot.unit_bytes += event.amount;
            return;
        case EventKind::part_durable:
            snapshot.parts = std::max(snapshot.parts, event.index + 1);
            return;
        case EventKind::sealed:
            snapshot.sealed = true;
            return;
        case EventKind::decided:
            snapshot.decided = event.version;
            return;
        case EventKind::refit_done:
            snapshot.served = std::max(snapshot.served, event.version);
            return;
        case EventKind::node_down:
            ++snapshot.faults;
            return;
        default:
            return;
    }
}

/// Before the node's own fold: what it was doing tells a wrong resident check from a part that does
/// not decode.
void fold_checks(const Event& event, Snapshot& snapshot) {
    const bool known = event.node < snapshot.nodes.size();
    switch (event.kind) {
        case EventKind::applied:
        case EventKind::loaded:  // what a load wrote is read back in full, too
            ++snapshot.checks_passed;
            return;
        case EventKind::check_failed:
            if (known && snapshot.nodes[event.node].activity == Activity::checking)
                ++snapshot.checks_failed;
            return;
        default:
            return;
    }
}

void fold_link(const Event& event, Snapshot& snapshot) {
    const bool down = event.kind == EventKind::link_down;
    if (!down && event.kind != EventKind::link_up) return;
    if (event.index >= snapshot.links_down.size()) snapshot.links_down.resize(event.index + 1);
    snapshot.links_down[event.index] = down;
    if (down) ++snapshot.faults;
}

void crash(NodeState& node) {
    node.activity = Activity::down;
    node.parent = kNoNode;
    node.staging = node.staged = false;
    node.parts = 0;  // a staging list is in memory; chunks are not
}

void fold_transfer(const Event& event, NodeState& node) {
    switch (event.kind) {
        case EventKind::chunk_received:
            ++node.chunks;
            node.kept_bytes += event.amount;
            node.last_chunk = event.at;
            return;
        case EventKind::stage_begin:
            node.staging = true;
            return;
        case EventKind::part_staged:
            node.staging = false;
            ++node.parts;
            return;
        case EventKind::staged:
            node.staged = true;
            return;
        case EventKind::store_read:
            node.store_bytes += event.amount;
            return;
        default:
            return;
    }
}

void fold_node(const Event& event, NodeState& node) {
    switch (event.kind) {
        case EventKind::step_ready:
        case EventKind::joined:
        case EventKind::connected:
            if (event.kind == EventKind::connected) node.parent = event.peer;
            if (node.activity == Activity::absent) node.activity = Activity::up;
            return;
        case EventKind::disconnected:
            node.parent = kNoNode;
            return;
        case EventKind::load_begin:
            node.activity = Activity::loading;
            return;
        case EventKind::pause_begin:
            node.activity = Activity::draining;
            return;
        case EventKind::overwrite_begin:
            node.activity = Activity::overwriting;
            return;
        case EventKind::check_begin:
            node.activity = Activity::checking;
            return;
        case EventKind::applied:
            node.activity = Activity::waiting;
            return;
        case EventKind::check_failed:
            node.activity = Activity::loading;
            node.staging = false;
            return;
        case EventKind::serving:
            node.activity = Activity::serving;
            node.version = event.version;
            return;
        case EventKind::node_down:
            return crash(node);
        case EventKind::node_up:
            node.activity = Activity::up;  // a replica loads before it serves
            return;
        default:
            return fold_transfer(event, node);
    }
}

Phase phase_of(const Snapshot& snapshot, Phase before, const Event& event) {
    switch (event.kind) {
        case EventKind::serving:
            return before == Phase::starting ? Phase::training : before;
        case EventKind::encode_begin:
            return snapshot.parts > 0 ? before : Phase::encoding;
        case EventKind::part_durable:
            return Phase::streaming;
        case EventKind::prepared:
            return before == Phase::committing ? before : Phase::preparing;
        case EventKind::decided:
            return Phase::committing;
        case EventKind::refit_done:
            return Phase::training;
        default:
            return before;
    }
}

}  // namespace

std::string_view activity_name(Activity activity) {
    constexpr std::array<std::string_view, 9> kNames = {"absent",   "up",          "serving",
                                                        "draining", "overwriting", "checking",
                                                        "waiting",  "loading",     "down"};
    return kNames[static_cast<std::size_t>(activity)];
}

std::string_view phase_name(Phase phase) {
    constexpr std::array<std::string_view, 6> kNames = {"starting",  "training",  "encoding",
                                                        "streaming", "preparing", "committing"};
    return kNames[static_cast<std::size_t>(phase)];
}

Snapshot begin_snapshot(std::size_t nodes) {
    Snapshot snapshot;
    snapshot.nodes.resize(nodes);
    return snapshot;
}

void fold(const Event& event, Snapshot& snapshot) {
    snapshot.at = event.at;
    ++snapshot.events;
    fold_source(event, snapshot);
    fold_checks(event, snapshot);
    fold_link(event, snapshot);
    if (event.node < snapshot.nodes.size()) fold_node(event, snapshot.nodes[event.node]);
    snapshot.phase = phase_of(snapshot, snapshot.phase, event);
}

SnapshotIndex::SnapshotIndex(const Timeline& timeline) : timeline_(timeline) {
    Snapshot snapshot = begin_snapshot(timeline.node_names().size());
    keyframes_.push_back(snapshot);
    for (const Event& event : timeline.events()) {
        fold(event, snapshot);
        if (snapshot.events % kKeyframeEvents == 0) keyframes_.push_back(snapshot);
    }
}

Snapshot SnapshotIndex::at(Nanoseconds time) const {
    const auto after = std::ranges::upper_bound(keyframes_, time, {}, &Snapshot::at);
    // The first keyframe is of time 0 and no event; a time before it is that too.
    Snapshot snapshot = after == keyframes_.begin() ? keyframes_.front() : *std::prev(after);
    const auto& events = timeline_.events();
    for (std::size_t i = snapshot.events; i < events.size() && events[i].at <= time; ++i)
        fold(events[i], snapshot);
    snapshot.at = std::max(time, Nanoseconds{0});
    return snapshot;
}

}  // namespace refit
