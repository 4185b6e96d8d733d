// The replica: one rollout engine. Serves exactly one whole version at any moment.
//
// States     loading -> serving(v) -> staging -> staged -> prepared -> draining -> overwriting ->
//            checking -> applied -> serving(v + 1). Up to `prepared` the old version is served
//            and dropping the staged list is the whole rollback. From the decision on the
//            protocol only goes forward.
// Resume     nobody serves v + 1 before everybody has applied it: that barrier is what lets a
//            replica that crashed before go on serving v until it hears of the commit.
// Restart    memory is lost, the site store is not: weights are loaded again from the anchor and
//            the chain of deltas up to the version applied last, then the held chunks are staged
//            again. A replica that starts empty (late joiner) loads the newest decided version.
// Checks     base and delta while staging, resident after overwriting; a replica that fails one
//            reloads and never serves what it has.
// Place      a lease between prepared and resume, and eviction, come into on_timer() and commit().
#pragma once

#include <set>
#include <vector>

#include "engine/protocol/exchange.hpp"

namespace refit {

/// Every request is answered by the call named beside it, or never, if the node crashes first.
class ReplicaEnv : public Env {
public:
    /// Decodes a complete part against the served base into the staging list.
    virtual void stage_part(const Holding& holding, std::uint32_t part) = 0;  // on_part_staged
    virtual void drop_staged() = 0;                                           // no answer
    virtual void overwrite() = 0;                                             // on_overwritten
    virtual void check_resident() = 0;                                        // on_checked
    /// Loads the version that `delta` leads to, zero: the newest decided one. Starts from what is
    /// resident when `from_resident`, else from nothing.
    virtual void load(const Hash256& delta, bool from_resident) = 0;  // on_loaded
};

struct ReplicaDurable {
    bool member = true;         // false: joins when loaded
    std::uint64_t active = 0;   // version whose overwrite was completed and checked
    Hash256 active_delta;       // sealed id that led to it; zero: nothing loaded yet
    std::uint64_t resumed = 0;  // version last served
    std::uint64_t prepared = 0;
    Hash256 prepared_delta;
    Holding holding;
};

class Replica final : public Node, private ExchangeOwner {
public:
    Replica(ReplicaEnv& env,
            const Timing& timing,
            ReplicaDurable& durable,
            std::vector<NodeId> parents,
            NodeId coordinator,
            Nanoseconds drain);

    /// A member from the start is constructed over loaded weights and serves at once.
    void start_loaded();

    void on_start() override;
    void on_connect(NodeId peer) override;
    void on_disconnect(NodeId peer) override;
    void on_message(NodeId from, const Message& message) override;
    void on_timer(std::uint32_t id) override;

    void on_part_staged(bool exact);
    void on_overwritten();
    void on_checked(bool exact);
    void on_loaded(std::uint64_t version, const Hash256& delta);

    bool serving() const { return serving_; }

private:
    enum class State : std::uint8_t {
        loading,
        ready,  // weights of `active`; staging as parts come
        draining,
        overwriting,
        checking,
        applied
    };

    bool may_adopt(const OpenRecord& open) override;
    void on_adopted() override;
    void on_part_complete(std::uint32_t) override { stage_more(); }
    void on_sealed() override { stage_more(); }

    bool holds_next() const;
    bool staged_all() const;
    void stage_more();
    void reload();
    void serve();
    void commit(const Message& message);
    void prepare(const Message& message);
    void resume(const Message& message);
    void say(MessageType type, std::uint64_t version, const Hash256& delta);

    ReplicaEnv& env_;
    Timing timing_;
    ReplicaDurable& durable_;
    Exchange exchange_;
    NodeId coordinator_;
    Nanoseconds drain_;
    State state_ = State::loading;
    bool serving_ = false;
    bool staging_ = false;      // a stage_part() is under way
    bool stale_stage_ = false;  // its answer belongs to a delta that was dropped meanwhile
    std::uint32_t staged_parts_ = 0;
    bool staged_noted_ = false;
    std::uint64_t epoch_ = 0;
};

}  // namespace refit
