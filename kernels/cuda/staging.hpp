// What launches over one tile need and leave, in the memory of a session: segments, the scratch of
// a scan, the staging list. Sessions as kernels/cuda/kernel_device.hpp has them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/launches.cuh"
#include "kernels/cuda/staged_list.hpp"

namespace refit::kernels {

template <class Session>
ScanScratch scan_scratch(Session& session, std::uint32_t count) {
    return {session.template fresh<unsigned long long>(count + std::size_t{1}),
            session.template fresh<unsigned long long>(scan_parts(count)),
            session.template fresh<unsigned>(1)};
}

/// The segments of a tile.
template <class Session>
class SegmentsIn {
public:
    SegmentsIn(Session& session, const TileSpan& tile)
        : planned_(plan_segments({&tile, 1})),
          spans_(session.in(std::span<const SegmentSpan>(planned_))) {}

    std::uint32_t count() const { return static_cast<std::uint32_t>(planned_.size()); }
    const SegmentSpan* spans() const { return spans_; }

private:
    std::vector<SegmentSpan> planned_;
    const SegmentSpan* spans_;
};

/// Room for the staging list of one tile.
template <class Session>
class Staging {
public:
    Staging(Session& session, const TileSpan& tile)
        : session_(session),
          segments_(session, tile),
          list_{session.template fresh<StagedSegment>(segments_.count()),
                session.template fresh<std::uint16_t>(tile.words),
                session.template fresh<std::uint16_t>(tile.words)},
          scan_(scan_scratch(session, segments_.count())) {}

    std::uint32_t count() const { return segments_.count(); }
    const SegmentSpan* spans() const { return segments_.spans(); }
    const StagedList& list() const { return list_; }
    const ScanScratch& scan() const { return scan_; }

    /// What the launches have staged. Replaces `out`.
    void fetch(Changes& out) {
        out.clear();
        if (count() == 0) return;
        const StoredCounts stored =
            unpack_stored(session_.fetch(scan_.offsets + count(), 1).front());
        to_changes({session_.fetch(list_.segments, count()),
                    session_.fetch(list_.positions, stored.positions),
                    session_.fetch(list_.words, stored.words)},
                   0, out);
    }

private:
    Session& session_;
    SegmentsIn<Session> segments_;
    StagedList list_;
    ScanScratch scan_;
};

}  // namespace refit::kernels
