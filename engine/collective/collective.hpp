// What the ranks of one cluster exchange: parts of a tile to the rank that owns it, and from there
// to every rank of a replica. Nothing here crosses clusters.
//
// Rank       numbered from 0 at the start, at most kRanksMax; a rank keeps its number when others
//            are lost. Every rank of ranks() makes the same calls in the same order.
// Memory     bytes where the implementation works (memory.hpp): the host's, or its GPU's. A call
//            returns when its result is there; after a loss what it would have written is anything.
// Deadline   each call gives up after the time the collective was made with.
// Errors     a rank that dies, falls silent or makes another call is a Loss: it names the rank and
//            the call, the others are told, and nothing but rebuild() succeeds until that has. What
//            the machine refuses throws MachineError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "engine/base/units.hpp"

namespace refit {

inline constexpr unsigned kRanksMax = 64;

/// Why a call ended without its result.
struct Loss {
    enum class Kind : std::uint8_t {
        closed,     // the rank's process is gone
        silent,     // the deadline passed while waiting for it
        disagreed,  // it makes another call, or the same with another size
        told,       // it gave the call up, for a loss of its own or to rebuild
        library     // the library below reports an error, of nobody in particular
    };
    Kind kind = Kind::closed;
    std::optional<unsigned> rank;  // whom it is about, where that is known
    std::string operation;         // "gather 17": the call, counted from 1
    std::string reason;

    /// "rank 2, in gather 17: closed its connection"
    std::string text() const {
        const std::string who = rank ? "rank " + std::to_string(*rank) : "a rank";
        return who + ", in " + operation + ": " + reason;
    }
};

/// Empty: done.
using MaybeLoss = std::optional<Loss>;

class Collective {
public:
    virtual ~Collective() = default;

    virtual unsigned self() const = 0;
    /// Those still in, ascending.
    virtual std::span<const unsigned> ranks() const = 0;

    /// Every rank's `mine` arrives at `owner`, in the part of that rank. `parts` is in the order of
    /// ranks(), sizes may differ and be 0; elsewhere than at the owner it is empty.
    [[nodiscard]] virtual MaybeLoss gather(unsigned owner,
                                           std::span<const std::byte> mine,
                                           std::span<const std::span<std::byte>> parts) = 0;

    /// What `owner` holds arrives at every other rank.
    [[nodiscard]] virtual MaybeLoss fan_out(unsigned owner, std::span<std::byte> bytes) = 0;

    /// Nobody returns before all have called.
    [[nodiscard]] virtual MaybeLoss barrier() = 0;

    /// A look that does not wait: is somebody gone, or has somebody given up?
    [[nodiscard]] virtual MaybeLoss check() = 0;

    /// Tells the others that this rank gives up.
    virtual void abort() = 0;

    /// Goes on with those that call it too; ranks() says who they are. Who is cut off from the
    /// others finds itself alone, so a caller looks whether they suffice.
    virtual void rebuild() = 0;

    /// The last call: all have what they need, and may go.
    [[nodiscard]] virtual MaybeLoss finish() = 0;
};

}  // namespace refit
