#include "engine/collective/socket_mesh.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "engine/base/result.hpp"
#include "engine/collective/collective.hpp"

namespace refit {
namespace {

[[noreturn]] void fail(const char* what) {
    throw MachineError(std::string("sockets between ranks: ") + what + ": " + std::strerror(errno));
}

}  // namespace

std::vector<SocketMesh> SocketMesh::make(unsigned ranks) {
    REFIT_ASSERT(ranks >= 1 && ranks <= kRanksMax);
    std::vector<SocketMesh> meshes;
    for (unsigned rank = 0; rank < ranks; ++rank) meshes.push_back(SocketMesh(rank, ranks));
    for (unsigned a = 0; a < ranks; ++a) {
        for (unsigned b = a + 1; b < ranks; ++b) {
            std::array<int, 2> ends{};
            const int type = static_cast<int>(SOCK_SEQPACKET) | static_cast<int>(SOCK_CLOEXEC) |
                             static_cast<int>(SOCK_NONBLOCK);
            if (socketpair(AF_UNIX, type, 0, ends.data()) != 0) fail("socketpair");
            meshes[a].ends_[b] = ends[0];
            meshes[b].ends_[a] = ends[1];
        }
    }
    return meshes;
}

SocketMesh::~SocketMesh() {
    for (unsigned rank = 0; rank < ends_.size(); ++rank) close(rank);
}

void SocketMesh::close(unsigned rank) {
    if (ends_[rank] >= 0) ::close(ends_[rank]);
    ends_[rank] = -1;
}

SocketMesh::Io SocketMesh::send(unsigned rank,
                                const Frame& frame,
                                std::span<const std::byte> bytes) {
    REFIT_ASSERT(bytes.size() <= kFrameBytesMax);
    if (!open(rank)) return Io::closed;
    Frame head = frame;
    std::array<iovec, 2> parts{
        {{&head, sizeof head}, {const_cast<std::byte*>(bytes.data()), bytes.size()}}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = bytes.empty() ? 1 : 2;
    while (sendmsg(ends_[rank], &message, MSG_NOSIGNAL) < 0) {
        if (errno == EAGAIN || errno == ENOBUFS) return Io::wait;
        if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN) return Io::closed;
        if (errno != EINTR) fail("send");
    }
    return Io::done;
}

SocketMesh::Io SocketMesh::receive(unsigned rank,
                                   Frame& frame,
                                   std::span<std::byte> bytes,
                                   std::size_t& got) {
    if (!open(rank)) return Io::closed;
    std::array<iovec, 2> parts{{{&frame, sizeof frame}, {bytes.data(), bytes.size()}}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = bytes.empty() ? 1 : 2;
    ssize_t size = 0;
    // A peer that left messages of ours unread resets: said once, before what it sent is read.
    while ((size = recvmsg(ends_[rank], &message, MSG_TRUNC)) < 0) {
        if (errno == EAGAIN) return Io::wait;
        if (errno != EINTR && errno != ECONNRESET) fail("receive");
    }
    if (static_cast<std::size_t>(size) < sizeof frame) return Io::closed;
    got = static_cast<std::size_t>(size) - sizeof frame;
    return Io::done;
}

SocketMesh::Io SocketMesh::peek(unsigned rank, Frame& frame) {
    if (!open(rank)) return Io::closed;
    ssize_t size = 0;
    while ((size = recv(ends_[rank], &frame, sizeof frame, MSG_PEEK)) < 0) {
        if (errno == EAGAIN) return Io::wait;
        if (errno != EINTR && errno != ECONNRESET) fail("receive");
    }
    return static_cast<std::size_t>(size) < sizeof frame ? Io::closed : Io::done;
}

bool SocketMesh::wait_any(std::span<const Interest> interests, Nanoseconds limit) const {
    std::array<pollfd, kRanksMax> polled{};
    REFIT_ASSERT(interests.size() <= polled.size());
    for (std::size_t i = 0; i < interests.size(); ++i) {
        const auto events = static_cast<short>(interests[i].send ? POLLOUT : POLLIN);
        polled[i] = {ends_[interests[i].rank], events, 0};
    }
    // A little late is fine, busy for the last millisecond is not.
    const std::int64_t milliseconds = std::clamp<std::int64_t>(
        (std::max<std::int64_t>(limit.count, 0) + 999'999) / 1'000'000, 0, 1'000'000);
    const int ready = poll(polled.data(), interests.size(), static_cast<int>(milliseconds));
    if (ready < 0 && errno != EINTR) fail("poll");
    return ready != 0;
}

}  // namespace refit
