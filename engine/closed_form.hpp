// A refit in closed form: what a run takes, from the plan alone, without running it.
//
// Model    The delta leaves the source part by part, as encoding and the store yield them; every
//          node of the tree passes chunks on as they arrive; a replica stages a part when it has
//          all of it; the coordinator's messages take half a round trip each. An edge gets an equal
//          share of every link and NIC it uses, at most what its parent receives, and at most a
//          window per round trip.
// Against  runs of the same plan without faults: within 5 % on every shipped topology (a test).
//          Late replicas, latency jitter and the ramp of a connection are left out.
// Shares   encode, wire, stage and pause follow one another as in RefitTimes and add up.
#pragma once

#include <string>
#include <vector>

#include "engine/net/relay_tree.hpp"
#include "engine/plan.hpp"

namespace refit {

/// What is sent, and what it stands for.
struct DeltaSize {
    Bytes payload;
    Bytes weights;  // of the whole checkpoint
    Bytes staged;   // of the staging list
};

struct EdgeForm {
    NodeId parent = kNoNode;
    NodeId child = kNoNode;
    double bits_per_second = 0;
    std::string limit;  // "link trainer - rollout", "window", "NIC of source", "parent"
};

struct RefitForm {
    double encode_seconds = 0;
    double wire_seconds = 0;
    double stage_seconds = 0;
    double pause_seconds = 0;
    double longest_pause_seconds = 0;
    std::string bottleneck;  // what the wire waits for
    std::vector<EdgeForm> edges;

    double seconds() const { return encode_seconds + wire_seconds + stage_seconds + pause_seconds; }
};

/// Of a topology that passed validate().
RefitForm closed_form(const Topology& topology,
                      const DeltaSpec& delta,
                      const TransportSpec& transport,
                      const Fleet& fleet,
                      const DeltaSize& size);

}  // namespace refit
