// The operations of a device as launches in one queue, in order. All pointers are device memory.
//
// Shapes    as planned by kernels/cuda/plan.hpp, whose tables the caller has copied to the device.
// Sums      digests and counts are added to what is there: the caller clears them.
#pragma once

#include <cstdint>

#include "kernels/cuda/boxes.cuh"
#include "kernels/cuda/compare.cuh"
#include "kernels/cuda/diff.cuh"
#include "kernels/cuda/field.cuh"
#include "kernels/cuda/field_plan.hpp"
#include "kernels/cuda/plan.hpp"
#include "kernels/cuda/scan.cuh"
#include "kernels/cuda/stage.cuh"
#include "kernels/cuda/staged.cuh"

namespace refit::kernels {

/// The words of a batch, and its segments.
struct DiffInput {
    const std::uint16_t* base;
    const std::uint16_t* next;
    const SegmentSpan* spans;
    std::uint32_t segments;
};

inline namespace SIMT_TARGET {

/// Afterwards scratch.scan.offsets[segments] is how much `out` holds: see unpack_stored().
inline void launch_diff(simt::Queue& queue,
                        const DiffInput& in,
                        const DiffScratch& scratch,
                        const StagedList& out) {
    if (in.segments == 0) return;
    simt::launch(queue, mark_shape(in.segments), diff_mark, in.base, in.next, in.spans, in.segments,
                 scratch);
    simt::launch(queue, scan_shape(in.segments), scan_staged, scratch.changed, in.spans,
                 in.segments, scratch.scan);
    simt::launch(queue, emit_shape(in.segments), diff_emit, in.next, in.spans, in.segments, scratch,
                 out);
}

/// The same of sparse XOR masks.
inline void launch_stage(simt::Queue& queue,
                         const StageInput& in,
                         const StageScratch& scratch,
                         const StagedList& out) {
    if (in.segments == 0) return;
    simt::launch(queue, stage_count_shape(in.segments), stage_count, in, scratch);
    simt::launch(queue, scan_shape(in.segments), scan_staged, scratch.changed, in.spans,
                 in.segments, scratch.scan);
    simt::launch(queue, stage_emit_shape(in.segments), stage_emit, in, scratch, out);
}

inline void launch_overwrite(simt::Queue& queue,
                             const StagedList& list,
                             std::uint32_t segments,
                             const BoxTable& table,
                             std::uint16_t* weights) {
    if (segments == 0) return;
    simt::launch(queue, staged_shape("overwrite_staged", segments), overwrite_staged, list,
                 segments, table, weights);
}

struct DigestChange {
    const std::uint16_t* base;  // the words of the batch
    std::uint64_t salt;
    unsigned long long* changes;  // one per tile
};

inline void launch_digest_change(simt::Queue& queue,
                                 const StagedList& list,
                                 std::uint32_t segments,
                                 const BoxTable& table,
                                 const DigestChange& what) {
    if (segments == 0) return;
    simt::launch(queue, staged_shape("digest_staged", segments), digest_staged, list, segments,
                 table, what.base, what.salt, what.changes);
}

/// `boxes`: on the device, those of `plan`; likewise below.
inline void launch_digest(simt::Queue& queue,
                          const BoxPlan& plan,
                          const Box* boxes,
                          const std::uint16_t* weights,
                          std::uint64_t salt,
                          unsigned long long* digests) {
    if (plan.all.count == 0) return;
    simt::launch(queue, digest_shape(plan.all), digest_boxes, weights, boxes, plan.all.count, salt,
                 digests);
}

inline void launch_gather(simt::Queue& queue,
                          const BoxPlan& plan,
                          const Box* boxes,
                          const std::uint16_t* weights,
                          std::uint16_t* tiles) {
    for (const BoxRange& wave : plan.waves)
        simt::launch(queue, box_shape("gather_boxes", wave), gather_boxes, weights,
                     boxes + wave.first, wave.count, tiles);
}

/// No two boxes lie on the same words of the memory.
inline void launch_scatter(simt::Queue& queue,
                           const BoxPlan& plan,
                           const Box* boxes,
                           const std::uint16_t* tiles,
                           std::uint16_t* weights) {
    if (plan.all.count == 0) return;
    simt::launch(queue, box_shape("scatter_boxes", plan.all), scatter_boxes, tiles, boxes,
                 plan.all.count, weights);
}

/// Writes both versions.
inline void launch_field(simt::Queue& queue, const FieldInput& in, const FieldOutput& out) {
    if (in.count == 0) return;
    simt::launch(queue, field_shape(in.count), fill_field, in, out);
}

inline void launch_compare(simt::Queue& queue,
                           const std::uint16_t* a,
                           const std::uint16_t* b,
                           std::uint64_t words,
                           unsigned long long* differing_words) {
    constexpr std::uint32_t kBlocksMax = 1024;
    if (words == 0) return;
    simt::launch(queue, compare_shape(words, kBlocksMax), compare_words, a, b, words,
                 differing_words);
}

}  // namespace SIMT_TARGET
}  // namespace refit::kernels
