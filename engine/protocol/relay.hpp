// A relay: an exchange that takes up every newer delta its parent has. It holds no base and never
// decodes. Never an older one: a new parent may itself be behind, and catches up.
#pragma once

#include <utility>

#include "engine/protocol/exchange.hpp"

namespace refit {

class Relay final : public Node, private ExchangeOwner {
public:
    Relay(Env& env, const Timing& timing, Holding& durable, std::vector<NodeId> parents)
        : held_(durable), exchange_(env, *this, timing, durable, std::move(parents)) {}

    void on_start() override { exchange_.start(); }
    void on_connect(NodeId peer) override { exchange_.on_connect(peer); }
    void on_disconnect(NodeId peer) override { exchange_.on_disconnect(peer); }
    void on_message(NodeId from, const Message& message) override {
        exchange_.on_message(from, message);
    }
    void on_timer(std::uint32_t) override { exchange_.on_timer(); }

private:
    bool may_adopt(const OpenRecord& open) override {
        return held_.transfer.is_zero() || std::pair(open.number, open.attempt) >
                                               std::pair(held_.open.number, held_.open.attempt);
    }
    void on_adopted() override {}
    void on_part_complete(std::uint32_t) override {}
    void on_sealed() override {}

    const Holding& held_;
    Exchange exchange_;
};

}  // namespace refit
