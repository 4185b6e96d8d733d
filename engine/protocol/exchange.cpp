#include "engine/protocol/exchange.hpp"

#include <algorithm>

namespace refit {

namespace {

SharedBytes share(ByteVector bytes) { return std::make_shared<const ByteVector>(std::move(bytes)); }

bool body_matches(const Body& body, const ChunkRef& ref) {
    if (body.size != ref.bytes) return false;
    return body.phantom() || sha256(body.span()) == ref.hash;
}

}  // namespace

Exchange::Exchange(Env& env,
                   ExchangeOwner& owner,
                   const Timing& timing,
                   Holding& holding,
                   std::vector<NodeId> parents)
    : env_(env), owner_(owner), timing_(timing), holding_(holding), parents_(std::move(parents)) {}

void Exchange::start() {
    if (!parents_.empty()) env_.connect(parents_[parent_]);
}

void Exchange::on_connect(NodeId peer) {
    if (!parents_.empty() && peer == parents_[parent_] && !parent_up_) {
        parent_up_ = true;
        env_.note(EventKind::connected, {.version = holding_.open.number, .peer = peer});
        say_hello();
        return;
    }
    children_[peer] = Child{};  // it will say hello
}

void Exchange::on_disconnect(NodeId peer) {
    if (!parents_.empty() && peer == parents_[parent_]) {
        if (parent_up_)
            env_.note(EventKind::disconnected, {.version = holding_.open.number, .peer = peer});
        parent_up_ = false;
        parent_ = (parent_ + 1) % parents_.size();
        env_.set_timer(kReconnectTimer, timing_.reconnect);
        return;
    }
    children_.erase(peer);
}

void Exchange::on_timer() {
    if (!parent_up_ && !parents_.empty()) env_.connect(parents_[parent_]);
}

bool Exchange::on_message(NodeId from, const Message& message) {
    switch (message.type) {
        case MessageType::hello:
            on_hello(from, message);
            return true;
        case MessageType::ack:
            on_ack(from, message);
            return true;
        case MessageType::open:
            if (is_parent(from)) on_open(message);
            return true;
        case MessageType::part:
            if (is_parent(from)) on_part(message);
            return true;
        case MessageType::seal:
            if (is_parent(from)) on_seal(message);
            return true;
        case MessageType::chunk:
            if (is_parent(from)) on_chunk(from, message);
            return true;
        default:
            return false;
    }
}

void Exchange::open(const OpenRecord& record) { adopt(record, share(record.serialize())); }

void Exchange::add_part(const PartRecord& record, std::vector<Body> bodies) {
    accept_part(record, share(record.serialize()));
    for (std::size_t i = 0; i < bodies.size(); ++i)
        keep(record.first_chunk + static_cast<std::uint32_t>(i), bodies[i]);
}

void Exchange::add_seal(const SealRecord& record) {
    holding_.seal = record;
    holding_.seal_bytes = share(record.serialize());
    holding_.sealed = sha256(*holding_.seal_bytes);
    for (auto& [id, child] : children_) send_records(id, child);
}

void Exchange::try_pending() {
    if (!pending_ || !owner_.may_adopt(*pending_)) return;
    const OpenRecord open = *pending_;
    adopt(open, pending_bytes_);
    if (parent_up_) say_hello();
}

/// Starts over with another delta: nothing of the old one may survive (invariant I13).
void Exchange::adopt(const OpenRecord& open, SharedBytes bytes) {
    pending_.reset();
    holding_ = Holding{};
    holding_.transfer = sha256(*bytes);
    holding_.open = open;
    holding_.open_bytes = std::move(bytes);
    for (auto& [id, child] : children_) {
        child = Child{};
        env_.send(id, {.type = MessageType::open,
                       .version = open.number,
                       .delta = holding_.transfer,
                       .record = holding_.open_bytes});
    }
    owner_.on_adopted();
}

void Exchange::say_hello() {
    env_.send(parents_[parent_], {.type = MessageType::hello,
                                  .index = static_cast<std::uint32_t>(holding_.parts.size()),
                                  .version = holding_.open.number,
                                  .delta = holding_.transfer,
                                  .have = std::make_shared<const Bitmap>(holding_.have)});
}

void Exchange::on_hello(NodeId from, const Message& message) {
    const auto found = children_.find(from);
    if (found == children_.end() || holding_.transfer.is_zero()) return;
    Child& child = found->second;
    if (message.delta != holding_.transfer) {
        env_.send(from, {.type = MessageType::open,
                         .version = holding_.open.number,
                         .delta = holding_.transfer,
                         .record = holding_.open_bytes});
        return;
    }
    if (child.synced || !message.have) return;
    child.synced = true;
    child.parts_sent = message.index;
    child.acked = *message.have;
    child.acked.resize(std::max(child.acked.size(), holding_.chunks()));
    for (std::uint32_t i = 0; i < holding_.chunks(); ++i)
        if (holding_.have.test(i) && !child.acked.test(i)) child.ready.push_back(i);
    send_records(from, child);
    pump(from, child);
}

void Exchange::on_open(const Message& message) {
    if (message.delta == holding_.transfer) {
        say_hello();  // the parent came back to it; one that is in step ignores this
        return;
    }
    if (!message.record) return;
    const auto open = OpenRecord::parse(*message.record);
    if (!open.has_value() || sha256(*message.record) != message.delta) return;
    if (owner_.may_adopt(open.value())) {
        adopt(open.value(), message.record);
        say_hello();
    } else {
        pending_ = open.value();
        pending_bytes_ = message.record;
    }
}

void Exchange::on_part(const Message& message) {
    if (message.delta != holding_.transfer || !message.record) return;
    const auto part = PartRecord::parse(*message.record);
    if (!part.has_value()) return;
    if (!check_part(holding_.open, holding_.parts, part.value()).has_value()) return;
    accept_part(part.value(), message.record);
}

void Exchange::on_seal(const Message& message) {
    if (message.delta != holding_.transfer || holding_.seal || !message.record) return;
    const auto seal = SealRecord::parse(*message.record);
    if (!seal.has_value()) return;
    if (!check_seal(holding_.open, holding_.parts, seal.value()).has_value()) return;
    add_seal(seal.value());
    owner_.on_sealed();
}

void Exchange::on_chunk(NodeId from, const Message& message) {
    if (message.delta != holding_.transfer || message.index >= holding_.chunks()) return;
    const EventFields fields{.version = holding_.open.number,
                             .peer = from,
                             .index = message.index,
                             .amount = message.body.size};
    const PartRecord& part = holding_.parts[part_of(message.index)];
    if (holding_.have.test(message.index)) {
        env_.note(EventKind::chunk_repeated, fields);
    } else if (!body_matches(message.body, part.chunks[message.index - part.first_chunk])) {
        env_.note(EventKind::chunk_refused, fields);
        return;  // unacknowledged: it comes again with the next connection
    } else {
        env_.note(EventKind::chunk_received, fields);
    }
    env_.send(from, {.type = MessageType::ack,
                     .index = message.index,
                     .version = message.version,
                     .delta = message.delta});
    keep(message.index, message.body);
}

void Exchange::on_ack(NodeId from, const Message& message) {
    const auto found = children_.find(from);
    if (found == children_.end() || message.delta != holding_.transfer) return;
    Child& child = found->second;
    if (!child.synced || message.index >= child.acked.size()) return;
    if (child.acked.test(message.index) || child.in_flight == 0) return;
    child.acked.set(message.index);
    --child.in_flight;
    pump(from, child);
}

void Exchange::accept_part(const PartRecord& record, SharedBytes bytes) {
    const auto chunks = static_cast<std::uint32_t>(record.chunks.size());
    holding_.parts.push_back(record);
    holding_.part_bytes.push_back(std::move(bytes));
    holding_.missing_in_part.push_back(chunks);
    holding_.have.resize(record.first_chunk + chunks);
    holding_.bodies.resize(holding_.have.size());
    for (auto& [id, child] : children_) {
        if (!child.synced) continue;
        child.acked.resize(std::max(child.acked.size(), holding_.chunks()));
        send_records(id, child);
    }
}

void Exchange::keep(std::uint32_t chunk, const Body& body) {
    if (holding_.have.test(chunk)) return;
    const std::uint32_t part = part_of(chunk);
    holding_.have.set(chunk);
    holding_.bodies[chunk] = body;
    --holding_.missing_in_part[part];
    for (auto& [id, child] : children_) {
        if (!child.synced || child.acked.test(chunk)) continue;
        child.ready.push_back(chunk);
        pump(id, child);
    }
    if (holding_.part_complete(part)) owner_.on_part_complete(part);
}

void Exchange::send_records(NodeId to, Child& child) {
    if (!child.synced) return;
    for (; child.parts_sent < holding_.parts.size(); ++child.parts_sent) {
        env_.send(to, {.type = MessageType::part,
                       .version = holding_.open.number,
                       .delta = holding_.transfer,
                       .record = holding_.part_bytes[child.parts_sent]});
    }
    if (!holding_.seal || child.seal_sent) return;
    child.seal_sent = true;
    env_.send(to, {.type = MessageType::seal,
                   .version = holding_.open.number,
                   .delta = holding_.transfer,
                   .record = holding_.seal_bytes});
}

void Exchange::pump(NodeId to, Child& child) {
    while (child.in_flight < timing_.window && !child.ready.empty()) {
        const std::uint32_t chunk = child.ready.front();
        child.ready.pop_front();
        ++child.in_flight;
        const Body& body = holding_.bodies[chunk];
        env_.note(
            EventKind::chunk_sent,
            {.version = holding_.open.number, .peer = to, .index = chunk, .amount = body.size});
        env_.send(to, {.type = MessageType::chunk,
                       .index = chunk,
                       .version = holding_.open.number,
                       .delta = holding_.transfer,
                       .body = body});
    }
}

std::uint32_t Exchange::part_of(std::uint32_t chunk) const {
    const auto after = std::upper_bound(
        holding_.parts.begin(), holding_.parts.end(), chunk,
        [](std::uint32_t c, const PartRecord& part) { return c < part.first_chunk; });
    return static_cast<std::uint32_t>(after - holding_.parts.begin()) - 1;
}

}  // namespace refit
