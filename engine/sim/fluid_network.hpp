// The simulated wire: max-min fair fluid flows over shared links, in virtual time.
//
// Model     A link has a rate. A flow is one direction of one connection: a path of links, a
//           one-way latency and an own cap. It sends its queued items one after the other; every
//           busy flow gets its max-min fair share of its links, at most its cap. An item arrives
//           one latency after its last byte left; items of one flow arrive in order.
//           An item of size 0 (a control message) does not wait behind bulk items for bandwidth and
//           uses none, but never overtakes an item that has already left. Over a cut link nothing
//           leaves: control messages wait there too, in order, until the link is back.
// Why       a persistent TCP stream is one flow with one propagation delay, not a new flow per
//           message; message-level simulators are wrong by 1.1x..10x here (notes on network).
// Exact     progressive filling; shares agree with an independent solver to 1e-9 relative. Doubles,
//           only + - * / and comparisons, no libm: the same bits on every IEEE machine built
//           without contraction. Shares are solved again only when the set of busy flows, a rate or
//           a cap changes.
// Time      whole nanoseconds. An item leaves at the first one after its last byte; what the flow
//           could have sent in the rest of it goes to its next item, so rounding never adds up.
// Cost      O(busy flows) per completed item, O(flows x links) per solve, counting only flows that
//           share links, directly or through others, with what changed. No allocation per item
//           once the queues have grown.
// Limits    times below 2^62 ns, items of at most 2^53 bytes; a path names no link twice.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "engine/base/units.hpp"

namespace refit {

class FluidNetwork {
public:
    using LinkId = std::uint32_t;
    using FlowId = std::uint32_t;

    static constexpr Nanoseconds kNever{std::numeric_limits<std::int64_t>::max()};

    struct Arrival {
        FlowId flow;
        std::uint64_t token;
    };

    LinkId add_link(BitsPerSecond rate);
    FlowId add_flow(const std::vector<LinkId>& path, Nanoseconds latency, BitsPerSecond cap);

    /// Rate 0 cuts the link: flows over it stall, nothing is lost here (connections time out
    /// above).
    void set_rate(LinkId link, BitsPerSecond rate, Nanoseconds now);

    /// Queues an item; `token` comes back when it arrives.
    void send(FlowId flow, Bytes size, std::uint64_t token, Nanoseconds now);

    /// The connection died: queued and travelling items are gone. Returns the bytes of bulk items
    /// that had left (fully or in part) without having been handed out by advance(). The flow
    /// can be used again at once.
    Bytes drop(FlowId flow, Nanoseconds now);

    /// When advance() will have something to do next, be it only an item that leaves; kNever when
    /// idle or stalled. Never before the last call's `now`.
    Nanoseconds next_event();

    /// Moves to `now` (never backwards) and appends what arrived up to then, in time order,
    /// ties in the order in which they left (of flows that finish together: by flow id).
    void advance(Nanoseconds now, std::vector<Arrival>& arrivals);

    /// Bytes that have left on this flow since the start, in whole items and parts of items.
    Bytes sent(FlowId flow, Nanoseconds now);

    /// Current share of a flow in bytes per second; 0 when idle or stalled. For views and tests.
    double share(FlowId flow);

    std::uint64_t solves() const { return solves_; }

private:
    struct Link {
        double rate = 0;            // bytes per nanosecond
        std::vector<FlowId> flows;  // over it, busy or not
        double spare = 0;           // what the flows fixed so far leave over; solve() only
        double level = 0;           // spare / open
        std::uint32_t open = 0;     // flows not fixed yet
        std::uint64_t visited = 0;  // the last solve that touched it
    };

    struct Item {
        std::uint64_t size = 0;
        std::uint64_t token = 0;
    };

    /// First in, first out. Keeps its memory, so that steady traffic allocates nothing.
    class ItemQueue {
    public:
        bool empty() const { return head_ == items_.size(); }
        const Item& front() const { return items_[head_]; }
        void push(Item item) { items_.push_back(item); }
        Item pop();
        void clear();

    private:
        std::vector<Item> items_;
        std::size_t head_ = 0;
    };

    struct Flow {
        std::uint32_t path_begin = 0;  // into hops_
        std::uint32_t path_end = 0;
        std::int64_t latency = 0;
        double cap = 0;    // bytes per nanosecond
        double share = 0;  // bytes per nanosecond, by the last solve
        double left = 0;   // bytes of the front item still to leave at `since`
        std::int64_t since = 0;
        std::uint64_t sent = 0;        // without the part of the front item
        std::uint64_t travelling = 0;  // bytes
        std::uint64_t visited = 0;     // the last solve that touched it
        std::uint32_t life = 0;        // grows with every drop; travellers of older lives are lost
        std::uint32_t cuts = 0;        // links of rate 0 on the path
        bool busy = false;             // has a front item
        bool solved = false;           // counted as busy by the last solve
        ItemQueue items;               // bulk; the front one is leaving
        ItemQueue held;                // control items behind a cut
    };

    struct Traveller {
        std::int64_t at = 0;
        std::uint64_t order = 0;
        Item item;
        FlowId flow = 0;
        std::uint32_t life = 0;
    };

    static bool later(const Traveller& a, const Traveller& b);
    static std::int64_t finish_time(const Flow& flow);

    void move_to(Nanoseconds to);
    void depart_due();
    void depart(FlowId id);
    void travel(FlowId id, Item item);
    void set_busy(FlowId id, bool busy);
    void find_next_departure();
    std::uint64_t part_sent(const Flow& flow) const;

    void settle_shares();
    void collect_affected();
    void visit_link(LinkId id);
    void visit_flow(FlowId id);
    void fill();
    void set_share(FlowId id, double share);

    std::vector<Link> links_;
    std::vector<Flow> flows_;
    std::vector<LinkId> hops_;           // the paths of all flows, one after the other
    std::vector<std::int64_t> finish_;   // per flow: when its front item has left
    std::vector<FlowId> active_;         // busy by the last solve, ascending
    std::vector<Traveller> travellers_;  // a heap, the earliest first
    std::vector<FlowId> touched_;        // became busy or idle since the last solve
    std::vector<LinkId> changed_links_;  // changed their rate since the last solve
    std::vector<LinkId> affected_links_;
    std::vector<FlowId> affected_flows_;
    std::int64_t now_ = 0;
    std::int64_t next_departure_ = kNever.count;
    std::uint64_t departures_ = 0;
    std::size_t changes_ = 0;  // flows whose `busy` differs from `solved`
    std::uint64_t solves_ = 0;
};

}  // namespace refit
