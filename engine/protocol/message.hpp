// What nodes say to each other. Plain data: the drivers decide how it travels.
//
// Tree      hello, open, part, seal, chunk, ack    between a parent and a child; `delta` is the
//           transfer id (manifest.hpp), so nothing of another attempt can be mistaken for this one.
// Control   offer, begin, sealed, staged, prepare, prepared, commit, applied, resume, serving, join
//           between the coordinator and the rest; `delta` is the sealed id, `epoch` fences.
// Rule      every message is legal in every state: used, answered or ignored.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/base/hash.hpp"
#include "engine/net/relay_tree.hpp"
#include "engine/protocol/bitmap.hpp"

namespace refit {

enum class MessageType : std::uint8_t {
    hello,     // child: this is what I hold; index = part records known
    open,      // parent: this is what I have; record = OpenRecord
    part,      // parent: record = PartRecord
    seal,      // parent: record = SealRecord
    chunk,     // parent: index, body
    ack,       // child: index is durable here
    offer,     // source: weights of `version` are final
    begin,     // coordinator: encode (source), report when staged (replica)
    sealed,    // source: the log is closed under `delta`
    staged,    // replica
    prepare,   // coordinator
    prepared,  // replica: promises that every chunk is durable at its site
    commit,    // coordinator: the decision
    applied,   // replica, source
    resume,    // coordinator: everybody has applied
    serving,   // replica
    join       // replica: I hold `version` and want in; coordinator: catch up to `version` first
};

using SharedBytes = std::shared_ptr<const ByteVector>;

/// The bytes of a chunk: a slice of something that stays alive. Without owner it is a phantom:
/// only its size is real.
struct Body {
    SharedBytes owner{};
    std::uint64_t offset = 0;
    std::uint32_t size = 0;

    bool phantom() const { return owner == nullptr; }
    ByteSpan span() const {
        return ByteSpan(*owner).subspan(static_cast<std::size_t>(offset), size);
    }
};

struct Message {
    MessageType type{};
    std::uint32_t index = 0;
    std::uint64_t epoch = 0;
    std::uint64_t version = 0;
    Hash256 delta{};
    SharedBytes record{};
    std::shared_ptr<const Bitmap> have{};
    Body body{};
};

}  // namespace refit
