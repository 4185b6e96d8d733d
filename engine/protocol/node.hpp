// A protocol node is a pure state machine: inputs are calls, outputs go through its Env.
//
// Rule      no clock, socket, thread or randomness inside; iteration only over ordered containers.
//           Durable state is one struct per role that outlives the node object: after a crash the
//           driver builds a new node over the same struct and calls on_start().
// Drivers   the simulator (engine/sim); TCP comes beside it.
#pragma once

#include <cstdint>

#include "engine/observe/timeline.hpp"
#include "engine/protocol/message.hpp"

namespace refit {

/// What an event carries beside its kind.
struct EventFields {
    std::uint64_t version = 0;
    NodeId peer = kNoNode;
    std::uint32_t index = 0;
    std::uint64_t amount = 0;
};

class Env {
public:
    virtual ~Env() = default;

    /// Fire and forget, in order per connection; lost if the connection dies or is not there.
    virtual void send(NodeId to, Message message) = 0;
    /// Asks for a connection; answered by on_connect() or on_disconnect().
    virtual void connect(NodeId peer) = 0;
    /// on_timer(id) after `delay`, unless the node crashes first.
    virtual void set_timer(std::uint32_t id, Nanoseconds delay) = 0;
    virtual void note(EventKind kind, const EventFields& fields) = 0;
};

class Node {
public:
    Node() = default;
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;
    virtual ~Node() = default;

    virtual void on_start() = 0;
    virtual void on_connect(NodeId peer) = 0;
    virtual void on_disconnect(NodeId peer) = 0;
    virtual void on_message(NodeId from, const Message& message) = 0;
    virtual void on_timer(std::uint32_t id) = 0;
};

/// Delays every role uses.
struct Timing {
    Nanoseconds retry = 500_ms;      // an unanswered request is sent again
    Nanoseconds reconnect = 200_ms;  // from losing a parent to trying the next
    std::uint32_t window = 16;       // chunks in flight per edge
    std::uint32_t chunks_per_part = 64;
};

inline constexpr std::uint32_t kRetryTimer = 1;
inline constexpr std::uint32_t kReconnectTimer = 2;
inline constexpr std::uint32_t kDrainTimer = 3;

}  // namespace refit
