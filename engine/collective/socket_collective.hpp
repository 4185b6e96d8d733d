// The collective of the CPU: ranks are processes (or threads) of one machine over a socket mesh.
//
// Memory     the host's. Chunks of 64 KiB go straight from and to the caller's bytes; nothing else
//            is held, whatever the sizes.
// Loss       a dead process is seen at once and by name. Who loses somebody tells everybody, so the
//            others need not wait for their deadlines.
// Rebuild    the lowest rank that is left collects who wants to go on and says who they are. It
//            waits for a rank that is alive but silent until the deadline, and cuts it off then.
#pragma once

#include <vector>

#include "engine/collective/collective.hpp"
#include "engine/collective/socket_mesh.hpp"

namespace refit {

class SocketCollective final : public Collective {
public:
    SocketCollective(SocketMesh mesh, Nanoseconds deadline);

    unsigned self() const override { return mesh_.self(); }
    std::span<const unsigned> ranks() const override { return ranks_; }

    MaybeLoss gather(unsigned owner,
                     std::span<const std::byte> mine,
                     std::span<const std::span<std::byte>> parts) override;
    MaybeLoss fan_out(unsigned owner, std::span<std::byte> bytes) override;
    MaybeLoss barrier() override;
    MaybeLoss check() override;
    void abort() override;
    void rebuild() override;
    MaybeLoss finish() override { return barrier(); }

private:
    struct Transfer {
        unsigned rank;
        bool send;
        std::span<const std::byte> from;  // of a send
        std::span<std::byte> to;          // of a receive
        std::size_t moved = 0;
        bool complete = false;
        std::size_t size() const { return send ? from.size() : to.size(); }
    };
    class Rebuild;

    /// All of them, as one operation of this kind.
    MaybeLoss run(Frame::Kind kind, unsigned owner, std::vector<Transfer> transfers);
    MaybeLoss step(const Frame& head, Transfer& transfer);
    MaybeLoss step_send(const Frame& head, Transfer& transfer);
    MaybeLoss step_receive(const Frame& head, Transfer& transfer);
    /// Of a message that is no part of an operation.
    MaybeLoss understand(unsigned rank, const Frame& frame);
    MaybeLoss lose(Loss::Kind kind, unsigned rank, std::string reason);
    void tell(unsigned lost);
    bool is_in(unsigned rank) const;

    SocketMesh mesh_;
    Nanoseconds deadline_;
    std::vector<unsigned> ranks_;
    std::uint64_t epoch_ = 0;
    std::uint64_t operation_ = 0;       // in this epoch
    std::uint64_t calls_ = 0;           // of the caller, since the start
    std::string name_ = "no call yet";  // the current one
    MaybeLoss lost_;                    // set until rebuild()
    std::uint64_t joined_ = 0;          // ranks that asked this one to rebuild, a bit each
    std::uint64_t newest_ = 0;          // epoch that any of them has seen
};

}  // namespace refit
