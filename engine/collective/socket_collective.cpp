#include "engine/collective/socket_collective.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

namespace refit {
namespace {

Nanoseconds now() {
    using std::chrono::duration_cast;
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return Nanoseconds{duration_cast<std::chrono::nanoseconds>(time).count()};
}

constexpr std::uint64_t bit(unsigned rank) { return std::uint64_t{1} << rank; }

const char* kind_name(std::uint32_t kind) {
    constexpr std::array kNames{"no operation", "gather", "fan-out", "barrier",
                                "a notice",     "a join", "a view"};
    return kind < kNames.size() ? kNames[kind] : "nothing known";
}

}  // namespace

SocketCollective::SocketCollective(SocketMesh mesh, Nanoseconds deadline)
    : mesh_(std::move(mesh)), deadline_(deadline) {
    for (unsigned rank = 0; rank < mesh_.size(); ++rank) ranks_.push_back(rank);
}

bool SocketCollective::is_in(unsigned rank) const {
    return std::ranges::binary_search(ranks_, rank);
}

MaybeLoss SocketCollective::gather(unsigned owner,
                                   std::span<const std::byte> mine,
                                   std::span<const std::span<std::byte>> parts) {
    REFIT_ASSERT(is_in(owner) && parts.size() == (owner == self() ? ranks_.size() : 0));
    if (owner != self()) return run(Frame::gather, owner, {{owner, true, mine, {}}});
    std::vector<Transfer> transfers;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
        if (ranks_[i] != owner) {
            transfers.push_back({ranks_[i], false, {}, parts[i]});
            continue;
        }
        REFIT_ASSERT(parts[i].size() == mine.size());
        if (!mine.empty()) std::memmove(parts[i].data(), mine.data(), mine.size());
    }
    return run(Frame::gather, owner, std::move(transfers));
}

MaybeLoss SocketCollective::fan_out(unsigned owner, std::span<std::byte> bytes) {
    REFIT_ASSERT(is_in(owner));
    if (owner != self()) return run(Frame::fan_out, owner, {{owner, false, {}, bytes}});
    std::vector<Transfer> transfers;
    for (const unsigned rank : ranks_)
        if (rank != owner) transfers.push_back({rank, true, bytes, {}});
    return run(Frame::fan_out, owner, std::move(transfers));
}

MaybeLoss SocketCollective::barrier() {
    const unsigned owner = ranks_.front();
    std::vector<Transfer> there;
    std::vector<Transfer> back;
    for (const unsigned rank : ranks_) {
        if (rank == self() || (self() != owner && rank != owner)) continue;
        there.push_back({rank, self() != owner, {}, {}});
        back.push_back({rank, self() == owner, {}, {}});
    }
    if (MaybeLoss loss = run(Frame::barrier, owner, std::move(there))) return loss;
    --calls_;  // the way back is the same call
    return run(Frame::barrier, owner, std::move(back));
}

MaybeLoss SocketCollective::run(Frame::Kind kind, unsigned owner, std::vector<Transfer> transfers) {
    name_ = kind_name(kind) + (" " + std::to_string(++calls_));
    if (lost_) return lost_;
    for (const unsigned rank : ranks_)
        if ((joined_ & bit(rank)) != 0) return lose(Loss::Kind::told, rank, "asks to rebuild");
    Frame head;
    head.kind = kind;
    head.rank = owner;
    head.epoch = epoch_;
    head.operation = ++operation_;
    const Nanoseconds end = now() + deadline_;
    std::vector<SocketMesh::Interest> pending;
    while (true) {
        pending.clear();
        for (Transfer& transfer : transfers) {
            if (transfer.complete) continue;
            if (MaybeLoss loss = step(head, transfer)) return loss;
            if (!transfer.complete) pending.push_back({transfer.rank, transfer.send});
        }
        if (pending.empty()) return std::nullopt;
        const Nanoseconds left = end - now();
        if (left.count > 0) mesh_.wait_any(pending, left);
        if (end < now()) return lose(Loss::Kind::silent, pending.front().rank, "is silent");
    }
}

/// As far as it goes without waiting.
MaybeLoss SocketCollective::step(const Frame& head, Transfer& transfer) {
    return transfer.send ? step_send(head, transfer) : step_receive(head, transfer);
}

MaybeLoss SocketCollective::step_send(const Frame& head, Transfer& transfer) {
    Frame frame = head;
    frame.total = transfer.from.size();
    do {
        frame.offset = transfer.moved;
        const auto chunk = transfer.from.subspan(transfer.moved);
        const auto bytes = chunk.first(std::min(chunk.size(), kFrameBytesMax));
        const SocketMesh::Io io = mesh_.send(transfer.rank, frame, bytes);
        if (io == SocketMesh::Io::wait) return std::nullopt;
        if (io == SocketMesh::Io::closed)
            return lose(Loss::Kind::closed, transfer.rank, "closed its connection");
        transfer.moved += bytes.size();
    } while (transfer.moved < transfer.from.size());
    transfer.complete = true;
    return std::nullopt;
}

MaybeLoss SocketCollective::step_receive(const Frame& head, Transfer& transfer) {
    while (!transfer.complete) {
        const auto rest = transfer.to.subspan(transfer.moved);
        const auto room = rest.first(std::min(rest.size(), kFrameBytesMax));
        Frame frame;
        std::size_t got = 0;
        const SocketMesh::Io io = mesh_.receive(transfer.rank, frame, room, got);
        if (io == SocketMesh::Io::wait) return std::nullopt;
        if (io == SocketMesh::Io::closed)
            return lose(Loss::Kind::closed, transfer.rank, "closed its connection");
        if (frame.kind >= Frame::notice) {
            if (MaybeLoss loss = understand(transfer.rank, frame)) return loss;
            continue;
        }
        if (frame.epoch < epoch_) continue;  // of a call that was given up
        const bool same_call = frame.kind == head.kind && frame.rank == head.rank &&
                               frame.epoch == head.epoch && frame.operation == head.operation;
        if (!same_call)
            return lose(Loss::Kind::disagreed, transfer.rank,
                        "makes another call, " + std::string(kind_name(frame.kind)) +
                            " with owner " + std::to_string(frame.rank));
        if (frame.total != transfer.to.size() || frame.offset != transfer.moved ||
            got != room.size())
            return lose(Loss::Kind::disagreed, transfer.rank,
                        "sends " + std::to_string(frame.total) + " bytes where " +
                            std::to_string(transfer.to.size()) + " are expected");
        transfer.moved += got;
        transfer.complete = transfer.moved == transfer.to.size();
    }
    return std::nullopt;
}

MaybeLoss SocketCollective::understand(unsigned rank, const Frame& frame) {
    if (frame.kind == Frame::join) {
        joined_ |= bit(rank);
        newest_ = std::max(newest_, frame.epoch);
        return lose(Loss::Kind::told, rank, "asks to rebuild");
    }
    if (frame.epoch < epoch_) return std::nullopt;
    if (frame.kind != Frame::notice)
        return lose(Loss::Kind::disagreed, rank, "sends " + std::string(kind_name(frame.kind)));
    if (frame.rank == rank) return lose(Loss::Kind::told, rank, "gave up");
    const std::string by = "by word of rank " + std::to_string(rank);
    if (frame.rank == self()) return lose(Loss::Kind::told, self(), "was lost, " + by);
    return lose(Loss::Kind::told, frame.rank, "was lost, " + by);
}

MaybeLoss SocketCollective::lose(Loss::Kind kind, unsigned rank, std::string reason) {
    lost_ = Loss{kind, rank, name_, std::move(reason)};
    // Two that disagree are both alive, and nobody else knows which of them is wrong.
    tell(kind == Loss::Kind::disagreed ? self() : rank);
    return lost_;
}

/// Who cannot take a notice now is told by a join, a view or the end of this process.
void SocketCollective::tell(unsigned lost) {
    Frame frame;
    frame.kind = Frame::notice;
    frame.rank = lost;
    frame.epoch = epoch_;
    for (const unsigned rank : ranks_)
        if (rank != self()) mesh_.send(rank, frame, {});
}

MaybeLoss SocketCollective::check() {
    if (lost_) return lost_;
    for (const unsigned rank : ranks_) {
        if (rank == self()) continue;
        Frame frame;
        const SocketMesh::Io io = mesh_.peek(rank, frame);
        if (io == SocketMesh::Io::wait) continue;
        if (io == SocketMesh::Io::closed)
            return lose(Loss::Kind::closed, rank, "closed its connection");
        if (frame.kind < Frame::notice) continue;
        std::size_t got = 0;
        mesh_.receive(rank, frame, {}, got);
        if (MaybeLoss loss = understand(rank, frame)) return loss;
    }
    return std::nullopt;
}

void SocketCollective::abort() {
    if (lost_) return;
    lost_ = Loss{Loss::Kind::told, self(), "abort", "gave up"};
    tell(self());
}

/// One agreement on who goes on.
class SocketCollective::Rebuild {
public:
    explicit Rebuild(SocketCollective& all)
        : all_(all), mesh_(all.mesh_), end_(now() + all.deadline_) {}

    void run() {
        while (true) {
            const unsigned leader = lowest_open();
            const bool late = end_ < now();
            if (leader == all_.self()) {
                if (late) close_all_but(all_.joined_);
                if ((open() & ~all_.joined_) == 0) return announce();
            } else if (asked_ != leader) {
                ask(leader);
            } else if (late) {
                mesh_.close(leader);
                end_ = now() + all_.deadline_;
                continue;
            }
            wait();
            for (unsigned rank = 0; rank < mesh_.size(); ++rank) {
                read(rank);
                if (view_ != 0) return adopt();
            }
        }
    }

private:
    std::uint64_t open() const {
        std::uint64_t ranks = 0;
        for (unsigned rank = 0; rank < mesh_.size(); ++rank)
            if (mesh_.open(rank)) ranks |= bit(rank);
        return ranks;
    }

    unsigned lowest_open() const {
        for (unsigned rank = 0; rank < all_.self(); ++rank)
            if (mesh_.open(rank)) return rank;
        return all_.self();
    }

    void close_all_but(std::uint64_t kept) {
        for (unsigned rank = 0; rank < mesh_.size(); ++rank)
            if ((kept & bit(rank)) == 0) mesh_.close(rank);
    }

    void ask(unsigned leader) {
        Frame frame;
        frame.kind = Frame::join;
        frame.epoch = all_.epoch_;
        if (mesh_.send(leader, frame, {}) != SocketMesh::Io::done) return;
        asked_ = leader;
        // It may be in a call until its deadline, and wait as long again for somebody else.
        end_ = now() + all_.deadline_ * 3;
    }

    /// The view goes to everybody; who dies meanwhile is lost again in the next call.
    void announce() {
        Frame frame;
        frame.kind = Frame::view;
        frame.epoch = std::max(all_.newest_, all_.epoch_) + 1;
        frame.total = open() | bit(all_.self());
        for (unsigned rank = 0; rank < mesh_.size(); ++rank) {
            if (!mesh_.open(rank)) continue;
            const SocketMesh::Interest interest{rank, true};
            while (mesh_.send(rank, frame, {}) == SocketMesh::Io::wait && now() < end_)
                mesh_.wait_any({&interest, 1}, end_ - now());
        }
        all_.joined_ = 0;
        go_on(frame);
    }

    void adopt() {
        Frame frame;
        frame.epoch = view_epoch_;
        frame.total = view_;
        go_on(frame);
    }

    void go_on(const Frame& view) {
        close_all_but(view.total);
        all_.epoch_ = view.epoch;
        all_.operation_ = 0;
        all_.lost_.reset();
        all_.ranks_.clear();
        for (unsigned rank = 0; rank < mesh_.size(); ++rank)
            if ((view.total & bit(rank)) != 0) all_.ranks_.push_back(rank);
    }

    void wait() {
        std::vector<SocketMesh::Interest> interests;
        const unsigned leader = lowest_open();
        const bool must_ask = leader != all_.self() && asked_ != leader;
        for (unsigned rank = 0; rank < mesh_.size(); ++rank) {
            if (!mesh_.open(rank) || (ahead_ & bit(rank)) != 0) continue;
            interests.push_back({rank, must_ask && rank == leader});
        }
        // A leader that takes nothing still has things to say.
        const Nanoseconds left = end_ - now();
        mesh_.wait_any(interests, must_ask ? std::min(left, 5_ms) : left);
    }

    void read(unsigned rank) {
        Frame frame;
        std::size_t got = 0;
        while (view_ == 0) {
            const SocketMesh::Io io = mesh_.peek(rank, frame);
            if (io == SocketMesh::Io::closed) mesh_.close(rank);
            if (io != SocketMesh::Io::done) return;
            if (frame.kind <= Frame::notice && frame.epoch > all_.epoch_) {
                ahead_ |= bit(rank);  // it knows the view already; this is for afterwards
                return;
            }
            mesh_.receive(rank, frame, {}, got);
            if (frame.kind == Frame::join) {
                all_.joined_ |= bit(rank);
                all_.newest_ = std::max(all_.newest_, frame.epoch);
            }
            const bool in = (frame.total & bit(all_.self())) != 0;
            if (frame.kind == Frame::view && frame.epoch > all_.epoch_ && in) {
                view_ = frame.total;
                view_epoch_ = frame.epoch;
            }
        }
    }

    SocketCollective& all_;
    SocketMesh& mesh_;
    Nanoseconds end_;
    unsigned asked_ = kRanksMax;
    std::uint64_t ahead_ = 0;
    std::uint64_t view_ = 0;  // 0: none yet
    std::uint64_t view_epoch_ = 0;
};

void SocketCollective::rebuild() {
    abort();
    Rebuild(*this).run();
}

}  // namespace refit
