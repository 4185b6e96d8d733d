// Events as bytes, column by column: neighbours of one column resemble each other, so that zstd
// finds little left to say.
//
// Bytes     LEB128 u32 count, then per column `count` numbers, LEB128: time since the event before
//           (the first: since the run began), kind, node, peer, version, index, amount. A node is
//           written as its number + 1, none as 0.
// Errors    truncated, corrupt: a kind or node that does not exist, a time before `earliest`,
//           bytes left over.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/observe/timeline.hpp"

namespace refit {

ByteVector pack_events(std::span<const Event> events);

/// At most `most` events, of nodes below `nodes` (a coordinator may be one beyond the tree).
Result<std::vector<Event>> unpack_events(ByteSpan bytes,
                                         std::size_t most,
                                         std::size_t nodes,
                                         Nanoseconds earliest);

}  // namespace refit
