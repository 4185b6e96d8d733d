#include "engine/protocol/source.hpp"

#include <algorithm>
#include <numeric>

namespace refit {

Source::Source(SourceEnv& env, const Timing& timing, SourceDurable& durable, NodeId coordinator)
    : env_(env),
      timing_(timing),
      durable_(durable),
      coordinator_(coordinator),
      exchange_(env, *this, timing, holding_, {}),
      ready_(durable.open ? durable.open->number : durable.decided) {}

void Source::on_start() {
    if (durable_.open) {
        exchange_.open(*durable_.open);
        builder_.emplace(*durable_.open, timing_.chunks_per_part, durable_.parts);
        continue_encoding();
    }
    env_.set_timer(kRetryTimer, timing_.retry);
}

void Source::on_timer(std::uint32_t id) {
    if (id != kRetryTimer) return;
    tell();
    env_.set_timer(kRetryTimer, timing_.retry);
}

void Source::on_step_ready(std::uint64_t version) {
    if (version <= ready_) return;
    ready_ = version;
    env_.note(EventKind::step_ready, {.version = version});
    tell();
}

/// Repeats whatever the coordinator may not have heard.
void Source::tell() {
    if (durable_.open && holding_.seal) {
        say(MessageType::sealed, durable_.open->number, holding_.sealed);
    } else if (!durable_.open && ready_ > durable_.decided) {
        say(MessageType::offer, durable_.decided + 1, {});
    }
}

void Source::say(MessageType type, std::uint64_t version, const Hash256& delta) {
    env_.send(coordinator_, {.type = type, .epoch = epoch_, .version = version, .delta = delta});
}

void Source::on_message(NodeId from, const Message& message) {
    if (exchange_.on_message(from, message)) return;
    if (message.epoch < epoch_) return;  // a coordinator that has been replaced
    epoch_ = message.epoch;
    if (message.type == MessageType::begin) begin(message.version);
    if (message.type == MessageType::commit) commit(message);
}

void Source::begin(std::uint64_t version) {
    if (durable_.open && durable_.open->number == version) {
        tell();
        return;
    }
    if (durable_.open || version != durable_.decided + 1 || ready_ < version) return;
    durable_.open = env_.open_record(version, ++durable_.attempts);
    durable_.parts.clear();
    durable_.changed_in_part.clear();
    durable_.seal.reset();
    exchange_.open(*durable_.open);
    builder_.emplace(*durable_.open, timing_.chunks_per_part);
    to_store_.clear();
    storing_ = all_encoded_ = false;
    changed_pending_ = 0;
    env_.note(EventKind::encode_begin, {.version = version});
    continue_encoding();
}

/// Next in line: parts the store already has, then units nobody has, then the seal.
void Source::continue_encoding() {
    if (holding_.parts.size() < durable_.parts.size()) {
        env_.fetch_part(durable_.parts[holding_.parts.size()]);
    } else if (durable_.seal) {
        exchange_.add_seal(*durable_.seal);
        tell();
    } else if (builder_->next_unit() < env_.units()) {
        env_.encode(durable_.open->number, builder_->next_unit());
    } else {
        all_encoded_ = true;
        if (auto part = builder_->flush()) {
            to_store_.emplace_back(std::move(*part), changed_pending_);
            changed_pending_ = 0;
        }
        store_next();
    }
}

void Source::on_encoded(std::uint32_t unit, const EncodedUnit& encoded) {
    env_.note(EventKind::unit_encoded,
              {.version = durable_.open->number, .index = unit, .amount = encoded.bytes.size()});
    take_unit(encoded.changed_words, builder_->add(encoded.bytes));
}

void Source::on_encoded(std::uint32_t unit, const RecordedUnit& encoded) {
    env_.note(EventKind::unit_encoded,
              {.version = durable_.open->number, .index = unit, .amount = encoded.bytes});
    take_unit(encoded.changed_words, builder_->add(encoded));
}

void Source::take_unit(std::uint64_t changed_words, std::optional<Part> closed) {
    changed_pending_ += changed_words;
    if (closed) {
        to_store_.emplace_back(std::move(*closed), changed_pending_);
        changed_pending_ = 0;
        store_next();
    }
    continue_encoding();
}

void Source::store_next() {
    if (storing_) return;
    if (!to_store_.empty()) {
        storing_ = true;
        env_.store_part(to_store_.front().first);
    } else if (all_encoded_ && !durable_.seal) {
        storing_ = true;
        env_.store_manifest({*durable_.open, durable_.parts, closing_seal()});
    }
}

void Source::on_part_stored() {
    auto [part, changed] = std::move(to_store_.front());
    to_store_.pop_front();
    storing_ = false;
    durable_.parts.push_back(part.record);
    durable_.changed_in_part.push_back(changed);
    env_.note(EventKind::part_durable, {.version = durable_.open->number,
                                        .index = part.record.index,
                                        .amount = part.record.payload_bytes().count});
    offer_part(part.record, std::make_shared<const ByteVector>(std::move(part.payload)));
    store_next();
}

void Source::on_part_fetched(const SharedBytes& payload) {
    offer_part(durable_.parts[holding_.parts.size()], payload);
    continue_encoding();
}

/// An empty payload beside a non-empty record is a phantom part: sizes only.
void Source::offer_part(const PartRecord& record, const SharedBytes& payload) {
    std::vector<Body> bodies;
    std::uint64_t offset = 0;
    for (const ChunkRef& chunk : record.chunks) {
        bodies.push_back({payload && !payload->empty() ? payload : nullptr, offset, chunk.bytes});
        offset += chunk.bytes;
    }
    exchange_.add_part(record, std::move(bodies));
}

/// The seal of the log as it is durable now; the same each time it is asked for.
SealRecord Source::closing_seal() {
    const std::uint64_t changed = std::accumulate(durable_.changed_in_part.begin(),
                                                  durable_.changed_in_part.end(), std::uint64_t{0});
    return make_seal(*durable_.open, durable_.parts, changed,
                     env_.next_version(durable_.open->number));
}

void Source::on_manifest_stored() {
    storing_ = false;
    durable_.seal = closing_seal();
    exchange_.add_seal(*durable_.seal);
    env_.note(EventKind::sealed,
              {.version = durable_.open->number, .amount = durable_.seal->payload_bytes});
    tell();
}

void Source::commit(const Message& message) {
    if (durable_.open && durable_.seal && durable_.open->number == message.version &&
        holding_.sealed == message.delta) {
        durable_.decided = message.version;
        durable_.decided_delta = message.delta;
        durable_.open.reset();
        env_.rebase(message.version, message.delta);
    }
    if (durable_.decided == message.version)
        say(MessageType::applied, message.version, message.delta);
}

}  // namespace refit
