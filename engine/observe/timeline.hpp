// The one event stream: everything that happened in a run, in order. Records, progress, idle
// accounting and, later, every view are folds over it.
//
// Model    Append-only; `at` never decreases. An event names the node it happened on and, where
//          there is one, the peer, the version, an index (chunk, part, unit) and an amount (bytes
//          unless the kind says otherwise). Virtual time in simulated runs, wall time over TCP.
// Size     40 bytes an event; a 1T refit to 32 leaves is about 3e5 events.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/units.hpp"
#include "engine/net/relay_tree.hpp"

namespace refit {

enum class EventKind : std::uint8_t {
    step_ready,       // source: final weights of `version` are on the trainer, no delta in flight
    encode_begin,     // source: first unit of `version`
    unit_encoded,     // source: index = unit, amount = its bytes
    part_durable,     // source: index = part, amount = its bytes; offered from now on
    sealed,           // source: the log of `version` is closed and durable
    chunk_sent,       // node -> peer; index = chunk
    chunk_received,   // node <- peer, hash checked and kept; index = chunk
    chunk_repeated,   // node <- peer, already held
    chunk_refused,    // node <- peer, hash differs from the part record
    stage_begin,      // replica: begins to decode; index = part
    part_staged,      // replica: index = part, amount = staged bytes
    staged,           // replica: everything decoded, digests agree
    prepared,         // replica: promised
    decided,          // coordinator: the register says `version`
    pause_begin,      // replica: stops serving, drains
    overwrite_begin,  // replica
    check_begin,      // replica: full read of the overwritten weights
    applied,          // replica: resident check passed
    check_failed,     // replica: fenced, reloads
    serving,          // replica: serves `version`
    refit_done,       // coordinator: every member serves `version`
    load_begin,       // replica: anchor + deltas from the store; index 1 when joining
    store_read,       // replica: amount bytes from the store
    loaded,           // replica: now holds `version`
    joined,           // coordinator: peer is a member from now on
    connected,        // node: peer is its parent now
    disconnected,     // node: lost its parent `peer`
    node_down,        // fault
    node_up,          // fault over
    link_down,        // fault: index = WAN link
    link_up           // fault over
};

std::string_view event_name(EventKind kind);

struct Event {
    Nanoseconds at;
    std::uint64_t version = 0;
    std::uint64_t amount = 0;
    NodeId node = kNoNode;
    NodeId peer = kNoNode;
    std::uint32_t index = 0;
    EventKind kind{};

    friend bool operator==(const Event&, const Event&) = default;
};

class Timeline {
public:
    Timeline() = default;
    explicit Timeline(std::vector<std::string> node_names) : names_(std::move(node_names)) {}

    void append(const Event& event);

    const std::vector<Event>& events() const { return events_; }
    const std::vector<std::string>& node_names() const { return names_; }

private:
    std::vector<std::string> names_;
    std::vector<Event> events_;
};

}  // namespace refit
