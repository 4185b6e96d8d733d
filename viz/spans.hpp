// What everybody did from when to when: the spans of a timeline, by node and track. Lanes, traces
// and reports draw these.
//
// Rollouts  of replicas: at work, or idle with its cause; together the replica's whole time, as the
//           idle account has it.
// Codec     the source encodes from encode_begin to sealed; a replica stages a part at a time.
// Receiving a node gets a delta, from its first chunk kept to its last, whoever sent it.
// Sending   the same of chunks sent, whoever they were for.
// Down      from a crash until the node is back, on every node.
// Exact     spans of one track of one node follow one another and do not overlap; sorted by node,
//           track, time. A run that ended in the middle of one closes it with its last event.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/observe/idle.hpp"
#include "engine/observe/recording.hpp"

namespace refit {

enum class Track : std::uint8_t { rollouts, codec, receiving, sending };
std::string_view track_name(Track track);

enum class SpanKind : std::uint8_t { busy, idle, encode, stage, receive, send, down };
std::string_view span_name(SpanKind kind);

struct Span {
    NodeId node = kNoNode;
    Track track{};
    SpanKind kind{};
    IdleCause cause{};          // of idle
    std::uint64_t version = 0;  // of all but rollouts
    std::uint64_t amount = 0;   // bytes encoded, staged, received or sent
    Nanoseconds from{0};
    Nanoseconds to{0};

    friend bool operator==(const Span&, const Span&) = default;
};

/// `idle` is account_idle() of the recording.
std::vector<Span> fold_spans(const Recording& recording, const IdleAccount& idle);

}  // namespace refit
