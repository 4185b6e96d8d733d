#include "engine/observe/idle.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace refit {

namespace {

/// One replica's lane: what it does now, and since when.
class Lane {
public:
    Lane(IdleAccount& account, const Loop& loop) : account_(account), loop_(loop) {}

    bool counts() const { return doing_.has_value(); }

    void serve(Nanoseconds at) {
        if (doing_) close(at);
        doing_ = Doing::serving;
        since_ = at;
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
        const Nanoseconds span = at - since_;
        account_.replica_time += span;
        if (*doing_ == Doing::idle) {
            account_.idle[cause_] += span;
        } else if (loop_.shape == LoopShape::one_step_off) {
            account_.busy += span;
        } else {
            split_serving(at);
        }
        since_ = at;
    }

private:
    enum class Doing : std::uint8_t { serving, idle };

    /// Synchronous: work, then a bubble until the weights are final, then waiting for them.
    void split_serving(Nanoseconds at) {
        const Nanoseconds worked = std::min(at, since_ + loop_.generation);
        const Nanoseconds bubble = std::clamp(ready_, worked, at);
        account_.busy += worked - since_;
        account_.idle[IdleCause::pipeline_bubble] += bubble - worked;
        account_.idle[IdleCause::payload] += at - bubble;
    }

    IdleAccount& account_;
    const Loop& loop_;
    std::optional<Doing> doing_;
    IdleCause cause_{};
    Nanoseconds since_{0};
    Nanoseconds ready_{0};
};

}  // namespace

std::string_view cause_name(IdleCause cause) {
    constexpr std::array<std::string_view, 7> kNames = {
        "payload",        "barrier",  "drain",          "overwrite",
        "resident_check", "recovery", "pipeline_bubble"};
    return kNames[static_cast<std::size_t>(cause)];
}

Nanoseconds IdleAccount::idle_total() const {
    Nanoseconds total{0};
    for (const auto& [cause, time] : idle) total += time;
    return total;
}

IdleAccount account_idle(const Timeline& timeline, const RelayTree& tree, const Loop& loop) {
    IdleAccount account;
    std::vector<Lane> lanes(tree.nodes.size(), Lane(account, loop));
    Nanoseconds end{0};
    for (const Event& event : timeline.events()) {
        if (event.kind == EventKind::step_ready)
            for (Lane& lane : lanes) lane.step_ready(event.at);
        if (event.node >= tree.nodes.size() || tree.nodes[event.node].role != NodeRole::replica)
            continue;
        Lane& lane = lanes[event.node];
        switch (event.kind) {
            case EventKind::serving:
                lane.serve(event.at);
                end = event.at;
                break;
            case EventKind::pause_begin:
                lane.idle(event.at, IdleCause::drain);
                break;
            case EventKind::overwrite_begin:
                lane.idle(event.at, IdleCause::overwrite);
                break;
            case EventKind::check_begin:
                lane.idle(event.at, IdleCause::resident_check);
                break;
            case EventKind::applied:
                lane.idle(event.at, IdleCause::barrier);
                break;
            case EventKind::node_down:
            case EventKind::load_begin:
                lane.idle(event.at, IdleCause::recovery);
                break;
            default:
                break;
        }
    }
    for (Lane& lane : lanes)
        if (lane.counts()) lane.close(end);
    return account;
}

}  // namespace refit
