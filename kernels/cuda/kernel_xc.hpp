// The xc operations of the Device port over the kernels, one tile to a call. Sessions as
// kernels/cuda/kernel_device.hpp has them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/check.hpp"
#include "kernels/cuda/staging.hpp"
#include "kernels/cuda/xc_launches.cuh"
#include "kernels/xc.hpp"

namespace refit::kernels {

/// `words`: those of the sample are added.
template <class Session>
void sample_tile(Session& session,
                 std::span<const std::uint16_t> base,
                 std::uint8_t mantissa_bits,
                 XcExponents& words) {
    const SegmentsIn<Session> segments(session, {0, base.size()});
    launch_xc_sample(session.queue(), session.in(base), {segments.spans(), segments.count()},
                     mantissa_bits, session.in_out(std::span<std::uint32_t>(words)));
    session.finish();
}

/// Both versions of a tile on the device.
struct TileVersions {
    const std::uint16_t* base;
    const std::uint16_t* next;
    std::uint64_t words;
};

/// As Device::xc_scan().
template <class Session>
void scan_tile(Session& session,
               const TileVersions& versions,
               const XcContext& context,
               XcTile& tile,
               XcCounts& counts) {
    const SegmentsIn<Session> segments(session, {0, versions.words});
    const std::uint32_t count = segments.count();
    tile = {};
    counts = {};
    if (count == 0) return;
    auto* const marks = session.template fresh<std::uint8_t>(std::size_t{count} * kMarkBytes);
    auto* const changed = session.template fresh<std::uint32_t>(count);
    simt::launch(session.queue(), mark_shape(count), diff_mark, versions.base, versions.next,
                 segments.spans(), count,
                 DiffScratch{marks, changed, scan_scratch(session, count)});
    const auto found = session.fetch(changed, count);
    tile.changed.assign(found.begin(), found.end());
    std::size_t changes = 0;
    for (const std::uint32_t of : tile.changed) changes += of;
    const std::vector<std::uint32_t> zeros(kXcCounts);
    const XcLists lists{session.template fresh<std::uint16_t>(changes),
                        session.template fresh<std::uint16_t>(changes),
                        session.template fresh<std::uint64_t>(std::size_t{count} * kXcBuckets),
                        session.values(std::span<const std::uint32_t>(zeros)),
                        scan_scratch(session, count)};
    launch_xc_list(session.queue(),
                   {versions.base, versions.next, segments.spans(), marks, changed, count, context},
                   lists);
    const std::size_t groups = (versions.words + kXcGroupWords - 1) / kXcGroupWords;
    const auto bits = session.fetch(marks, groups * (kXcGroupWords / 8));
    tile.bits.assign(bits.begin(), bits.end());
    // Bytes behind the last word of a group are not written by diff_mark.
    std::fill(tile.bits.begin() + static_cast<std::ptrdiff_t>((versions.words + 7) / 8),
              tile.bits.end(), std::uint8_t{0});
    const auto base = session.fetch(lists.base, changes);
    const auto step = session.fetch(lists.step, changes);
    tile.base.assign(base.begin(), base.end());
    tile.step.assign(step.begin(), step.end());
    const auto words = session.fetch(lists.words, std::size_t{count} * kXcBuckets);
    tile.words.resize(count);
    for (std::size_t s = 0; s < count; ++s)
        std::ranges::copy(words.subspan(s * kXcBuckets, kXcBuckets), tile.words[s].begin());
    counts = sum_xc_counts(session.fetch(lists.counts, kXcCounts));
}

/// As Device::xc_encode().
template <class Session>
bool encode_tile(Session& session,
                 std::span<const std::uint16_t> base,
                 const XcTile& tile,
                 const XcTables& tables,
                 std::span<const std::uint8_t> levels,
                 std::vector<std::byte>& out) {
    // A table that cannot say how far the largest step goes would lose bits.
    const auto fits = [&](std::uint16_t step) {
        return xc_step_size(step) >> (tables.stages + 1) == 0;
    };
    REFIT_KERNEL_CHECK(tables.stages == kXcStages || std::ranges::all_of(tile.step, fits));
    const XcOddsTable odds = make_xc_odds(tables);
    const XcCoding coding{{0, base.size()}, static_cast<std::uint32_t>(tile.base.size()), 0};
    const XcPlan plan = plan_xc_encode({&coding, 1});
    std::vector<std::uint8_t> marks(levels.size() * kMarkBytes);
    std::ranges::copy(tile.bits, marks.begin());
    const XcEncodeInput in{session.in(base),
                           session.in(std::span<const std::uint8_t>(marks)),
                           session.in(levels),
                           session.in(std::span<const std::uint16_t>(tile.base)),
                           session.in(std::span<const std::uint16_t>(tile.step)),
                           session.in(std::span<const XcTileSpan>(plan.tiles)),
                           session.in(std::span<const XcOddsTable>(&odds, 1)),
                           1};
    const XcEncodeScratch scratch{
        session.template fresh<std::uint8_t>(plan.room),
        session.template fresh<std::uint8_t>(plan.entries), session.template fresh<XcCoded>(1),
        session.template fresh<std::uint32_t>(1), scan_scratch(session, 1)};
    auto* const bytes = session.template fresh<std::uint8_t>(plan.room);
    launch_xc_encode(session.queue(), in, scratch, bytes);
    const std::uint32_t size = session.fetch(scratch.sizes, 1).front();
    const auto payload = std::as_bytes(session.fetch(bytes, size));
    out.insert(out.end(), payload.begin(), payload.end());
    return size > 0;
}

/// As Device::xc_decode().
template <class Session>
XcFault decode_tile(Session& session,
                    std::span<const std::uint16_t> base,
                    std::span<const std::byte> payload,
                    std::uint32_t changed,
                    const XcTables& tables,
                    Changes& out) {
    const XcOddsTable odds = make_xc_odds(tables);
    const XcPayload what{{0, base.size()}, 0, payload.size(), changed, 0};
    const XcPlan plan = plan_xc_decode({&what, 1});
    Staging<Session> staging(session, what.tile);
    const std::uint32_t count = staging.count();
    const XcDecodeScratch scratch{
        session.template fresh<std::uint8_t>(std::size_t{count} * kMarkBytes),
        session.template fresh<std::uint8_t>(count),
        session.template fresh<std::uint32_t>(count),
        session.template fresh<std::uint32_t>(count),
        session.template fresh<std::uint16_t>(plan.entries),
        session.template fresh<std::uint8_t>(plan.entries),
        session.template fresh<std::uint32_t>(plan.entries),
        staging.scan()};
    auto* const fault = session.template fresh<XcFault>(1);
    const auto bytes =
        std::span(reinterpret_cast<const std::uint8_t*>(payload.data()), payload.size());
    launch_xc_decode(
        session.queue(),
        {session.in(base), session.in(bytes), session.in(std::span<const XcTileSpan>(plan.tiles)),
         session.in(std::span<const XcOddsTable>(&odds, 1)), 1},
        {staging.spans(), count}, scratch, staging.list(), fault);
    staging.fetch(out);
    return session.fetch(fault, 1).front();
}

}  // namespace refit::kernels
