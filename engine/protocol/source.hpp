// The source: encodes the step's delta once, makes it durable, offers it, and moves its base only
// when the register has decided.
//
// Order     unit encoded -> part closed -> part durable in the store -> offered to children. So
//           encoding, sending and staging overlap, and whatever was offered survives a crash.
// Restart   durable parts are read back from the store; encoding goes on with the first unit in no
//           durable part. No unit in a durable part is encoded twice.
// Base      the snapshot of the last decided version; `commit` moves it.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "engine/codec/delta.hpp"
#include "engine/protocol/exchange.hpp"

namespace refit {

/// What the source asks of its driver. Every request is answered by the call named beside it,
/// or never, if the node crashes first.
class SourceEnv : public Env {
public:
    virtual std::uint32_t units() const = 0;
    virtual OpenRecord open_record(std::uint64_t version, std::uint64_t attempt) = 0;
    virtual Hash256 next_version(std::uint64_t version) = 0;

    virtual void encode(std::uint64_t version, std::uint32_t unit) = 0;     // on_encoded
    virtual void store_part(const Part& part) = 0;                          // on_part_stored
    virtual void fetch_part(const PartRecord& part) = 0;                    // on_part_fetched
    virtual void store_manifest(const Manifest& manifest) = 0;              // on_manifest_stored
    virtual void rebase(std::uint64_t version, const Hash256& sealed) = 0;  // no answer
};

struct SourceDurable {
    std::uint64_t decided = 0;  // the base's version
    Hash256 decided_delta;
    std::uint64_t attempts = 0;
    std::optional<OpenRecord> open;  // of the delta in flight
    std::vector<PartRecord> parts;   // durable in the store
    std::vector<std::uint64_t> changed_in_part;
    std::optional<SealRecord> seal;
};

class Source final : public Node, private ExchangeOwner {
public:
    Source(SourceEnv& env, const Timing& timing, SourceDurable& durable, NodeId coordinator);

    void on_start() override;
    void on_connect(NodeId peer) override {
        if (peer != coordinator_) exchange_.on_connect(peer);
    }
    void on_disconnect(NodeId peer) override {
        if (peer != coordinator_) exchange_.on_disconnect(peer);
    }
    void on_message(NodeId from, const Message& message) override;
    void on_timer(std::uint32_t id) override;

    /// The trainer's weights of `version` are final.
    void on_step_ready(std::uint64_t version);

    void on_encoded(std::uint32_t unit, const EncodedUnit& encoded);
    void on_encoded(std::uint32_t unit, const RecordedUnit& encoded);
    void on_part_stored();
    void on_part_fetched(const SharedBytes& payload);
    void on_manifest_stored();

private:
    bool may_adopt(const OpenRecord&) override { return false; }
    void on_adopted() override {}
    void on_part_complete(std::uint32_t) override {}
    void on_sealed() override {}

    void begin(std::uint64_t version);
    void continue_encoding();
    void take_unit(std::uint64_t changed_words, std::optional<Part> closed);
    void offer_part(const PartRecord& record, const SharedBytes& payload);
    void store_next();
    SealRecord closing_seal();
    void commit(const Message& message);
    void tell();
    void say(MessageType type, std::uint64_t version, const Hash256& delta);

    SourceEnv& env_;
    Timing timing_;
    SourceDurable& durable_;
    NodeId coordinator_;
    Holding holding_;  // rebuilt from the store after a crash
    Exchange exchange_;
    std::uint64_t ready_ = 0;  // newest version whose weights are final
    std::uint64_t epoch_ = 0;
    std::optional<PartBuilder> builder_;
    std::deque<std::pair<Part, std::uint64_t>> to_store_;  // with its changed words
    bool storing_ = false;
    bool all_encoded_ = false;
    std::uint64_t changed_pending_ = 0;
};

}  // namespace refit
