#include "engine/observe/idle.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "engine/observe/rollout_loop.hpp"

namespace refit {

namespace {

/// One replica's lane: what it does now, and since when.
class Lane {
public:
    Lane(IdleAccount& account, const Loop& loop, NodeId node)
        : account_(account), loop_(loop), node_(node) {}

    bool counts() const { return doing_.has_value(); }
    bool serves() const { return doing_ == Doing::serving; }

    void serve(Nanoseconds at) {
        if (doing_) close(at);
        const bool resumes = doing_ == Doing::idle;
        doing_ = Doing::serving;
        since_ = at;
        kv_until_ = resumes ? at + loop_.kv_recompute : at;
    }
    void idle(Nanoseconds at, IdleCause cause) {
        if (!doing_) return;
        close(at);
        doing_ = Doing::idle;
        cause_ = cause;
        since_ = at;
    }
    void step_ready(Nanoseconds at) { ready_ = at; }

    void close(Nanoseconds at) {
        if (*doing_ == Doing::idle) {
            charge(at, cause_);
        } else {
            if (const Nanoseconds kv = std::min(at, kv_until_); kv > since_)
                charge(kv, IdleCause::kv_recompute);
            if (loop_.shape == LoopShape::one_step_off) work(at);
            if (loop_.shape == LoopShape::synchronous) split_serving(at);
        }
        REFIT_ASSERT(since_ == at);
    }

    /// Asynchronous: up to here the replica has done one thing.
    void close(Nanoseconds at, RolloutLoop::Doing doing) {
        switch (doing) {
            case RolloutLoop::Doing::working:
                return work(at);
            case RolloutLoop::Doing::kv_recompute:
                return charge(at, IdleCause::kv_recompute);
            case RolloutLoop::Doing::straggler:
                return charge(at, IdleCause::straggler);
            case RolloutLoop::Doing::trainer:
                return charge(at, IdleCause::pipeline_bubble);
            case RolloutLoop::Doing::payload:
                return charge(at, IdleCause::payload);
            case RolloutLoop::Doing::nothing:
                REFIT_ASSERT(since_ == at);
        }
    }

private:
    enum class Doing : std::uint8_t { serving, idle };

    /// Synchronous: work, then a bubble until the weights are final, then waiting for them.
    void split_serving(Nanoseconds at) {
        work(std::min(at, since_ + loop_.generation));
        charge(std::clamp(ready_, since_, at), IdleCause::pipeline_bubble);
        charge(at, IdleCause::payload);
    }

    void charge(Nanoseconds until, IdleCause cause) {
        account_.replica_time += until - since_;
        account_.idle[cause] += until - since_;
        if (until == since_) return;
        auto& spans = account_.idle_spans;
        if (last_idle_ < spans.size() && spans[last_idle_].to == since_ &&
            spans[last_idle_].cause == cause) {
            spans[last_idle_].to = until;
        } else {
            last_idle_ = spans.size();
            spans.push_back({node_, cause, since_, until});
        }
        since_ = until;
    }
    void work(Nanoseconds until) {
        if (until == since_) return;
        account_.replica_time += until - since_;
        account_.busy += until - since_;
        if (last_ < account_.busy_spans.size() && account_.busy_spans[last_].to == since_) {
            account_.busy_spans[last_].to = until;
        } else {
            last_ = account_.busy_spans.size();
            account_.busy_spans.push_back({node_, since_, until});
        }
        since_ = until;
    }

    IdleAccount& account_;
    const Loop& loop_;
    NodeId node_;
    std::optional<Doing> doing_;
    IdleCause cause_{};
    Nanoseconds since_{0};
    Nanoseconds ready_{0};
    Nanoseconds kv_until_{0};
    std::size_t last_ = ~std::size_t{0};  // this lane's newest spans
    std::size_t last_idle_ = ~std::size_t{0};
};

/// All lanes over one timeline.
class Fold {
public:
    Fold(const RelayTree& tree, const Loop& loop) : tree_(tree) {
        for (NodeId node = 0; node < tree.nodes.size(); ++node)
            lanes_.emplace_back(account_, loop, node);
        if (loop.shape == LoopShape::asynchronous) rollouts_.emplace(loop, tree.nodes.size());
    }

    void fold(const Event& event) {
        if (event.kind == EventKind::step_ready)
            for (Lane& lane : lanes_) lane.step_ready(event.at);
        const bool replica =
            event.node < tree_.nodes.size() && tree_.nodes[event.node].role == NodeRole::replica;
        if (!replica && event.kind != EventKind::step_ready) return;
        advance(event.at);
        if (replica) fold_replica(lanes_[event.node], event);
        if (rollouts_) rollouts_->on_event(event);
    }

    IdleAccount end(Nanoseconds at) {
        advance(at);
        for (Lane& lane : lanes_)
            if (lane.counts() && !(rollouts_ && lane.serves())) lane.close(at);
        return std::move(account_);
    }

private:
    /// Between two changes of the loop every replica that serves does one thing.
    void advance(Nanoseconds to) {
        if (!rollouts_) return;
        for (auto change = rollouts_->next_change(); change && *change < to;
             change = rollouts_->next_change()) {
            close_serving(*change);
            rollouts_->advance(*change);
        }
        close_serving(to);
        rollouts_->advance(to);
    }
    void close_serving(Nanoseconds at) {
        for (NodeId node = 0; node < lanes_.size(); ++node)
            if (lanes_[node].serves()) lanes_[node].close(at, rollouts_->doing(node));
    }

    static void fold_replica(Lane& lane, const Event& event) {
        switch (event.kind) {
            case EventKind::serving:
                return lane.serve(event.at);
            case EventKind::pause_begin:
                return lane.idle(event.at, IdleCause::drain);
            case EventKind::overwrite_begin:
                return lane.idle(event.at, IdleCause::overwrite);
            case EventKind::check_begin:
                return lane.idle(event.at, IdleCause::resident_check);
            case EventKind::applied:
                return lane.idle(event.at, IdleCause::barrier);
            case EventKind::node_down:
            case EventKind::load_begin:
                return lane.idle(event.at, IdleCause::recovery);
            default:
                return;
        }
    }

    const RelayTree& tree_;
    IdleAccount account_;
    std::vector<Lane> lanes_;
    std::optional<RolloutLoop> rollouts_;
};

}  // namespace

std::string_view cause_name(IdleCause cause) {
    constexpr std::array<std::string_view, 9> kNames = {
        "payload",  "barrier",         "drain",        "overwrite", "resident_check",
        "recovery", "pipeline_bubble", "kv_recompute", "straggler"};
    return kNames[static_cast<std::size_t>(cause)];
}

Nanoseconds IdleAccount::idle_total() const {
    Nanoseconds total{0};
    for (const auto& [cause, time] : idle) total += time;
    return total;
}

IdleAccount account_idle(const Timeline& timeline, const RelayTree& tree, const Loop& loop) {
    Nanoseconds end{0};
    for (const Event& event : timeline.events())
        if (event.kind == EventKind::serving) end = event.at;
    Fold fold(tree, loop);
    for (const Event& event : timeline.events()) {
        if (event.at > end) break;
        fold.fold(event);
    }
    return fold.end(end);
}

}  // namespace refit
