// The tree half of every node: what it holds of the delta in flight, getting the rest from its
// parent and giving it to its children.
//
// Model     A child says hello with what it holds; the parent answers with the records and chunks
//           the child lacks, at most `window` unacknowledged chunks at a time. A new delta starts
//           with open; the child drops what belongs to another one and says hello again.
//           Connections are ordered and reliable while they live, so hello is sent once per
//           connection and transfer: sending it again would make the parent repeat chunks.
// Repair    A node that loses its parent tries the parent and then its backups in turn, for good.
//           Relays only ever try nodes with smaller ids, so no cycle can form.
// Waste     at most `window` chunks per lost connection; an acknowledged chunk is never sent again.
// Cost      O(1) per chunk and child.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "engine/codec/manifest.hpp"
#include "engine/protocol/node.hpp"

namespace refit {

/// What a node durably holds of one transfer.
struct Holding {
    Hash256 transfer;  // zero: nothing
    OpenRecord open;
    SharedBytes open_bytes;
    std::vector<PartRecord> parts;
    std::vector<SharedBytes> part_bytes;
    std::optional<SealRecord> seal;
    SharedBytes seal_bytes;
    Hash256 sealed;  // sealed id, once there is a seal
    Bitmap have;
    std::vector<Body> bodies;                    // by chunk
    std::vector<std::uint32_t> missing_in_part;  // chunks of each part not here yet

    bool part_complete(std::uint32_t part) const { return missing_in_part[part] == 0; }
    std::uint32_t chunks() const { return have.size(); }
};

/// What the owner of an exchange decides and learns.
class ExchangeOwner {
public:
    virtual ~ExchangeOwner() = default;
    /// May what is held now be dropped for this delta?
    virtual bool may_adopt(const OpenRecord& open) = 0;
    virtual void on_adopted() = 0;
    virtual void on_part_complete(std::uint32_t part) = 0;
    virtual void on_sealed() = 0;
};

class Exchange {
public:
    Exchange(Env& env,
             ExchangeOwner& owner,
             const Timing& timing,
             Holding& holding,
             std::vector<NodeId> parents);

    void start();
    void on_connect(NodeId peer);
    void on_disconnect(NodeId peer);
    void on_timer();
    /// True if it was a tree message.
    bool on_message(NodeId from, const Message& message);

    /// The source's way in: a new delta, then its parts as they become durable, then the seal.
    void open(const OpenRecord& record);
    void add_part(const PartRecord& record, std::vector<Body> bodies);
    void add_seal(const SealRecord& record);

    /// The owner may adopt again: take up an open that had to wait.
    void try_pending();

private:
    struct Child {
        bool synced = false;  // said hello for the transfer held now
        std::uint32_t parts_sent = 0;
        bool seal_sent = false;
        std::uint32_t in_flight = 0;
        Bitmap acked;
        std::deque<std::uint32_t> ready;  // chunks held here, not yet sent to this child
    };

    bool is_parent(NodeId peer) const { return parent_up_ && peer == parents_[parent_]; }
    void adopt(const OpenRecord& open, SharedBytes bytes);
    void say_hello();
    void on_hello(NodeId from, const Message& message);
    void on_open(const Message& message);
    void on_part(const Message& message);
    void on_seal(const Message& message);
    void on_chunk(NodeId from, const Message& message);
    void on_ack(NodeId from, const Message& message);
    void accept_part(const PartRecord& record, SharedBytes bytes);
    void keep(std::uint32_t chunk, const Body& body);
    void send_records(NodeId to, Child& child);
    void pump(NodeId to, Child& child);
    std::uint32_t part_of(std::uint32_t chunk) const;

    Env& env_;
    ExchangeOwner& owner_;
    Timing timing_;
    Holding& holding_;
    std::vector<NodeId> parents_;  // the parent, then backups
    std::size_t parent_ = 0;
    bool parent_up_ = false;
    std::map<NodeId, Child> children_;
    std::optional<OpenRecord> pending_;
    SharedBytes pending_bytes_;
};

}  // namespace refit
