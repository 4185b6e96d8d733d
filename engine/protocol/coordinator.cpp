#include "engine/protocol/coordinator.hpp"

#include <algorithm>

namespace refit {

Coordinator::Coordinator(CoordinatorEnv& env,
                         const Timing& timing,
                         CoordinatorDurable& durable,
                         NodeId source)
    : env_(env), timing_(timing), durable_(durable), source_(source) {}

void Coordinator::on_start() {
    env_.acquire();
    env_.set_timer(kRetryTimer, timing_.retry);
}

void Coordinator::on_timer(std::uint32_t id) {
    if (id != kRetryTimer) return;
    tell();
    env_.set_timer(kRetryTimer, timing_.retry);
}

void Coordinator::on_acquired(std::uint64_t epoch, const Decision& decision) {
    if (epoch <= epoch_) return;  // an answer that another one overtook
    epoch_ = epoch;
    decided_ = decision;
    version_ = decision.version;
    delta_ = decision.delta;
    enter(Phase::committing);
}

void Coordinator::enter(Phase phase) {
    phase_ = phase;
    answers_.clear();
    tell();
}

void Coordinator::say(NodeId to, MessageType type, std::uint64_t version, const Hash256& delta) {
    env_.send(to, {.type = type, .epoch = epoch_, .version = version, .delta = delta});
}

/// Asks everybody who has not answered in this phase.
void Coordinator::tell() {
    MessageType type = MessageType::begin;
    switch (phase_) {
        case Phase::staging:
            type = MessageType::begin;
            break;
        case Phase::preparing:
            type = MessageType::prepare;
            break;
        case Phase::committing:
            type = MessageType::commit;
            break;
        case Phase::resuming:
            type = MessageType::resume;
            break;
        default:
            return;
    }
    const bool with_source = phase_ == Phase::staging || phase_ == Phase::committing;
    if (with_source && !answers_.contains(source_)) say(source_, type, version_, delta_);
    for (const NodeId member : durable_.members)
        if (!answers_.contains(member)) say(member, type, version_, delta_);
}

void Coordinator::on_message(NodeId from, const Message& message) {
    if (phase_ == Phase::recovering) return;
    if (message.type == MessageType::join) {
        on_join(from, message);
        return;
    }
    if (message.type == MessageType::offer) {
        if (phase_ != Phase::idle || message.version != decided_.version + 1) return;
        version_ = message.version;
        delta_ = {};
        enter(Phase::staging);
        return;
    }
    if (message.type == MessageType::sealed) {
        if (message.version != decided_.version + 1) return;
        if (phase_ == Phase::idle) {  // restarted while this refit was staging
            version_ = message.version;
            delta_ = message.delta;
            enter(Phase::staging);
        }
        if (phase_ != Phase::staging || message.version != version_) return;
        delta_ = message.delta;
        answers_[source_] = message.delta;
        advance();
        return;
    }
    if (message.epoch == epoch_ && message.version == version_) on_answer(from, message);
}

void Coordinator::on_answer(NodeId from, const Message& message) {
    const bool expected = (phase_ == Phase::staging && message.type == MessageType::staged) ||
                          (phase_ == Phase::preparing && message.type == MessageType::prepared) ||
                          (phase_ == Phase::committing && message.type == MessageType::applied) ||
                          (phase_ == Phase::resuming && message.type == MessageType::serving);
    if (!expected) return;
    if (phase_ != Phase::staging && message.delta != delta_) return;
    answers_[from] = message.delta;
    advance();
}

bool Coordinator::all_answered() const {
    const auto answered = [this](NodeId node) {
        const auto found = answers_.find(node);
        return found != answers_.end() && found->second == delta_;
    };
    const bool with_source = phase_ == Phase::staging || phase_ == Phase::committing;
    return (!with_source || answered(source_)) && std::ranges::all_of(durable_.members, answered);
}

void Coordinator::advance() {
    if (delta_.is_zero() || !all_answered()) return;
    switch (phase_) {
        case Phase::staging:
            enter(Phase::preparing);
            return;
        case Phase::preparing:
            phase_ = Phase::deciding;
            env_.decide(epoch_, version_ - 1, {version_, delta_});
            return;
        case Phase::committing:
            enter(Phase::resuming);
            return;
        case Phase::resuming:
            env_.note(EventKind::refit_done, {.version = version_});
            enter(Phase::idle);
            return;
        default:
            return;
    }
}

void Coordinator::on_decided(bool won) {
    if (phase_ != Phase::deciding) return;
    if (!won) {  // somebody else moved the register: find out
        phase_ = Phase::recovering;
        env_.acquire();
        return;
    }
    decided_ = {version_, delta_};
    env_.note(EventKind::decided, {.version = version_});
    enter(Phase::committing);
}

/// Between refits only: a group never changes while a delta is in flight.
void Coordinator::on_join(NodeId from, const Message& message) {
    if (durable_.members.contains(from)) {  // its resume was lost
        if (decided_.version == message.version)
            say(from, MessageType::resume, decided_.version, decided_.delta);
        return;
    }
    if (phase_ != Phase::idle) return;
    if (message.version != decided_.version || message.delta != decided_.delta) {
        say(from, MessageType::join, decided_.version, decided_.delta);
        return;
    }
    durable_.members.insert(from);
    env_.note(EventKind::joined, {.version = decided_.version, .peer = from});
    say(from, MessageType::resume, decided_.version, decided_.delta);
}

}  // namespace refit
