// What is true at one moment of a run: a pure fold of the timeline up to it. Views draw this and
// the spans of lanes; they never ask the engine.
//
// Exact     at(time) is the fold of all events with at <= time, however it is reached: forward, or
//           from the keyframe before it.
// Cost      a keyframe every 4096 events (about 100 bytes a node), so that scrubbing folds at most
//           4095 events.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/observe/timeline.hpp"

namespace refit {

enum class Activity : std::uint8_t {
    absent,  // not there yet
    up,      // source, relays, coordinator
    serving,
    draining,  // paused, until the batch boundary
    overwriting,
    checking,  // reads what it has overwritten
    waiting,   // applied; others have not yet
    loading,   // anchor and deltas, from the store
    down
};
std::string_view activity_name(Activity activity);

/// Of the whole run: what the status strip says.
enum class Phase : std::uint8_t {
    starting,   // nothing serves yet
    training,   // no delta is in flight
    encoding,   // and nothing of it is offered yet
    streaming,  // parts travel and are staged
    preparing,  // all members have staged it
    committing  // decided; not all serve it yet
};
std::string_view phase_name(Phase phase);

struct NodeState {
    Activity activity = Activity::absent;
    NodeId parent = kNoNode;        // as connected now
    std::uint64_t version = 0;      // replicas: served last
    std::uint32_t chunks = 0;       // held of the delta in flight
    std::uint32_t parts = 0;        // replicas: staged of it
    bool staging = false;           // decodes a part now
    bool staged = false;            // all of it
    std::uint64_t kept_bytes = 0;   // since the run began
    std::uint64_t store_bytes = 0;  // read from the object store
    Nanoseconds last_chunk{-1};     // when it got one

    friend bool operator==(const NodeState&, const NodeState&) = default;
};

struct Snapshot {
    Nanoseconds at{0};
    std::uint64_t events = 0;  // folded
    Phase phase = Phase::starting;
    std::uint64_t version = 0;  // of the delta in flight, or decided last
    std::uint64_t decided = 0;
    std::uint32_t units = 0;       // of it: encoded
    std::uint64_t unit_bytes = 0;  // their bytes
    std::uint32_t parts = 0;       // durable and offered
    bool sealed = false;
    std::uint64_t served = 0;         // the newest version that every member serves
    std::uint32_t checks_passed = 0;  // resident checks of the run: after an overwrite or a load
    std::uint32_t checks_failed = 0;  // not those of parts that do not decode
    std::uint32_t faults = 0;         // that struck
    std::vector<NodeState> nodes;     // as the timeline numbers them
    std::vector<bool> links_down;     // WAN links; as long as the highest that was ever down

    friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

/// Before any event.
Snapshot begin_snapshot(std::size_t nodes);
void fold(const Event& event, Snapshot& snapshot);

/// Random access: pure in (timeline, time). The timeline outlives it and does not shrink.
class SnapshotIndex {
public:
    explicit SnapshotIndex(const Timeline& timeline);
    explicit SnapshotIndex(Timeline&&) = delete;

    Snapshot at(Nanoseconds time) const;

private:
    const Timeline& timeline_;
    std::vector<Snapshot> keyframes_;  // after 0, 4096, 8192, ... events
};

}  // namespace refit
