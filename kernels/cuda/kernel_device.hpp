// The Device port over the kernels of this folder, one tile to a call, whoever runs them.
//
// Memory    where the arrays of the kernels are. Memory::Session lives for one call, whose name it
//           gets:
//             queue()          where the launches go
//             in(span)         the values, for kernels to read
//             values(span)     a copy of them that kernels may write
//             in_out(span)     the same, back where they came from once finish() has returned
//             fresh<T>(count)  room whose contents are undefined
//             fetch(at, count) waits for the launches, and gives what they left there
//           Memory::kSharesHost says that kernels reach the memory of the host. Without it rank
//           memory travels tile by tile (kernels/cuda/rank_memory.hpp), and a session has
//             room<T>(count)   host memory that can be sent without another copy
//             send(span)       such room as kernels may write it
// Exact     the bits of the CPU backend, whatever the schedule.
// Threads   as the port says: calls share nothing.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernels/check.hpp"
#include "kernels/cuda/kernel_xc.hpp"
#include "kernels/cuda/launches.cuh"
#include "kernels/cuda/rank_memory.hpp"
#include "kernels/cuda/staged_list.hpp"
#include "kernels/cuda/staging.hpp"
#include "kernels/device.hpp"

namespace refit {

template <class Memory>
class KernelDevice : public Device {
public:
    explicit KernelDevice(Memory memory) : memory_(std::move(memory)) {}

    void diff(std::span<const std::uint16_t> base,
              std::span<const std::uint16_t> next,
              Changes& out) final {
        REFIT_KERNEL_CHECK(base.size() == next.size());
        Session session(memory_, "diff");
        diff_tile(session, {session.in(base), session.in(next), base.size()}, out);
    }

    void stage(std::span<const std::uint16_t> base,
               std::span<const std::uint32_t> index,
               std::span<const std::uint16_t> mask,
               Changes& out) final {
        const kernels::TileMasks tile{{0, base.size()}, index, mask};
        const std::vector<std::uint32_t> starts = kernels::plan_masks({&tile, 1});
        Session session(memory_, "stage");
        kernels::Staging<Session> staging(session, tile.tile);
        auto* const changed = session.template fresh<std::uint32_t>(staging.count());
        auto* const entries = session.template fresh<std::uint32_t>(staging.count());
        kernels::launch_stage(session.queue(),
                              {session.in(base), session.in(index), session.in(mask),
                               session.in(std::span(starts)), staging.spans(), staging.count()},
                              {changed, entries, staging.scan()}, staging.list());
        staging.fetch(out);
    }

    void overwrite(std::span<std::uint16_t> weights,
                   const Changes& changes,
                   std::span<const Placement> placements) final {
        Session session(memory_, "overwrite");
        RankMemory<Memory> rank(session, placements, kAnyTile, weights.size());
        const std::vector<kernels::StagedSegment> staged = kernels::to_staged(changes);
        kernels::launch_overwrite(session.queue(), staged_in(session, staged, changes),
                                  static_cast<std::uint32_t>(staged.size()),
                                  table_in(session, rank.plan()), rank.change(weights));
        rank.finish(weights);
    }

    void gather(std::span<const std::uint16_t> weights,
                std::span<const Placement> placements,
                std::span<std::uint16_t> tile) final {
        Session session(memory_, "gather");
        RankMemory<Memory> rank(session, placements, tile.size(), weights.size());
        kernels::launch_gather(session.queue(), rank.plan(), boxes_in(session, rank.plan()),
                               rank.read(weights), session.in_out(tile));
        session.finish();
    }

    void scatter(std::span<const std::uint16_t> tile,
                 std::span<const Placement> placements,
                 std::span<std::uint16_t> weights) final {
        Session session(memory_, "scatter");
        RankMemory<Memory> rank(session, placements, tile.size(), weights.size());
        kernels::launch_scatter(session.queue(), rank.plan(), boxes_in(session, rank.plan()),
                                session.in(tile), rank.fill(weights));
        rank.finish(weights);
    }

    std::uint64_t digest(std::span<const std::uint16_t> weights,
                         std::span<const Placement> placements,
                         std::uint64_t salt) final {
        Session session(memory_, "digest");
        RankMemory<Memory> rank(session, placements, kAnyTile, weights.size());
        return digest_of(session, rank.plan(), rank.read(weights), salt);
    }

    TileDigests diff_and_digest(std::span<const std::uint16_t> base,
                                std::span<const std::uint16_t> next,
                                std::span<const Placement> placements,
                                std::uint64_t salt,
                                Changes& out) final {
        REFIT_KERNEL_CHECK(base.size() == next.size());
        Session session(memory_, "diff_and_digest");
        const kernels::TileVersions tile{session.in(base), session.in(next), base.size()};
        const kernels::BoxPlan plan = plan_of(placements, kAnyTile, base.size());
        diff_tile(session, tile, out);
        return {digest_of(session, plan, tile.base, salt),
                digest_of(session, plan, tile.next, salt)};
    }

    std::uint64_t digest_change(std::span<const std::uint16_t> base,
                                const Changes& changes,
                                std::span<const Placement> placements,
                                std::uint64_t salt) final {
        Session session(memory_, "digest_change");
        const kernels::BoxPlan plan = plan_of(placements, base.size(), kAnyTile);
        const std::vector<kernels::StagedSegment> staged = kernels::to_staged(changes);
        auto* const change = cleared(session);
        kernels::launch_digest_change(session.queue(), staged_in(session, staged, changes),
                                      static_cast<std::uint32_t>(staged.size()),
                                      table_in(session, plan), {session.in(base), salt, change});
        return session.fetch(change, 1).front();
    }

    void xc_sample(std::span<const std::uint16_t> base,
                   std::uint8_t mantissa_bits,
                   XcExponents& words) final {
        Session session(memory_, "xc_sample");
        kernels::sample_tile(session, base, mantissa_bits, words);
    }

    void xc_scan(std::span<const std::uint16_t> base,
                 const Changes& changes,
                 const XcContext& context,
                 XcTile& tile,
                 XcCounts& counts) final {
        Session session(memory_, "xc_scan");
        std::uint16_t* const next = session.values(base);
        const Placement whole = whole_tile(base.size());
        const kernels::BoxPlan plan = plan_of({&whole, 1}, base.size(), base.size());
        const std::vector<kernels::StagedSegment> staged = kernels::to_staged(changes);
        kernels::launch_overwrite(session.queue(), staged_in(session, staged, changes),
                                  static_cast<std::uint32_t>(staged.size()),
                                  table_in(session, plan), next);
        kernels::scan_tile(session, {session.in(base), next, base.size()}, context, tile, counts);
    }

    bool xc_encode(std::span<const std::uint16_t> base,
                   const XcTile& tile,
                   const XcTables& tables,
                   std::span<const std::uint8_t> levels,
                   std::vector<std::byte>& out) final {
        Session session(memory_, "xc_encode");
        return kernels::encode_tile(session, base, tile, tables, levels, out);
    }

    XcFault xc_decode(std::span<const std::uint16_t> base,
                      std::span<const std::byte> payload,
                      std::uint32_t changed,
                      const XcTables& tables,
                      Changes& out) final {
        Session session(memory_, "xc_decode");
        return kernels::decode_tile(session, base, payload, changed, tables, out);
    }

protected:
    const Memory& memory() const { return memory_; }

private:
    using Session = typename Memory::Session;
    static constexpr std::uint64_t kAnyTile = ~std::uint64_t{0} >> 1;

    static void diff_tile(Session& session, const kernels::TileVersions& tile, Changes& out) {
        kernels::Staging<Session> staging(session, {0, tile.words});
        auto* const marks = session.template fresh<std::uint8_t>(std::size_t{staging.count()} *
                                                                 kernels::kMarkBytes);
        auto* const changed = session.template fresh<std::uint32_t>(staging.count());
        kernels::launch_diff(session.queue(),
                             {tile.base, tile.next, staging.spans(), staging.count()},
                             {marks, changed, staging.scan()}, staging.list());
        staging.fetch(out);
    }

    static std::uint64_t digest_of(Session& session,
                                   const kernels::BoxPlan& plan,
                                   const std::uint16_t* weights,
                                   std::uint64_t salt) {
        auto* const digest = cleared(session);
        kernels::launch_digest(session.queue(), plan, boxes_in(session, plan), weights, salt,
                               digest);
        return session.fetch(digest, 1).front();
    }

    static unsigned long long* cleared(Session& session) {
        constexpr unsigned long long kZero = 0;
        return session.values(std::span(&kZero, 1));
    }

    static Placement whole_tile(std::uint64_t words) {
        Placement whole;
        whole.tile_words = whole.col_count = whole.local_row_stride = words;
        whole.columns = words > 0 ? words : 1;
        whole.row_count = 1;
        return whole;
    }

    static kernels::BoxPlan plan_of(std::span<const Placement> placements,
                                    std::uint64_t tile_words,
                                    std::uint64_t memory_words) {
        const kernels::TilePlacements tile{{0, tile_words}, placements};
        return kernels::plan_boxes({&tile, 1}, memory_words);
    }
    static const kernels::Box* boxes_in(Session& session, const kernels::BoxPlan& plan) {
        return session.in(std::span<const kernels::Box>(plan.boxes));
    }
    static kernels::BoxTable table_in(Session& session, const kernels::BoxPlan& plan) {
        return {boxes_in(session, plan),
                session.in(std::span<const kernels::TileBoxes>(plan.tiles))};
    }
    static kernels::StagedList staged_in(Session& session,
                                         std::span<const kernels::StagedSegment> staged,
                                         const Changes& changes) {
        return {session.values(staged), session.values(std::span(changes.positions)),
                session.values(std::span(changes.words))};
    }

    Memory memory_;
};

}  // namespace refit
