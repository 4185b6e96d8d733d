#include "engine/sim/fluid_network.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/assert.hpp"

namespace refit {

namespace {

constexpr std::int64_t kTimeEnd = std::int64_t{1} << 62;
constexpr std::uint64_t kItemMax = std::uint64_t{1} << 53;  // every size below is exact as a double
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

double bytes_per_nanosecond(BitsPerSecond rate) { return static_cast<double>(rate.count) / 8e9; }

}  // namespace

FluidNetwork::Item FluidNetwork::ItemQueue::pop() {
    constexpr std::size_t kWorthMoving = 64;
    const Item item = items_[head_++];
    if (empty()) {
        clear();
    } else if (head_ >= kWorthMoving && head_ * 2 >= items_.size()) {
        items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(head_));
        head_ = 0;
    }
    return item;
}

void FluidNetwork::ItemQueue::clear() {
    items_.clear();
    head_ = 0;
}

FluidNetwork::LinkId FluidNetwork::add_link(BitsPerSecond rate) {
    Link link;
    link.rate = bytes_per_nanosecond(rate);
    links_.push_back(std::move(link));
    return static_cast<LinkId>(links_.size() - 1);
}

FluidNetwork::FlowId FluidNetwork::add_flow(const std::vector<LinkId>& path,
                                            Nanoseconds latency,
                                            BitsPerSecond cap) {
    REFIT_ASSERT(latency.count >= 0 && latency.count < kTimeEnd);
    REFIT_ASSERT(cap.count > 0);
    const auto id = static_cast<FlowId>(flows_.size());
    Flow flow;
    flow.path_begin = static_cast<std::uint32_t>(hops_.size());
    for (const LinkId link : path) {
        REFIT_ASSERT(link < links_.size());
        auto& over = links_[link].flows;
        REFIT_ASSERT(over.empty() || over.back() != id);
        over.push_back(id);
        hops_.push_back(link);
        if (links_[link].rate <= 0) ++flow.cuts;
    }
    flow.path_end = static_cast<std::uint32_t>(hops_.size());
    flow.latency = latency.count;
    flow.cap = bytes_per_nanosecond(cap);
    flows_.push_back(std::move(flow));
    finish_.push_back(kNever.count);
    return id;
}

void FluidNetwork::set_rate(LinkId link, BitsPerSecond rate, Nanoseconds now) {
    REFIT_ASSERT(link < links_.size());
    move_to(now);
    Link& changed = links_[link];
    const double fresh = bytes_per_nanosecond(rate);
    if (fresh == changed.rate) return;
    const bool was_cut = changed.rate <= 0;
    const bool is_cut = fresh <= 0;
    changed.rate = fresh;
    changed_links_.push_back(link);
    if (was_cut == is_cut) return;
    for (const FlowId id : changed.flows) {
        Flow& flow = flows_[id];
        flow.cuts = is_cut ? flow.cuts + 1 : flow.cuts - 1;
        while (flow.cuts == 0 && !flow.held.empty()) travel(id, flow.held.pop());
    }
}

void FluidNetwork::send(FlowId flow, Bytes size, std::uint64_t token, Nanoseconds now) {
    REFIT_ASSERT(flow < flows_.size());
    REFIT_ASSERT(size.count <= kItemMax);
    move_to(now);
    Flow& sender = flows_[flow];
    const Item item{size.count, token};
    if (size.count == 0) {
        if (sender.cuts > 0) {
            sender.held.push(item);
        } else {
            travel(flow, item);
        }
        return;
    }
    sender.items.push(item);
    if (sender.busy) return;
    sender.left = static_cast<double>(size.count);
    sender.since = now_;
    set_busy(flow, true);
    if (!sender.solved) return;
    // It fell idle at this very instant: its share still holds, and nobody needs a new one.
    finish_[flow] = finish_time(sender);
    next_departure_ = std::min(next_departure_, finish_[flow]);
}

Bytes FluidNetwork::drop(FlowId flow, Nanoseconds now) {
    REFIT_ASSERT(flow < flows_.size());
    move_to(now);
    Flow& dead = flows_[flow];
    const std::uint64_t part = part_sent(dead);
    const Bytes lost{dead.travelling + part};
    dead.sent += part;
    dead.travelling = 0;
    ++dead.life;
    dead.items.clear();
    dead.held.clear();
    if (dead.busy) {
        set_busy(flow, false);
        finish_[flow] = kNever.count;
        find_next_departure();
    }
    return lost;
}

Nanoseconds FluidNetwork::next_event() {
    settle_shares();
    while (!travellers_.empty() &&
           travellers_.front().life != flows_[travellers_.front().flow].life) {
        std::pop_heap(travellers_.begin(), travellers_.end(), later);
        travellers_.pop_back();
    }
    std::int64_t next = next_departure_;
    if (!travellers_.empty()) next = std::min(next, travellers_.front().at);
    return Nanoseconds{std::max(next, now_)};
}

void FluidNetwork::advance(Nanoseconds now, std::vector<Arrival>& arrivals) {
    move_to(now);
    while (!travellers_.empty() && travellers_.front().at <= now_) {
        std::pop_heap(travellers_.begin(), travellers_.end(), later);
        const Traveller& arrived = travellers_.back();
        Flow& flow = flows_[arrived.flow];
        if (arrived.life == flow.life) {
            flow.travelling -= arrived.item.size;
            arrivals.push_back({arrived.flow, arrived.item.token});
        }
        travellers_.pop_back();
    }
}

Bytes FluidNetwork::sent(FlowId flow, Nanoseconds now) {
    REFIT_ASSERT(flow < flows_.size());
    move_to(now);
    return Bytes{flows_[flow].sent + part_sent(flows_[flow])};
}

double FluidNetwork::share(FlowId flow) {
    REFIT_ASSERT(flow < flows_.size());
    settle_shares();
    return flows_[flow].busy ? flows_[flow].share * 1e9 : 0;
}

bool FluidNetwork::later(const Traveller& a, const Traveller& b) {
    return a.at != b.at ? a.at > b.at : a.order > b.order;
}

/// When the front item's last byte has left, rounded up; kNever if that is out of reach.
std::int64_t FluidNetwork::finish_time(const Flow& flow) {
    if (flow.left <= 0) return flow.since;
    if (flow.left >= flow.share * static_cast<double>(kTimeEnd)) return kNever.count;
    const double wait = flow.left / flow.share;
    auto whole = static_cast<std::int64_t>(wait);
    if (static_cast<double>(whole) < wait) ++whole;
    const std::int64_t finish = flow.since + whole;
    return finish < kTimeEnd ? finish : kNever.count;
}

/// Lets everything leave that is due by `to`. Shares are settled only when time really passes, so
/// that all changes of one instant cost one solve.
void FluidNetwork::move_to(Nanoseconds to) {
    REFIT_ASSERT(to.count >= now_ && to.count < kTimeEnd);
    for (;;) {
        if (to.count > now_) settle_shares();
        if (next_departure_ > to.count) break;
        now_ = next_departure_;
        depart_due();
    }
    now_ = to.count;
}

void FluidNetwork::depart_due() {
    for (const FlowId id : active_) {
        while (finish_[id] <= now_) depart(id);
    }
    find_next_departure();
}

void FluidNetwork::depart(FlowId id) {
    Flow& flow = flows_[id];
    const double surplus = flow.share * static_cast<double>(now_ - flow.since) - flow.left;
    const Item item = flow.items.pop();
    flow.sent += item.size;
    travel(id, item);
    if (flow.items.empty()) {
        finish_[id] = kNever.count;
        set_busy(id, false);
        return;
    }
    flow.left = static_cast<double>(flow.items.front().size) - surplus;
    flow.since = now_;
    finish_[id] = finish_time(flow);
}

/// A flow's latency is constant and time never goes back, so its items arrive as they left.
void FluidNetwork::travel(FlowId id, Item item) {
    Flow& flow = flows_[id];
    flow.travelling += item.size;
    travellers_.push_back({now_ + flow.latency, departures_++, item, id, flow.life});
    std::push_heap(travellers_.begin(), travellers_.end(), later);
}

void FluidNetwork::set_busy(FlowId id, bool busy) {
    Flow& flow = flows_[id];
    flow.busy = busy;
    if (busy == flow.solved) {
        --changes_;
    } else {
        ++changes_;
        touched_.push_back(id);
    }
}

void FluidNetwork::find_next_departure() {
    next_departure_ = kNever.count;
    for (const FlowId id : active_) next_departure_ = std::min(next_departure_, finish_[id]);
}

/// Whole bytes of the front item that have left by now.
std::uint64_t FluidNetwork::part_sent(const Flow& flow) const {
    if (!flow.busy) return 0;
    const auto size = static_cast<double>(flow.items.front().size);
    const double left = flow.left - flow.share * static_cast<double>(now_ - flow.since);
    return static_cast<std::uint64_t>(std::clamp(size - left, 0.0, size));
}

void FluidNetwork::settle_shares() {
    if (changes_ > 0 || !changed_links_.empty()) {
        ++solves_;
        collect_affected();
        fill();
        find_next_departure();
    }
    changes_ = 0;
    touched_.clear();
    changed_links_.clear();
}

/// The flows and links whose shares may differ now: what changed, and whatever is connected to it
/// through links that busy flows have in common.
void FluidNetwork::collect_affected() {
    affected_links_.clear();
    affected_flows_.clear();
    for (const LinkId link : changed_links_) visit_link(link);
    for (const FlowId id : touched_) {
        Flow& flow = flows_[id];
        if (flow.busy == flow.solved) continue;
        flow.solved = flow.busy;
        const auto place = std::lower_bound(active_.begin(), active_.end(), id);
        if (flow.busy) {
            active_.insert(place, id);
            visit_flow(id);
        } else {
            active_.erase(place);
            for (auto hop = flow.path_begin; hop < flow.path_end; ++hop) visit_link(hops_[hop]);
        }
    }
    for (std::size_t i = 0; i < affected_links_.size(); ++i) {
        for (const FlowId id : links_[affected_links_[i]].flows) {
            if (flows_[id].busy) visit_flow(id);
        }
    }
}

void FluidNetwork::visit_link(LinkId id) {
    Link& link = links_[id];
    if (link.visited == solves_) return;
    link.visited = solves_;
    link.spare = link.rate;
    link.open = 0;
    affected_links_.push_back(id);
}

void FluidNetwork::visit_flow(FlowId id) {
    Flow& flow = flows_[id];
    if (flow.visited == solves_) return;
    flow.visited = solves_;
    affected_flows_.push_back(id);
    for (auto hop = flow.path_begin; hop < flow.path_end; ++hop) {
        visit_link(hops_[hop]);
        ++links_[hops_[hop]].open;
    }
}

/// Progressive filling: all open flows rise together; whoever meets a full link or its own cap is
/// fixed there, and the rest go on with what is left. Each round fixes at least one flow.
void FluidNetwork::fill() {
    std::vector<FlowId>& open = affected_flows_;
    while (!open.empty()) {
        double level = kNoLimit;
        for (const LinkId id : affected_links_) {
            Link& link = links_[id];
            if (link.open == 0) continue;
            link.level = link.spare / link.open;
            level = std::min(level, link.level);
        }
        for (const FlowId id : open) level = std::min(level, flows_[id].cap);

        std::size_t kept = 0;
        for (const FlowId id : open) {
            const Flow& flow = flows_[id];
            bool tight = flow.cap <= level;
            for (auto hop = flow.path_begin; hop < flow.path_end; ++hop) {
                tight = tight || links_[hops_[hop]].level <= level;
            }
            if (!tight) {
                open[kept++] = id;
                continue;
            }
            set_share(id, level);
            for (auto hop = flow.path_begin; hop < flow.path_end; ++hop) {
                Link& link = links_[hops_[hop]];
                link.spare = std::max(0.0, link.spare - level);
                --link.open;
            }
        }
        open.resize(kept);
    }
}

void FluidNetwork::set_share(FlowId id, double share) {
    Flow& flow = flows_[id];
    if (share != flow.share) {
        flow.left -= flow.share * static_cast<double>(now_ - flow.since);
        flow.since = now_;
        flow.share = share;
    }
    finish_[id] = finish_time(flow);
}

}  // namespace refit
