#include "engine/observe/rollout_loop.hpp"

#include <algorithm>

namespace refit {

RolloutLoop::RolloutLoop(const Loop& loop, std::size_t nodes) : loop_(loop), replicas_(nodes) {
    REFIT_ASSERT(loop.shape == LoopShape::asynchronous);
    REFIT_ASSERT(loop.generation.count > 0 && loop.step.count > 0);
}

bool RolloutLoop::on_event(const Event& event) {
    switch (event.kind) {
        case EventKind::step_ready:
            advance(event.at);
            taken_ = std::max(taken_, event.version);
            break;
        case EventKind::serving:
            advance(event.at);
            serve(replicas_[event.node], event.version);
            break;
        case EventKind::pause_begin:
        case EventKind::load_begin:
        case EventKind::node_down:
            if (event.node >= replicas_.size()) return false;
            advance(event.at);
            replicas_[event.node].serving = false;
            break;
        default:
            return false;
    }
    settle();
    return true;
}

void RolloutLoop::serve(Replica& replica, std::uint64_t version) {
    if (replica.known) {
        if (!replica.serving) replica.kv_until = now_ + loop_.kv_recompute;
    } else {
        for (const Replica& other : replicas_)
            if (other.known) replica.batch = std::max(replica.batch, other.batch);
        replica.known = true;
    }
    replica.serving = true;
    replica.version = version;
}

bool RolloutLoop::works(const Replica& replica) const {
    return replica.serving && now_ >= replica.kv_until &&
           replica.version + 1 + loop_.staleness >= replica.batch;
}

/// The newest batch that every replica has finished its share of.
std::uint64_t RolloutLoop::complete() const {
    std::optional<std::uint64_t> least;
    for (const Replica& replica : replicas_)
        if (replica.known) least = std::min(least.value_or(replica.batch - 1), replica.batch - 1);
    return least.value_or(0);
}

std::optional<Nanoseconds> RolloutLoop::next_change() const {
    std::optional<Nanoseconds> next = step_until_;
    const auto sooner = [&next](Nanoseconds at) { next = next ? std::min(*next, at) : at; };
    for (const Replica& replica : replicas_) {
        if (replica.serving && now_ < replica.kv_until) sooner(replica.kv_until);
        if (works(replica)) sooner(now_ + loop_.generation - replica.made);
    }
    return next;
}

void RolloutLoop::advance(Nanoseconds to) {
    REFIT_ASSERT(to >= now_);
    while (now_ < to) {
        const Nanoseconds until = std::min(next_change().value_or(to), to);
        for (Replica& replica : replicas_)
            if (works(replica)) replica.made += until - now_;
        now_ = until;
        settle();
    }
}

/// Whatever is over now: shares, then the step, and the step that may begin.
void RolloutLoop::settle() {
    for (Replica& replica : replicas_) {
        if (replica.made < loop_.generation) continue;
        ++replica.batch;
        replica.made = Nanoseconds{0};
    }
    if (step_until_ && *step_until_ <= now_) {
        ++finals_;
        step_until_.reset();
    }
    if (!step_until_ && taken_ >= finals_ && complete() > finals_) step_until_ = now_ + loop_.step;
}

RolloutLoop::Doing RolloutLoop::doing(NodeId node) const {
    const Replica& replica = replicas_[node];
    if (!replica.serving) return Doing::nothing;
    if (now_ < replica.kv_until) return Doing::kv_recompute;
    if (works(replica)) return Doing::working;
    const std::uint64_t awaited = replica.batch - 1 - loop_.staleness;
    if (finals_ >= awaited) return Doing::payload;
    return complete() < awaited ? Doing::straggler : Doing::trainer;
}

}  // namespace refit
