// The coordinator: drives one joint group from offer to serving, and can be restarted anywhere.
//
// Phases     recovering -> idle -> staging -> preparing -> deciding -> committing -> resuming ->
//            idle. The compare-and-swap at the register in `deciding` is the commit point; what is
//            decided is only ever driven forward. A restarted coordinator takes a new epoch, reads
//            the decision and drives its commit again: members that already serve it just say so.
// Retry      every request is repeated by a timer until it is answered; answers of another epoch,
//            version or delta do not count.
// Members    durable; a joiner becomes one between refits, when it holds the decided version.
// Place      eviction, takeover and member deadlines (design 8) come into tell() and on_timer().
#pragma once

#include <map>
#include <set>

#include "engine/protocol/node.hpp"
#include "engine/store/register.hpp"

namespace refit {

class CoordinatorEnv : public Env {
public:
    virtual void acquire() = 0;                                                       // on_acquired
    virtual void decide(std::uint64_t epoch, std::uint64_t from, Decision next) = 0;  // on_decided
};

struct CoordinatorDurable {
    std::set<NodeId> members;
};

class Coordinator final : public Node {
public:
    enum class Phase : std::uint8_t {
        recovering,
        idle,
        staging,
        preparing,
        deciding,
        committing,
        resuming
    };

    Coordinator(CoordinatorEnv& env,
                const Timing& timing,
                CoordinatorDurable& durable,
                NodeId source);

    void on_start() override;
    void on_connect(NodeId) override { tell(); }
    void on_disconnect(NodeId) override {}
    void on_message(NodeId from, const Message& message) override;
    void on_timer(std::uint32_t id) override;

    void on_acquired(std::uint64_t epoch, const Decision& decision);
    void on_decided(bool won);

    Phase phase() const { return phase_; }
    std::uint64_t epoch() const { return epoch_; }
    const Decision& decided() const { return decided_; }

private:
    void enter(Phase phase);
    void tell();
    void on_answer(NodeId from, const Message& message);
    void on_join(NodeId from, const Message& message);
    bool all_answered() const;
    void advance();
    void say(NodeId to, MessageType type, std::uint64_t version, const Hash256& delta);

    CoordinatorEnv& env_;
    Timing timing_;
    CoordinatorDurable& durable_;
    NodeId source_;
    Phase phase_ = Phase::recovering;
    std::uint64_t epoch_ = 0;
    Decision decided_;
    std::uint64_t version_ = 0;  // the refit in flight, or the last one
    Hash256 delta_;              // its sealed id; zero until the source has sealed
    std::map<NodeId, Hash256> answers_;
    std::set<NodeId> joining_;  // told to catch up or being let in
};

}  // namespace refit
