// The rank memory of one call as kernels see it: where it is, or the tile's words of it in a buffer
// of the device. Sessions as kernels/cuda/kernel_device.hpp has them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "kernels/cuda/compact.hpp"
#include "kernels/cuda/plan.hpp"

namespace refit {

/// For memories that share that of the host.
template <class Memory, bool shares_host = Memory::kSharesHost>
class RankMemory {
public:
    using Session = typename Memory::Session;

    RankMemory(Session& session,
               std::span<const Placement> placements,
               std::uint64_t tile_words,
               std::uint64_t memory_words)
        : session_(session),
          plan_(kernels::plan_boxes(
              std::vector{kernels::TilePlacements{{0, tile_words}, placements}}, memory_words)) {}

    const kernels::BoxPlan& plan() const { return plan_; }

    const std::uint16_t* read(std::span<const std::uint16_t> weights) {
        return session_.in(weights);
    }
    /// For launches that store some of the held words.
    std::uint16_t* change(std::span<std::uint16_t> weights) { return session_.in_out(weights); }
    /// For launches that store every held word.
    std::uint16_t* fill(std::span<std::uint16_t> weights) { return session_.in_out(weights); }
    /// Brings back what launches have stored.
    void finish(std::span<std::uint16_t> /*weights*/) { session_.finish(); }

private:
    Session& session_;
    kernels::BoxPlan plan_;
};

/// For memories of their own.
template <class Memory>
class RankMemory<Memory, false> {
public:
    using Session = typename Memory::Session;

    RankMemory(Session& session,
               std::span<const Placement> placements,
               std::uint64_t tile_words,
               std::uint64_t memory_words)
        : session_(session),
          compact_(kernels::plan_compact(placements, memory_words)),
          plan_(kernels::plan_boxes(
              std::vector{kernels::TilePlacements{{0, tile_words}, compact_.placements}},
              compact_.words)) {}

    const kernels::BoxPlan& plan() const { return plan_; }

    const std::uint16_t* read(std::span<const std::uint16_t> weights) { return sent(weights); }
    std::uint16_t* change(std::span<std::uint16_t> weights) { return at_ = sent(weights); }
    std::uint16_t* fill(std::span<std::uint16_t> /*weights*/) {
        return at_ = session_.template fresh<std::uint16_t>(compact_.words);
    }
    void finish(std::span<std::uint16_t> weights) {
        kernels::unpack(compact_, session_.fetch(std::as_const(at_), compact_.words), weights);
    }

private:
    std::uint16_t* sent(std::span<const std::uint16_t> weights) {
        const auto packed = session_.template room<std::uint16_t>(compact_.words);
        kernels::pack(compact_, weights, packed);
        return session_.send(std::span<const std::uint16_t>(packed));
    }

    Session& session_;
    kernels::CompactPlan compact_;
    kernels::BoxPlan plan_;
    std::uint16_t* at_ = nullptr;
};

}  // namespace refit
