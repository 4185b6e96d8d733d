// A relay: an exchange that takes up every delta its parent has. It holds no base, never decodes.
#pragma once

#include "engine/protocol/exchange.hpp"

namespace refit {

class Relay final : public Node, private ExchangeOwner {
public:
    Relay(Env& env, const Timing& timing, Holding& durable, std::vector<NodeId> parents)
        : exchange_(env, *this, timing, durable, std::move(parents)) {}

    void on_start() override { exchange_.start(); }
    void on_connect(NodeId peer) override { exchange_.on_connect(peer); }
    void on_disconnect(NodeId peer) override { exchange_.on_disconnect(peer); }
    void on_message(NodeId from, const Message& message) override {
        exchange_.on_message(from, message);
    }
    void on_timer(std::uint32_t) override { exchange_.on_timer(); }

private:
    bool may_adopt(const OpenRecord&) override { return true; }
    void on_adopted() override {}
    void on_part_complete(std::uint32_t) override {}
    void on_sealed() override {}

    Exchange exchange_;
};

}  // namespace refit
