#include "engine/protocol/replica.hpp"

namespace refit {

Replica::Replica(ReplicaEnv& env,
                 const Timing& timing,
                 ReplicaDurable& durable,
                 std::vector<NodeId> parents,
                 NodeId coordinator,
                 Nanoseconds drain)
    : env_(env),
      timing_(timing),
      durable_(durable),
      exchange_(env, *this, timing, durable.holding, std::move(parents)),
      coordinator_(coordinator),
      drain_(drain) {}

void Replica::start_loaded() {
    state_ = State::ready;
    exchange_.start();
    serve();
    env_.set_timer(kRetryTimer, timing_.retry);
}

void Replica::on_start() {
    exchange_.start();
    reload();
    env_.set_timer(kRetryTimer, timing_.retry);
}

/// Memory is gone or not to be trusted: load what was applied last (nothing yet: the newest).
void Replica::reload() {
    state_ = State::loading;
    serving_ = false;
    staged_parts_ = 0;
    staged_noted_ = false;
    stale_stage_ = staging_;
    env_.drop_staged();
    env_.note(EventKind::load_begin,
              {.version = durable_.active, .index = durable_.member ? 0u : 1u});
    env_.load(durable_.active_delta, false);
}

void Replica::on_loaded(std::uint64_t version, const Hash256& delta) {
    if (state_ != State::loading) return;
    state_ = State::ready;
    durable_.active = version;
    durable_.active_delta = delta;
    env_.note(EventKind::loaded, {.version = version});
    if (!durable_.member) {
        say(MessageType::join, version, delta);
        return;
    }
    if (durable_.resumed == version) {
        serve();
    } else {
        state_ = State::applied;  // the others may still serve the version before
    }
    exchange_.try_pending();  // a delta may have been offered meanwhile
    stage_more();
}

void Replica::serve() {
    serving_ = true;
    durable_.resumed = durable_.active;
    env_.note(EventKind::serving, {.version = durable_.active});
}

void Replica::on_connect(NodeId peer) {
    if (peer != coordinator_) exchange_.on_connect(peer);
}

void Replica::on_disconnect(NodeId peer) {
    if (peer != coordinator_) exchange_.on_disconnect(peer);
}

void Replica::on_timer(std::uint32_t id) {
    if (id == kReconnectTimer) exchange_.on_timer();
    if (id == kDrainTimer && state_ == State::draining) {
        state_ = State::overwriting;
        env_.note(EventKind::overwrite_begin, {.version = durable_.prepared});
        env_.overwrite();
    }
    if (id != kRetryTimer) return;
    if (!durable_.member && state_ == State::ready)
        say(MessageType::join, durable_.active, durable_.active_delta);
    env_.set_timer(kRetryTimer, timing_.retry);
}

void Replica::say(MessageType type, std::uint64_t version, const Hash256& delta) {
    env_.send(coordinator_, {.type = type, .epoch = epoch_, .version = version, .delta = delta});
}

void Replica::on_message(NodeId from, const Message& message) {
    if (exchange_.on_message(from, message)) return;
    if (message.epoch < epoch_) return;  // a coordinator that has been replaced
    epoch_ = message.epoch;
    switch (message.type) {
        case MessageType::begin:
            if (staged_all() && durable_.holding.open.number == message.version)
                say(MessageType::staged, message.version, durable_.holding.sealed);
            return;
        case MessageType::prepare:
            prepare(message);
            return;
        case MessageType::commit:
            commit(message);
            return;
        case MessageType::resume:
            resume(message);
            return;
        case MessageType::join:  // the coordinator: catch up first
            if (durable_.member || state_ != State::ready || message.version <= durable_.active)
                return;
            state_ = State::loading;
            env_.note(EventKind::load_begin, {.version = durable_.active, .index = 1});
            env_.load(message.delta, true);
            return;
        default:
            return;
    }
}

/// A prepared delta may be needed until its version is applied; a half-done overwrite even more.
bool Replica::may_adopt(const OpenRecord& open) {
    if (!durable_.member || state_ != State::ready) return false;
    if (durable_.prepared > durable_.active) return false;
    return open.number == durable_.active + 1 && open.base_delta == durable_.active_delta;
}

void Replica::on_adopted() {
    staged_parts_ = 0;
    staged_noted_ = false;
    stale_stage_ = staging_;
    env_.drop_staged();
}

bool Replica::holds_next() const {
    return !durable_.holding.transfer.is_zero() &&
           durable_.holding.open.number == durable_.active + 1 &&
           durable_.holding.open.base_delta == durable_.active_delta;
}

bool Replica::staged_all() const {
    return state_ == State::ready && holds_next() && durable_.holding.seal && !staging_ &&
           staged_parts_ == durable_.holding.seal->parts;
}

void Replica::stage_more() {
    if (state_ != State::ready || staging_ || !durable_.member || !holds_next()) return;
    const Holding& holding = durable_.holding;
    if (staged_parts_ < holding.parts.size() && holding.part_complete(staged_parts_)) {
        staging_ = true;
        env_.stage_part(holding, staged_parts_);
        return;
    }
    if (!staged_all() || staged_noted_) return;
    staged_noted_ = true;
    env_.note(EventKind::staged, {.version = holding.open.number});
    say(MessageType::staged, holding.open.number, holding.sealed);
}

void Replica::on_part_staged(bool exact) {
    staging_ = false;
    if (stale_stage_) {
        stale_stage_ = false;
        stage_more();
        return;
    }
    if (!exact) {
        env_.note(EventKind::check_failed, {.version = durable_.active + 1});
        reload();
        return;
    }
    env_.note(EventKind::part_staged,
              {.version = durable_.active + 1,
               .index = staged_parts_,
               .amount = durable_.holding.parts[staged_parts_].payload_bytes().count});
    ++staged_parts_;
    stage_more();
}

void Replica::prepare(const Message& message) {
    if (staged_all() && durable_.holding.open.number == message.version &&
        durable_.holding.sealed == message.delta && durable_.prepared < message.version) {
        durable_.prepared = message.version;
        durable_.prepared_delta = message.delta;
        env_.note(EventKind::prepared, {.version = message.version});
    }
    const bool kept =
        durable_.prepared == message.version && durable_.prepared_delta == message.delta;
    if (kept) say(MessageType::prepared, message.version, message.delta);
}

void Replica::commit(const Message& message) {
    if (durable_.active == message.version && durable_.active_delta == message.delta) {
        if (state_ != State::loading) say(MessageType::applied, message.version, message.delta);
        return;
    }
    if (durable_.prepared != message.version || durable_.prepared_delta != message.delta) return;
    if (!staged_all()) return;  // restarted since: staging goes on, the commit comes again
    serving_ = false;
    state_ = State::draining;
    env_.note(EventKind::pause_begin, {.version = message.version});
    env_.set_timer(kDrainTimer, drain_);
}

void Replica::on_overwritten() {
    if (state_ != State::overwriting) return;
    state_ = State::checking;
    env_.note(EventKind::check_begin, {.version = durable_.prepared});
    env_.check_resident();
}

void Replica::on_checked(bool exact) {
    if (state_ != State::checking) return;
    if (!exact) {
        env_.note(EventKind::check_failed, {.version = durable_.prepared});
        reload();
        return;
    }
    durable_.active = durable_.prepared;
    durable_.active_delta = durable_.prepared_delta;
    state_ = State::applied;
    env_.note(EventKind::applied, {.version = durable_.active});
    say(MessageType::applied, durable_.active, durable_.active_delta);
}

void Replica::resume(const Message& message) {
    if (durable_.active != message.version || durable_.active_delta != message.delta) return;
    if (state_ == State::loading) return;
    if (!durable_.member && state_ == State::ready) durable_.member = true;  // we are in
    if (state_ == State::applied) state_ = State::ready;
    if (state_ == State::ready && !serving_) serve();
    say(MessageType::serving, message.version, message.delta);
    exchange_.try_pending();
    stage_more();
}

}  // namespace refit
