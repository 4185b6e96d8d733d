// Unix sockets between every two ranks of one machine: whole messages, in order, and an end that is
// seen the moment a process dies.
//
// Use        make() before the ranks part, as threads or by fork(). A process keeps its own mesh
// and
//            destroys the others: an end counts as closed when no process holds it.
// Message    a Frame and up to kFrameBytesMax bytes; it arrives whole or not at all.
// Waiting    send() and receive() never wait; wait_any() does.
// Errors     MachineError: no descriptors, no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/units.hpp"

namespace refit {

inline constexpr std::size_t kFrameBytesMax = std::size_t{64} << 10;

/// In the machine's own byte order: both ends run on it.
struct Frame {
    enum Kind : std::uint32_t { gather = 1, fan_out, barrier, notice, join, view };
    std::uint32_t kind = 0;
    std::uint32_t rank = 0;       // operations: the owner; notice: whom it is about
    std::uint64_t epoch = 0;      // how often the mesh was rebuilt
    std::uint64_t operation = 0;  // counted from 1 in each epoch
    std::uint64_t total = 0;      // bytes of the whole transfer; view: the ranks, a bit each
    std::uint64_t offset = 0;     // of this message in it
};

class SocketMesh {
public:
    enum class Io : std::uint8_t { done, wait, closed };

    /// What wait_any() looks for at one rank.
    struct Interest {
        unsigned rank;
        bool send;
    };

    static std::vector<SocketMesh> make(unsigned ranks);

    SocketMesh(SocketMesh&&) = default;
    SocketMesh& operator=(SocketMesh&&) = delete;
    ~SocketMesh();

    unsigned self() const { return self_; }
    unsigned size() const { return static_cast<unsigned>(ends_.size()); }
    bool open(unsigned rank) const { return ends_[rank] >= 0; }
    void close(unsigned rank);

    Io send(unsigned rank, const Frame& frame, std::span<const std::byte> bytes);

    /// `bytes` takes what fits, `got` is how many there were.
    Io receive(unsigned rank, Frame& frame, std::span<std::byte> bytes, std::size_t& got);

    /// The next message's frame; it stays where it is.
    Io peek(unsigned rank, Frame& frame);

    /// Until one of them can go on or is closed; false once `limit` has passed.
    bool wait_any(std::span<const Interest> interests, Nanoseconds limit) const;

private:
    explicit SocketMesh(unsigned self, unsigned ranks) : self_(self), ends_(ranks, -1) {}

    unsigned self_;
    std::vector<int> ends_;  // by rank; -1: closed, and at the own rank
};

}  // namespace refit
